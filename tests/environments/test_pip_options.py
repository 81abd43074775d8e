import pytest

from roost.environments.pip import options as pip_options

MACHINE = {
    "UV_DEFAULT_INDEX": "https://machine.test/simple",
    "UV_INDEX": "https://more.test/simple",
    "UV_FIND_LINKS": "/shelf",
    "UV_INSECURE_HOST": "more.test",
}
SECRET = "--extra-index-url https://ann:open-sesame@private.test/simple"


def read(*options: str, **own: str) -> pip_options.Options:
    return pip_options.read(options, MACHINE, own)


@pytest.mark.parametrize(
    ("option", "variables"),
    [
        (
            "--index-url https://mine.test/simple",
            {
                "UV_DEFAULT_INDEX": "https://mine.test/simple",
                "UV_INDEX": "",
                "UV_INDEX_URL": "",
                "UV_EXTRA_INDEX_URL": "",
            },
        ),
        (
            "--extra-index-url=https://mine.test/simple",
            {
                "UV_INDEX": "https://more.test/simple https://mine.test/simple",
                "UV_INDEX_STRATEGY": "unsafe-best-match",
            },
        ),
        ("-f https://mine.test/links.html", {"UV_FIND_LINKS": "/shelf,https://mine.test/links.html"}),
        ("--trusted-host mine.test", {"UV_INSECURE_HOST": "more.test mine.test"}),
    ],
)
def test_options_stand_over_the_machine_s_settings(option: str, variables: dict[str, str]) -> None:
    assert read(option).variables == variables


def test_what_the_resolver_is_told() -> None:
    options = read("--pre", "--no-binary numpy", "--only-binary=torch,scipy")
    assert options.flags == ("--no-binary", "numpy", "--only-binary", "torch,scipy", "--prerelease", "allow")
    assert options.only_binary == ("torch", "scipy")
    assert read("--no-index").flags == ("--no-index",)


def test_a_password_is_known_to_uv_and_to_nobody_else() -> None:
    options = read(SECRET)
    assert "open-sesame" in options.variables["UV_INDEX"]
    assert options.kept == ("--extra-index-url https://private.test/simple",)
    assert (
        options.hide("401 for https://ann:open-sesame@private.test/simple")
        == "401 for https://ann:***@private.test/simple"
    )
    assert pip_options.with_secrets(options.kept, [SECRET]) == [SECRET]
    assert pip_options.with_secrets(["--pre"], [SECRET]) == ["--pre"]


def test_a_token_instead_of_a_name() -> None:
    assert read("-i https://glpat-0123@private.test/simple").secrets == ("glpat-0123",)


def test_a_password_may_be_a_variable_of_the_node() -> None:
    option = "--extra-index-url https://ann:${FEED_TOKEN}@private.test/simple"
    options = read(option, FEED_TOKEN="open-sesame")
    assert options.kept == (option,)
    assert options.variables["UV_INDEX"].endswith("https://ann:open-sesame@private.test/simple")
    assert options.secrets == ("open-sesame",)
    assert "${FEED_TOKEN}" in read(option).variables["UV_INDEX"], "as pip does: what is not set stays as it is"


@pytest.mark.parametrize("user", ["${NAME}:open-sesame", "ann:p@open-sesame", "ann:${REST}open-sesame", "open-sesame"])
def test_a_password_beside_a_variable_is_one_all_the_same(user: str) -> None:
    options = read(f"--extra-index-url https://{user}@private.test/simple", NAME="ann", REST="rest")
    assert options.kept == ("--extra-index-url https://private.test/simple",)
    assert "open-sesame" not in options.hide(options.variables["UV_INDEX"])


def test_a_name_that_is_a_variable_may_be_a_token() -> None:
    options = read("--extra-index-url https://${TOKEN}:${WORD}@private.test/simple", TOKEN="glpat-0123", WORD="none")
    assert set(options.secrets) == {"glpat-0123", "none"}
    assert read("-i ${FEED}", FEED="https://ann:open-sesame@private.test").secrets == ("open-sesame",)


def test_variables_of_other_lines_are_for_uv_and_hidden() -> None:
    lines = ["lower @ https://ann:${FEED_TOKEN}@private.test/lower-2.0.whl", "numpy"]
    own = {"FEED_TOKEN": "open-sesame", "OTHER": "word"}
    options = pip_options.read((), MACHINE, own, lines)
    assert options.variables == {"FEED_TOKEN": "open-sesame"}
    assert options.secrets == ("open-sesame",)
    assert pip_options.read((), MACHINE, {}, lines).secrets == ()
