"""The pages as they are served: open, the same for everybody, and with a policy that lets nothing else become a script."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.shared.api_servers import ApiServer, served

from roost.studio import pages

FILES = Path(pages.__file__).with_name("files")


def files(kind: str) -> list[Path]:
    """The files of the studio with this ending; there are some."""
    paths = sorted(FILES.glob(f"*{kind}"))
    assert paths
    return paths


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with served(tmp_path_factory.mktemp("api")) as made:
        yield made


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/data", "/data/my%20birds", "/runs/train_1_ab", "/runs/<script>", "/serving", "/models/net"),
        *("/studio/run.js", "/studio/studio.css"),
    ],
)
def test_open_to_all_with_a_strict_policy(api: ApiServer, path: str) -> None:
    answer = api.stranger.get(path)
    assert answer.status == 200
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'self';")
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert api.stranger.get(path, headers={"If-None-Match": answer.headers["etag"]}).status == 304


def test_one_page_for_every_run(api: ApiServer) -> None:
    one, other = (api.stranger.get(f"/runs/{name}").body for name in ("a", "%3Cscript%3Ealert(1)"))
    assert one == other


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("/", "Runs"),
        ("/runs/a", "Run"),
        ("/data", "Data"),
        ("/data/a", "Dataset"),
        ("/serving", "Models and endpoints"),
        ("/models/a", "Model"),
    ],
)
def test_a_page_is_whole_and_has_its_frame_once(api: ApiServer, path: str, title: str) -> None:
    text = api.stranger.get(path).body.decode()
    for part in (
        "<!doctype html>",
        "<head>",
        f"<title>{title} · Roost</title>",
        "<script ",
        "<nav",
        "<main>",
        "</html>",
    ):
        assert text.count(part) == 1, part
    assert "<!--" not in text


@pytest.mark.parametrize(
    "name",
    ["nothing.js", "frame.html", "../pages.py", "%2e%2e%2fpages.py", "..%2f__init__.py", "pages.py", "", "run.html/x"],
)
def test_nothing_else_is_served(api: ApiServer, name: str) -> None:
    assert api.stranger.get(f"/studio/{name}").status == 404


def test_no_page_has_a_script_or_style_of_its_own() -> None:
    for page in files(".html"):
        text = page.read_text()
        assert re.findall(r"<script(?![^>]* src=)|<style|\son\w+=|javascript:|\sstyle=", text) == [], page


def test_nothing_comes_from_elsewhere() -> None:
    for file in files(""):
        text = file.read_text().replace("http://www.w3.org/2000/svg", "")
        assert re.findall(r"https?://|//cdn|@import", text) == [], file


def test_what_runs_wrote_becomes_text_only() -> None:
    for script in files(".js"):
        found = re.findall(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", script.read_text()
        )
        assert found == [], script


def test_every_file_that_a_page_names_is_there(api: ApiServer) -> None:
    named = {name for file in FILES.iterdir() for name in re.findall(r"/studio/([\w.]+)", file.read_text())}
    assert {"studio.css", "list.js", "run.js", "data.js", "api.js", "charts.js"} <= named
    for name in named:
        assert api.stranger.get(f"/studio/{name}").status == 200, name


def test_the_files_are_part_of_the_package() -> None:
    settings = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert '"studio/files/*"' in settings
