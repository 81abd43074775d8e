"""What of a run's folders becomes data, and what of it never does; its way to a datastore of a real front desk."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.shared.api_servers import ApiServer, served
from tests.shared.contexts import ANN, submit

from roost.agent.finishing import outputs
from roost.agent.folder import Folder
from roost.agent.link import Link
from roost.domain.datasets import Output
from roost.domain.errors import InvalidInput
from roost.domain.plans import Access, Plan
from roost.domain.runs import RunSpec
from roost.services import datasets, people


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path / "home" / "runs" / "exp_1_ab")
    made.work.mkdir(parents=True)
    return made


def test_each_has_a_folder(folder: Folder) -> None:
    given = (Output(name="made"), Output(name="own", source="out/deep"), Output(name="far", source="/tmp/far"))
    paths = outputs.lay_out(folder, RunSpec(outputs=given))
    assert paths == {
        "made": str(folder.filled / "made"),
        "own": str(folder.work / "out" / "deep"),
        "far": "/tmp/far",
    }
    assert Path(paths["made"]).is_dir()
    assert Path(paths["own"]).parent.is_dir()


def test_files_of_a_folder(tmp_path: Path) -> None:
    place = tmp_path / "made"
    (place / "deep").mkdir(parents=True)
    (place / "a.csv").write_text("1")
    (place / "deep" / "b.csv").write_text("2")
    (place / "c.txt").write_text("3")
    (place / "inside.csv").symlink_to("a.csv")
    (place / "outside.csv").symlink_to("/etc/passwd")
    (place / "nowhere.csv").symlink_to("absent")
    (place / "folder").symlink_to("/etc")
    assert [name for name, _ in outputs.written(place)] == ["a.csv", "c.txt", "inside.csv", "deep/b.csv"]
    assert [name for name, _ in outputs.written(place, ["deep/*", "*.txt"])] == ["c.txt", "deep/b.csv"]
    assert outputs.written(place / "a.csv") == [("a.csv", place / "a.csv")]
    assert outputs.written(place / "absent") == []


def test_of_a_script_in_a_container(folder: Folder) -> None:
    folder.container.write_text("{}")
    assert outputs._real(folder, Output(name="o", source="/tmp/made")) == folder.tmp / "made"
    assert outputs._real(folder, Output(name="o", source="made")) == folder.work / "made"
    with pytest.raises(InvalidInput, match="in the container alone"):
        outputs._real(folder, Output(name="o", source="/srv/made"))
    (folder.work / "link").symlink_to("/etc")
    with pytest.raises(InvalidInput, match="in the container alone"):
        outputs._real(folder, Output(name="o", source="link"))


@pytest.fixture
def api(tmp_path: Path) -> Iterator[ApiServer]:
    with served(tmp_path / "api") as made:
        yield made


class Delivery:
    """A run with outputs that has ended well, and its agent's way to the api."""

    def __init__(self, api: ApiServer, home: Path, *given: Output) -> None:
        run = submit(api.context, outputs=given)
        self.folder = Folder(home / "runs" / run.id)
        self.folder.work.mkdir(parents=True)
        self.plan = Plan(run_id=run.id, workspace="vision", experiment="train", spec=run.spec)
        token = people.mint_run_token(api.context, run.id, user="ann")
        self.link = Link(self.folder, Access(url=api.url, token=token))
        self.paths = outputs.lay_out(self.folder, run.spec)
        self.said: list[str] = []

    def fill(self, name: str, **files: str) -> None:
        for file, text in files.items():
            Path(self.paths[name], f"{file}.txt").write_text(text)

    def deliver(self) -> list[str]:
        problems = outputs.deliver(self.folder, self.plan, self.link, self.said.append)
        self.link.client.close()
        return problems


def stored(api: ApiServer, path: str) -> str:
    return (Path(api.context.facts.home) / "data" / "vision" / "workspaceblobstore" / path).read_text()


def test_uploaded_noted_and_registered(api: ApiServer, tmp_path: Path) -> None:
    run = Delivery(api, tmp_path / "home", Output(name="made", register_as="numbers"), Output(name="empty"))
    run.fill("made", a="one", b="two")
    assert run.deliver() == []
    target = f"dataset/{run.plan.run_id}/made"
    assert stored(api, f"{target}/b.txt") == "two"
    assert run.said[0].startswith(
        f"Output made: 2 files, 6 bytes, to {target} of datastore workspaceblobstore, registered as 'numbers', in "
    )
    assert "Output empty: nothing was written, to " in run.said[1]
    assert datasets.get(api.context, ANN, "vision", "numbers", None).version == 1
    assert run.deliver() == [], "again, as after a crash"
    assert datasets.get(api.context, ANN, "vision", "numbers", None).version == 1


def test_what_is_left_out_is_said(api: ApiServer, tmp_path: Path) -> None:
    run = Delivery(api, tmp_path / "home", Output(name="made"))
    run.fill("made", a="1")
    place = Path(run.paths["made"])
    (place / ".roost-download").mkdir()
    (place / ".roost-download/b").write_text("2")
    (place / "outside").symlink_to("/etc/passwd")
    assert run.deliver() == []
    words = "'outside' (it is a link that leads outside), '.roost-download/b' (Roost keeps such names"
    assert run.said[0].startswith(f"Output made: Left out: {words}")
    assert run.said[1].startswith("Output made: 1 file, 1 byte")


def test_that_nothing_fits_is_said(api: ApiServer, tmp_path: Path) -> None:
    given = (Output(name="made", globs=("*.png", "*.jpg")), Output(name="empty", globs=("*.png",)))
    run = Delivery(api, tmp_path / "home", *given)
    run.fill("made", q="1,2")
    assert run.deliver() == []
    assert run.said[0].startswith("Output made: no file fits `*.png`, `*.jpg` (1 file is there), to ")
    assert run.said[1].startswith("Output empty: nothing was written, to ")


def test_what_is_there_is_replaced_only_when_that_is_wanted(api: ApiServer, tmp_path: Path) -> None:
    given = Output(name="made", path="fixed", overwrite=False)
    first, second = (Delivery(api, tmp_path / name, given) for name in ("first", "second"))
    for each in (first, second):
        each.fill("made", a=each.plan.run_id)
    assert first.deliver() == []
    assert first.deliver() == [], "its own, which a crash may have left half-way"
    (problem,) = second.deliver()
    assert problem == "output 'made' (fixed/a.txt is there already; as_upload(overwrite=True) would replace it)"
    assert stored(api, "fixed/a.txt") == first.plan.run_id
    second.fill("made", b="beside it")
    Path(second.paths["made"], "a.txt").unlink()
    assert second.deliver() == []
    third = Delivery(api, tmp_path / "third", Output(name="made", path="fixed"))
    third.fill("made", a="new")
    assert third.deliver() == []
    assert stored(api, "fixed/a.txt") == "new"


def test_one_that_cannot_be_delivered_does_not_keep_the_others(api: ApiServer, tmp_path: Path) -> None:
    given = (Output(name="gone", path="in/the/way"), Output(name="odd"), Output(name="made", path="well"))
    run = Delivery(api, tmp_path / "home", *given)
    store = Path(api.context.facts.home) / "data" / "vision" / "workspaceblobstore"
    store.mkdir(parents=True)
    (store / "in").write_text("a file where a folder has to be")
    run.fill("gone", a="1")
    Path(run.paths["odd"], "back\\slash.txt").write_text("2")
    run.fill("made", a="3")
    blocked, odd = run.deliver()
    assert "output 'gone'" in blocked and "a file is where a folder has to be" in blocked
    assert "output 'odd'" in odd and "backslash" in odd
    assert stored(api, "well/a.txt") == "3"
    assert len(run.said) == 1
