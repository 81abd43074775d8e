from pathlib import Path

import pytest

from roost.environments.pip import settings as pip_settings

INDEX = "https://ann:secret@packages.example.test/simple"


def read(tmp_path: Path, text: str = "", **variables: str) -> pip_settings.Settings:
    config = tmp_path / "mine.conf"
    config.write_text(text)
    own = {"PIP_CONFIG_FILE": str(config), "HOME": str(tmp_path), "XDG_CONFIG_DIRS": str(tmp_path), **variables}
    return pip_settings.read(own, machine=tmp_path / "machine.conf")


def test_files_become_uv_s_variables(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        f"[global]\nindex-url = {INDEX}\nextra-index-url =\n  https://a.test/s\n  https://b.test/s\n"
        "find-links = /shelf\ncert = /ca.pem\ntrusted-host = a.test\ntimeout = 60\nproxy = http://p.test:3128\n",
    ).variables
    assert found["UV_DEFAULT_INDEX"] == INDEX
    assert found["UV_INDEX"] == "https://a.test/s https://b.test/s"
    assert found["UV_INDEX_STRATEGY"] == "unsafe-best-match"
    assert found["UV_FIND_LINKS"] == "/shelf"
    assert found["SSL_CERT_FILE"] == "/ca.pem"
    assert found["UV_INSECURE_HOST"] == "a.test"
    assert found["UV_HTTP_TIMEOUT"] == "60"
    assert found["HTTPS_PROXY"] == "http://p.test:3128"


def test_the_section_for_installing_wins_and_variables_win_over_all(tmp_path: Path) -> None:
    text = "[global]\nfind-links = /a\nno-index = yes\n[install]\nfind-links = /b\n"
    found = read(tmp_path, text)
    assert (found.variables, found.flags) == ({"UV_FIND_LINKS": "/b"}, ("--no-index",))
    assert read(tmp_path, text, PIP_FIND_LINKS="/c").variables["UV_FIND_LINKS"] == "/c"


def test_what_is_set_for_uv_itself_stays(tmp_path: Path) -> None:
    assert "UV_INDEX" not in read(tmp_path, PIP_EXTRA_INDEX_URL="https://a.test", UV_INDEX="https://b.test").variables


def test_nothing_is_read_when_pip_is_told_so(tmp_path: Path) -> None:
    (tmp_path / ".pip").mkdir()
    (tmp_path / ".pip" / "pip.conf").write_text("[global]\nfind-links = /a\n")
    assert read(tmp_path).variables == {"UV_FIND_LINKS": "/a"}
    assert pip_settings.read({"PIP_CONFIG_FILE": "/dev/null", "HOME": str(tmp_path)}).variables == {}


def test_a_damaged_file_says_nothing(tmp_path: Path) -> None:
    assert read(tmp_path, "no section\n").variables == {}


@pytest.mark.parametrize(
    "line",
    [
        f"error: Failed to fetch: `{INDEX}/six/`",
        "dns error: failed to look up packages.example.test",
        "Looking in links: /the/shelf/six.whl",
        "tried https://ann:secret@other.example.test/x and file:///the/shelf/a.whl",
    ],
)
def test_no_address_is_told(tmp_path: Path, line: str) -> None:
    told = read(tmp_path, f"[global]\nindex-url = {INDEX}\nfind-links = /the/shelf\n").scrub(line)
    assert "<address>" in told
    for word in ("example.test", "secret", "/the/shelf"):
        assert word not in told


def test_what_the_user_wrote_into_the_environment_may_be_told(tmp_path: Path) -> None:
    mine = "--extra-index-url https://wheels.test/cpu"
    told = read(tmp_path).scrub("Failed: https://wheels.test/cpu/torch/ and https://else.test/x", mine)
    assert told == "Failed: https://wheels.test/cpu/torch/ and <address>/x"
