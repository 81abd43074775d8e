"""What a script does with datastores on its own, through a real door and a real front desk: bytes, lineage, links, refusals."""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.engine import eventually
from tests.shared.api_servers import ApiServer, served
from tests.shared.contexts import ANN, submit

from roost.agent.door import datastores as page
from roost.agent.door.datasets import Datasets
from roost.agent.door.datastores import Datastores
from roost.agent.door.door import Door
from roost.agent.folder import Folder
from roost.agent.launching import contained
from roost.agent.link import Link
from roost.agent.orders import Orders
from roost.agent.shipping.masking import Masks
from roost.agent.shipping.ship import Cargo, Ship
from roost.agent.shipping.staging import Staging
from roost.domain.datasets import DataUse
from roost.domain.datastores import DatastoreKind
from roost.domain.plans import Access, Plan
from roost.domain.runs import RunStatus
from roost.environments.containers.box import Mount
from roost.services import datasets, datastores, people
from roost.services.datastores import NewDatastore
from roost.transport import storing

OWN = "workspaceblobstore"


class Agent:
    """The door of a run, whose token is all that it has."""

    def __init__(self, api: ApiServer, home: Path) -> None:
        self.api = api
        self.run = submit(api.context)
        self.folder = Folder(home / "runs" / self.run.id)
        self.folder.staged.mkdir(parents=True)
        self.folder.work.mkdir()
        access = Access(url=api.url, token=people.mint_run_token(api.context, self.run.id, user="ann"))
        link, staging, masks = Link(self.folder, access, patience=0), Staging(self.folder), Masks(self.folder)
        ship = Ship(self.folder, link, Cargo(self.folder, link, staging, masks), Orders(link))
        self.door = Door(self.folder, link, ship, staging, masks)
        plan = Plan(run_id=self.run.id, workspace="vision", experiment="train", spec=self.run.spec)
        reach = lambda path: self.door.reach(path)  # noqa: E731
        self.data = Datasets(self.folder, plan, access, link, lambda: None, print, reach)
        self.door.ops.update(self.data.ops)
        self.door.ops.update(Datastores(self.folder, "vision", access, self.door, self.data, lambda: None).ops)

    def ask(self, op: str, **fields: object) -> Any:
        answer = self.door.answer(json.dumps({"op": op, **fields}).encode())
        if "error" in answer:
            raise LookupError(answer["error"]["code"], answer["error"]["message"], answer["error"]["hint"])
        return answer["ok"]

    def upload(self, target: str, *, name: str = OWN, overwrite: bool = False, **files: str) -> Any:
        for file, text in files.items():
            (self.folder.work / file).write_text(text)
        given = [[file, str(self.folder.work / file)] for file in files]
        return self.ask("datastore_upload", name=name, files=given, target=target, overwrite=overwrite)

    def download(self, prefix: str, to: Path, *, name: str = OWN, overwrite: bool = False) -> Any:
        return self.ask("datastore_download", name=name, path=str(to), prefix=prefix, overwrite=overwrite)

    def uses(self) -> list[tuple[str, str]]:
        found: list[DataUse] = list(datasets.uses_of_run(self.api.context, ANN, self.run.id))
        return sorted((use.direction.value, use.name) for use in found)

    def close(self) -> None:
        self.data.close()
        self.door.close()
        self.door.link.client.close()


@pytest.fixture
def api(tmp_path: Path) -> Iterator[ApiServer]:
    with served(tmp_path / "api") as made:
        yield made


@pytest.fixture
def agent(api: ApiServer, tmp_path: Path) -> Iterator[Agent]:
    made = Agent(api, tmp_path / "home")
    yield made
    made.close()


def stored(api: ApiServer, path: str) -> Path:
    return Path(api.context.facts.home) / "data" / "vision" / OWN / path


def folder(api: ApiServer, path: Path, name: str = "mine", *, read_only: bool = False) -> None:
    path.mkdir(exist_ok=True)
    new = NewDatastore(
        kind=DatastoreKind.FOLDER, settings={"path": str(path)}, credential={}, read_only=read_only, overwrite=True
    )
    datastores.register(api.context, ANN, "vision", name, new)


def test_found(agent: Agent, api: ApiServer, tmp_path: Path) -> None:
    folder(api, tmp_path / "mine")
    assert agent.ask("datastore")["name"] == OWN
    assert agent.ask("datastore", name="mine")["settings"] == {"path": str(tmp_path / "mine")}
    assert [each["name"] for each in agent.ask("datastores")] == [OWN, "workspacefilestore", "mine"]
    for name in ("a/b", "../x", "", None, 3):
        with pytest.raises(LookupError, match=r"Datastore name .* is not allowed"):
            agent.ask("datastore", name=name)
    with pytest.raises(LookupError, match=r"(?s)no datastore 'mien'.*Did you mean 'mine'"):
        agent.ask("datastore", name="mien")
    assert agent.uses() == [], "to look at one is not to read it"


def test_up_and_down_and_both_are_noted(agent: Agent, api: ApiServer, tmp_path: Path) -> None:
    assert agent.upload("/res/", a="one", b="two") == {"count": 2, "size": 6, "there": 0, "path": "res", "left_out": ""}
    assert stored(api, "res/b").read_text() == "two"
    assert agent.upload("res", a="changed", c="3") == {
        "count": 1,
        "size": 1,
        "there": 2 - 1,
        "path": "res",
        "left_out": "",
    }
    assert stored(api, "res/a").read_text() == "one"
    assert agent.upload("res", a="changed", overwrite=True)["count"] == 1
    assert agent.uses() == [("output", f"{OWN}/res")]
    here = agent.folder.work / "here"
    assert agent.download("res", here) == {"count": 3, "size": 11, "there": 0}
    assert {path.name: path.read_text() for path in (here / "res").iterdir()} == {"a": "changed", "b": "two", "c": "3"}
    assert agent.download("res/*", here) == {"count": 0, "size": 0, "there": 3}
    assert agent.download("res", here, overwrite=True)["count"] == 3
    assert agent.uses() == [("input", f"{OWN}/res"), ("output", f"{OWN}/res")], "what is below it is part of it"
    assert agent.download("none", agent.folder.work / "empty") == {"count": 0, "size": 0, "there": 0}
    assert (agent.folder.work / "empty").is_dir()


def test_the_root_of_a_datastore_is_noted_by_name(
    agent: Agent, api: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = stored(api, "other/x")
    put.parent.mkdir(parents=True)
    put.write_text("not the run's")
    agent.upload("", a="1")
    assert agent.uses() == [("output", f"{OWN}/a")]
    with pytest.raises(LookupError, match="did not declare"):
        agent.ask("dataset_register", name="x", definition={"sources": [{"datastore": OWN, "path": "other"}]})
    assert agent.upload("odd", **{"a*": "1"})["count"] == 1
    monkeypatch.setattr(page, "_MOST_NAMES", 1)
    agent.upload("", b="1", c="2")
    assert agent.uses() == [("output", f"{OWN}/"), ("output", f"{OWN}/a"), ("output", f"{OWN}/odd")]
    assert agent.upload("", **{"b*": "1"})["count"] == 1


def test_made_registered_and_read(agent: Agent, api: ApiServer) -> None:
    agent.upload("in", a="1", b="2")
    definition = {"sources": [{"datastore": OWN, "path": "/in//*"}]}
    made = agent.ask("dataset_make", definition=definition, validate=True)
    assert made["sources"] == [{"datastore": OWN, "path": "in/*", "url": ""}]
    assert [name for name, _ in agent.ask("dataset_items", definition=made)] == ["a", "b"]
    record = agent.ask("dataset_register", definition=made, name="birds", tags={"k": "v"}, description="d")
    assert (record["name"], record["version"], record["tags"]) == ("birds", 1, {"k": "v"})
    assert agent.uses() == [("input", f"{OWN}/in/*"), ("output", "birds:1"), ("output", f"{OWN}/in")]
    (use,) = datasets.uses_of_dataset(api.context, ANN, "vision", record["id"])
    assert use.run_id == agent.run.id
    other = {"sources": [{"datastore": OWN, "path": "in/a"}]}
    with pytest.raises(LookupError, match=r"(?s)data_conflict.*already a dataset registered"):
        agent.ask("dataset_register", definition=other, name="birds")
    none = {"sources": [{"datastore": OWN, "path": "none"}]}
    with pytest.raises(LookupError, match=rf"(?s)There is no file at {OWN}/none\..*validate=False"):
        agent.ask("dataset_make", definition=none, validate=True)
    agent.ask("dataset_make", definition=none)
    with pytest.raises(LookupError, match=rf"(?s)There is no datastore 'workspaceblobstor'.*Did you mean '{OWN}'"):
        agent.ask("dataset_make", definition={"sources": [{"datastore": "workspaceblobstor", "path": "x"}]})


def test_what_cannot_be_written_to(agent: Agent, api: ApiServer, tmp_path: Path) -> None:
    folder(api, tmp_path / "looked", "looked", read_only=True)
    (tmp_path / "looked/a").write_text("1")
    with pytest.raises(LookupError, match="'looked' is read only"):
        agent.upload("x", name="looked", a="1")
    assert agent.uses() == [] and agent.download("", tmp_path / "here", name="looked")["count"] == 1
    folder(api, tmp_path / "gone", "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(LookupError, match=r"(?s)folder .*gone is not there"):
        agent.upload("x", name="gone", a="1", overwrite=True)
    stored(api, "").mkdir(parents=True, exist_ok=True)
    stored(api, "file").write_text("a file where a folder has to be")
    with pytest.raises(LookupError, match="a file is where a folder has to be"):
        agent.upload("file", a="1", overwrite=True)


@pytest.mark.parametrize(
    ("op", "fields", "words"),
    [
        ("datastore_upload", {"target": "../x"}, "climbs out"),
        ("datastore_upload", {"target": "x/*"}, "is a pattern"),
        ("datastore_upload", {"target": 3}, "`target` must be text"),
        ("datastore_upload", {"files": []}, "`files` must be a list"),
        ("datastore_upload", {"files": ["a"]}, "got 'a' in it"),
        ("datastore_upload", {"files": [["../a", "/etc/hostname"]]}, "climbs out"),
        ("datastore_upload", {"files": [["a", "relative"]]}, "An absolute path is needed"),
        ("datastore_upload", {"files": [["a", "/no/such/file"]]}, "no file '/no/such/file' to upload"),
        ("datastore_upload", {"files": [["a", "/etc/hostname"], ["./a", "/etc/hostname"]]}, "2 files would be stored"),
        ("datastore_upload", {"name": "a/b"}, "is not allowed"),
        ("datastore_download", {"prefix": "../x"}, "climbs out"),
        ("datastore_download", {"path": "here"}, "An absolute path is needed"),
        ("datastore_download", {"path": "/etc/hostname"}, "is a file; data is downloaded into a folder"),
        ("datastore_download", {"path": "/proc/nothing/here"}, "cannot be written"),
        ("datastore_download", {"name": ""}, "is not allowed"),
        ("dataset_make", {"definition": {"sources": []}}, "at least one source"),
        ("dataset_make", {}, "`definition` must be an object"),
        ("dataset_make", {"definition": {"sources": [{"url": "ftp://h/x"}]}}, "not an address"),
        ("dataset_register", {"name": "a/b"}, "is not allowed"),
    ],
)
def test_wrong_questions(agent: Agent, op: str, fields: dict[str, object], words: str) -> None:
    usual: dict[str, object] = {"name": OWN, "path": str(agent.folder.work), "target": "x"}
    with pytest.raises(LookupError, match=words) as caught:
        agent.ask(op, **{**usual, "files": [["a", "/etc/hostname"]], **fields})
    assert caught.value.args[0] == "invalid_input"


def test_a_control_plane_that_is_away(agent: Agent, api: ApiServer) -> None:
    agent.door.link.client._locate = lambda: page.locate(Access(url="http://127.0.0.1:9", token="x"))
    for op, fields in (("datastore", {}), ("dataset_make", {"definition": {"sources": [{"datastore": "x"}]}})):
        with pytest.raises(LookupError) as caught:
            agent.ask(op, **fields)
        assert caught.value.args[0] == "unavailable"


@pytest.mark.slow
def test_a_control_plane_that_is_killed_meanwhile_is_waited_for(own_plane: Any) -> None:
    script = """
        import os, time
        from roost_job.run import Run
        store = Run.get_context().experiment.workspace.get_default_datastore()
        for n in range(30):
            with open(str(n), "w") as file:
                file.write("x" * 1000)
            store.upload_files([str(n)], target_path="made", show_progress=False)
            print("sent", n, flush=True)
            time.sleep(0.02)
        print("came", store.download("back", prefix="made", show_progress=False))
        """
    run = own_plane.submit({"train.py": script})
    eventually(lambda: own_plane.says(run, "sent 3"))
    own_plane.kill()
    own_plane.start()
    run = own_plane.wait(run)
    assert run.status is RunStatus.COMPLETED, run.message
    assert "came 30" in own_plane.log(run)
    uses = own_plane.client.call("GET", f"/api/runs/{run.id}/datasets")["uses"]
    assert [(use["direction"], use["name"]) for use in uses] == [("input", f"{OWN}/made"), ("output", f"{OWN}/made")]


def test_what_cannot_be_read(agent: Agent, tmp_path: Path) -> None:
    agent.upload("in", a="1")
    if os.geteuid() != 0:  # root may read and write everything
        (agent.folder.work / "closed").write_text("1")
        (agent.folder.work / "closed").chmod(0)
        with pytest.raises(LookupError, match="may not be read"):
            given = [["a", str(agent.folder.work / "closed")]]
            agent.ask("datastore_upload", name=OWN, files=given, target="other")
        (tmp_path / "locked").mkdir(mode=0o500)
        with pytest.raises(LookupError, match=r"locked/in.* cannot be written: Permission denied"):
            agent.download("in", tmp_path / "locked")
    (agent.folder.work / "here" / "in" / "a" / "deep").mkdir(parents=True)
    with pytest.raises(LookupError, match=r"here/in/a cannot be written"):
        agent.download("in", agent.folder.work / "here", overwrite=True)
    assert agent.download("in", agent.folder.work / "here")["count"] == 0
    assert [path.name for path in (agent.folder.work / "here" / "in").iterdir()] == ["a"], "nothing half is left"


def test_nothing_is_written_through_a_link(agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent.upload("in", a="1")
    (tmp_path / "outside").mkdir()
    here = agent.folder.work / "here"
    plain = page.fetch

    def fetch(*args: Any, **kwargs: Any) -> Any:
        """The script puts a link in place of the folder meanwhile."""
        here.rename(agent.folder.work / "moved")
        here.symlink_to(tmp_path / "outside")
        return plain(*args, **kwargs)

    monkeypatch.setattr(page, "fetch", fetch)
    with pytest.raises(LookupError, match="is a link, and none is followed here"):
        agent.download("in", here)
    assert list((tmp_path / "outside").iterdir()) == []


def test_an_odd_name_is_left_out_and_said(agent: Agent, api: ApiServer) -> None:
    (agent.folder.work / "a").write_text("1")
    given = [["a", str(agent.folder.work / "a")], ["caf\udce9", str(agent.folder.work / "a")]]
    answer = agent.ask("datastore_upload", name=OWN, files=given, target="x")
    assert answer["count"] == 1 and "(it is not UTF-8). Rename it" in answer["left_out"]
    assert stored(api, "x/a").read_text() == "1"
    with pytest.raises(LookupError, match="There is no file to upload"):
        agent.ask("datastore_upload", name=OWN, files=given[1:], target="x")


def test_nothing_is_read_through_a_link(agent: Agent, api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    file = agent.folder.work / "a"
    plain = storing.opened

    def opened(paths: Sequence[Path]) -> Any:
        """The script puts a link in place of the file meanwhile."""
        file.unlink(missing_ok=True)
        file.symlink_to("/etc/hostname")
        return plain(paths)

    monkeypatch.setattr(storing, "opened", opened)
    with pytest.raises(LookupError, match="is a link"):
        agent.upload("x", a="mine", overwrite=True)
    assert not stored(api, "x/a").exists()
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(LookupError, match=r"no file .* to upload.*Is it there still"):
        agent.ask("datastore_upload", name=OWN, files=[["a", str(file)]], target="x")


def test_of_a_script_in_a_container(agent: Agent, api: ApiServer) -> None:
    agent.folder.tmp.mkdir()
    agent.door.reach = contained.reach([Mount(agent.folder.tmp, "/tmp"), Mount(agent.folder.work)])
    (agent.folder.tmp / "a").write_text("inside")
    given = [["a", "/tmp/a"]]
    assert agent.ask("datastore_upload", name=OWN, files=given, target="x")["count"] == 1
    assert stored(api, "x/a").read_text() == "inside"
    assert agent.download("x", Path("/tmp/deep/here"))["count"] == 1
    assert (agent.folder.tmp / "deep/here/x/a").read_text() == "inside"
    for op, fields in (
        ("datastore_upload", {"files": [["a", "/etc/hostname"]], "target": "x"}),
        ("datastore_download", {"path": "/srv/here"}),
    ):
        with pytest.raises(LookupError, match="is in the container alone"):
            agent.ask(op, name=OWN, **fields)
    (agent.folder.tmp / "out").symlink_to("/etc")
    with pytest.raises(LookupError, match="is in the container alone"):
        agent.ask("datastore_upload", name=OWN, files=[["a", "/tmp/out/hostname"]], target="x")
