import pytest

from roost.domain import conda
from roost.domain.errors import InvalidInput
from roost.domain.recipes import BASICS, Recipe, recipe, variables


def read(*dependencies: object, **sections: object) -> conda.CondaFile:
    return conda.read({"dependencies": list(dependencies), **sections})


@pytest.mark.parametrize(
    ("written", "spec"),
    [
        ("numpy", "numpy"),
        ("Numpy", "numpy"),
        ("numpy=1.18", "numpy=1.18"),
        ("numpy = 1.18", "numpy=1.18"),
        ("numpy 1.18", "numpy 1.18"),
        ("numpy=1.18.1=py38h_0", "numpy=1.18.1=py38h_0"),
        ("numpy >= 1, < 2", "numpy>=1,<2"),
        ("numpy[version='>=1']", "numpy>=1"),
        ("numpy[version='>=1', build=x]", "numpy[version='>=1',build=x]"),
        ("blas=*=openblas", "blas=*=openblas"),
        ("conda-forge::numpy=1.18", "conda-forge::numpy=1.18"),
        ("/srv/channel::numpy", "/srv/channel::numpy"),
        ("numpy # fast", "numpy"),
    ],
)
def test_a_spec_has_one_form(written: str, spec: str) -> None:
    assert read(written).packages == (spec,)
    assert conda.name_of(spec) in ("numpy", "blas")


@pytest.mark.parametrize(
    ("written", "version"),
    [
        ("python", ""),
        ("python=3.6.2", "=3.6.2"),
        ("python 3.8", "3.8"),
        ("python >=3.6, <3.9", ">=3.6,<3.9"),
        ("python[version='>=3.6']", ">=3.6"),
    ],
)
def test_python_s_version(written: str, version: str) -> None:
    assert read(written) == conda.CondaFile(python=version)


def test_a_python_of_a_channel_puts_that_channel_first() -> None:
    assert read("b::python=3.8", channels=["a", "b"]) == conda.CondaFile(python="=3.8", channels=("b", "a"))


def test_a_python_of_which_the_version_is_not_all_is_a_package_too() -> None:
    assert read("python=3.8=h_0").packages == ("python=3.8=h_0",)


@pytest.mark.parametrize("written", ["python=banana", "python banana", "python==latest"])
def test_a_python_that_is_no_version(written: str) -> None:
    with pytest.raises(InvalidInput, match=r"Python '(banana|latest)' is not understood"):
        read(written)
    assert read("python=*").packages == ("python=*",)


def test_a_whole_file() -> None:
    found = conda.read(
        {
            "name": "birds",
            "channels": ["pytorch", "conda-forge", "nodefaults", "pytorch"],
            "dependencies": ["python=3.8", "pip", "zlib", "numpy=1.18", {"pip": ["six"]}, {"pip": ["attrs"]}],
            "variables": {"A": 1, "B": True, "C": None},
            "prefix": "/somewhere",
        }
    )
    assert found == conda.CondaFile(
        python="=3.8",
        pip="",
        packages=("numpy=1.18", "zlib"),
        channels=("pytorch", "conda-forge", conda.NODEFAULTS),
        requirements=("six", "attrs"),
        variables={"A": "1", "B": "true", "C": ""},
    )


@pytest.mark.parametrize(
    ("file", "named"),
    [
        ({"platforms": ["linux-64"]}, "'platforms'"),
        ({"dependencies": "numpy"}, "a list"),
        ({"dependencies": [{"npm": ["x"]}]}, "section 'npm'"),
        ({"dependencies": [{"sel(linux)": "x"}]}, r"selector 'sel\(linux\)'"),
        ({"dependencies": ["numpy # [linux]"]}, r"numpy # \[linux\]"),
        ({"dependencies": [{"pip": "six"}]}, "must be a list"),
        ({"dependencies": ["=1.2"]}, "'=1.2'"),
        ({"dependencies": [3]}, "'3'"),
        ({"channels": ["./mine"]}, "'./mine'"),
        ({"channels": [""]}, "channel ''"),
        ({"variables": ["A=1"]}, "A=1"),
        ({"variables": {"A B": 1}}, "'A B'"),
    ],
)
def test_what_is_not_understood_is_named(file: dict[str, object], named: str) -> None:
    with pytest.raises(InvalidInput, match=named):
        conda.read(file)


@pytest.mark.parametrize("address", ["https://ann:secret@h.test/team", "https://h.test/t/secret/team"])
def test_a_credential_in_a_channel_is_refused_and_not_told(address: str) -> None:
    for file in ({"channels": [address]}, {"dependencies": [f"{address}::numpy"]}):
        with pytest.raises(InvalidInput, match=r"https://h\.test/team") as caught:
            conda.read(file)
        assert "secret" not in str(caught.value) + caught.value.hint


@pytest.mark.parametrize("address", ["https://ann:${PW}@h.test/team", "https://h.test/t/${TOKEN}/team"])
def test_a_variable_of_the_node_may_stand_for_a_credential(address: str) -> None:
    assert conda.read({"channels": [address]}).channels == (address,)


def test_the_recipe_of_conda_packages() -> None:
    file = {
        "channels": ["conda-forge"],
        "dependencies": ["python=3.8", "pip=20", "numpy", {"pip": ["six", "azureml-defaults"]}],
        "variables": {"A": "1"},
    }
    definition = {"python": {"condaDependencies": file}}
    assert recipe(definition) == Recipe(
        python="3.8", requirements=("six",), packages=("numpy", "pip =20"), channels=("conda-forge",)
    )
    assert variables(definition) == {"A": "1"}


def test_python_and_pip_alone_need_no_conda() -> None:
    file = {"channels": ["conda-forge"], "dependencies": ["python=3.6.2", "pip", {"pip": ["six"]}]}
    found = recipe({"python": {"condaDependencies": file}})
    assert found is not None
    assert (found.packages, found.channels) == ((), ("conda-forge",))
    assert set(found.requirements) == {"six", *BASICS}
