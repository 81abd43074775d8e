"""A run in its job: context, uploads, tags and errors through the door, and what happens when the door is shut."""

import io
import math
import os
import pickle
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.roost_job import spools
from tests.roost_job.doors import FakeDoor

from roost.domain.runs import RunKind
from roost_job.door import DoorClient
from roost_job.exceptions import RunEnvironmentException, ServiceException, UserErrorException
from roost_job.run import Run
from roost_job.tracking.offline import _OfflineRun


@pytest.fixture
def in_job(job_env: Mapping[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    for name, value in job_env.items():
        if name.startswith(("ROOST_", "AZUREML_")):
            monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    yield


@pytest.fixture
def run(in_job: None) -> Run:
    found = Run.get_context()
    assert isinstance(found, Run)
    return found


@pytest.fixture
def no_job(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("ROOST_RUN_ID", "ROOST_SPOOL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def test_context_is_one_object(run: Run) -> None:
    assert Run.get_context() is run
    assert Run.get_context(allow_offline=False, used_for_context_manager=True) is run
    assert run.id == "train_1700000000_1a2b3c4d"
    workspace = run.experiment.workspace
    assert (run.experiment.name, workspace.name, workspace.subscription_id, workspace.resource_group) == (
        "train",
        "vision",
        "sub",
        "group",
    )


def test_a_subclass_gets_its_own_context(run: Run) -> None:
    class Sub(Run):
        pass

    found = Sub.get_context()
    assert type(found) is Sub and Sub.get_context() is found and found.id == run.id


@pytest.mark.parametrize("kind", [*RunKind, "newer"])
def test_every_kind_has_a_word(run: Run, door: FakeDoor, kind: str) -> None:
    door.record["spec"]["kind"] = str(kind)
    known = {"script": "azureml.scriptrun", "interactive": "azureml.interactive"}
    assert run.type == known.get(kind, f"roost.{kind}")


def test_another_run_cannot_be_reached_through_the_door(run: Run) -> None:
    with pytest.raises(RunEnvironmentException, match="not the run of this job"):
        Run(run.experiment, "other_1_1a2b3c4d")
    assert Run(run.experiment, run.id).id == run.id


def test_uploads(run: Run, door: FakeDoor, tmp_path: Path) -> None:
    folder = tmp_path / "made"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.txt").write_text("a")
    (folder / "deep" / "b.txt").write_text("b")
    run.upload_file("outputs/a.txt", str(folder / "a.txt"))
    run.upload_file("relative.txt", "made/a.txt")
    run.upload_file("stream.bin", io.BytesIO(b"\0bytes"))
    run.upload_file(name="text.txt", path_or_stream=io.StringIO("größe"))
    run.upload_files(["x", "y"], [str(folder / "a.txt"), folder / "deep" / "b.txt"])  # type: ignore[list-item]
    run.upload_folder("kept/", str(folder))
    assert door.files == {
        "outputs/a.txt": b"a",
        "relative.txt": b"a",
        "stream.bin": b"\0bytes",
        "text.txt": "größe".encode(),
        "x": b"a",
        "y": b"b",
        "kept/a.txt": b"a",
        "kept/deep/b.txt": b"b",
    }
    paths = [path for asked in door.asked for _, path in asked["files"]]
    assert all(os.path.isabs(path) for path in paths)
    assert not any(os.path.exists(path) for path in paths if not path.startswith(str(tmp_path)))  # streams left nothing


def test_a_folder_of_many_goes_in_several_questions(run: Run, door: FakeDoor, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(1001):
        (folder / str(number)).touch()
    run.upload_folder("many", str(folder))
    assert [len(asked["files"]) for asked in door.asked] == [1000, 1]
    assert len(door.files) == 1001


def test_an_error_of_the_agent_is_raised_as_the_callers(run: Run, door: FakeDoor, tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with pytest.raises(UserErrorException) as caught:
        run.upload_file("../a", "a")
    assert caught.value.message == "Path '../a' is not allowed."
    assert str(caught.value).endswith("\nhint: Give a relative path.")
    with pytest.raises(UserErrorException, match="No file"):
        run.download_file("nothing")


def test_tags_and_properties(run: Run, door: FakeDoor) -> None:
    run.tag("k")
    run.tag("stage", 3)  # type: ignore[arg-type]
    run.set_tags({"a": "1", "b": None})
    assert run.get_tags() == run.tags == {"k": None, "stage": "3", "a": "1", "b": None}
    run.remove_tags("k")
    run.remove_tags(["a", "never"])
    assert run.get_tags() == {"stage": "3", "b": None}
    run.add_properties({"p": 1})
    with pytest.raises(UserErrorException, match="is set"):
        run.add_properties({"p": 2})
    assert run.get_properties() == run.properties == {"p": "1"}
    run.display_name = "second"
    assert run.display_name == "second"
    run.name = "third"
    assert run.display_name == run.name == "third"
    assert run.description == ""
    run.description = "Twice the depth, half the rate."
    assert run.description == "Twice the depth, half the rate."
    with pytest.raises(UserErrorException, match="A description must be text, got int 3"):
        run.description = 3  # type: ignore[assignment]
    assert (run.display_name, run.description) == ("third", "Twice the depth, half the rate.")


def test_files_and_downloads(run: Run, door: FakeDoor, tmp_path: Path) -> None:
    door.files.update({"outputs/model/w.bin": b"w", "outputs/model.pt": b"m", "logs/a.txt": b"a"})
    assert run.get_file_names() == ["logs/a.txt", "outputs/model.pt", "outputs/model/w.bin"]
    run.download_file("outputs/model.pt")
    assert (tmp_path / "model.pt").read_bytes() == b"m"
    (tmp_path / "there").mkdir()
    run.download_file("outputs/model.pt", "there")
    run.download_file("outputs/model.pt", "new/")
    run.download_file("outputs/model.pt", output_file_path="deep/er/x.pt")
    for path in ("there/model.pt", "new/model.pt", "deep/er/x.pt"):
        assert (tmp_path / path).read_bytes() == b"m"
    run.download_files("outputs/model", "whole")
    run.download_files(prefix="outputs/model", output_directory="cut", append_prefix=False)
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.glob("whole/**/*.*")] == ["whole/outputs/model/w.bin"]
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.glob("cut/**/*.*")] == ["cut/w.bin"]
    run.download_files("logs", output_paths=["one.txt"])
    assert (tmp_path / "one.txt").read_bytes() == b"a"
    with pytest.raises(UserErrorException, match="2 `output_paths` for 1"):
        run.download_files("logs", output_paths=["one", "two"])


def test_a_download_never_leads_out_of_its_folder(run: Run, door: FakeDoor, tmp_path: Path) -> None:
    door.files.update({"a/fine": b"1", "a/../../evil": b"2"})
    with pytest.raises(UserErrorException, match="leads out"):
        run.download_files(output_directory="out")
    assert not (tmp_path / "out").exists()


class Figure:
    def savefig(self, path: str, **options: str) -> None:
        Path(path).write_bytes(options["format"].encode())


def test_images(run: Run, door: FakeDoor, tmp_path: Path) -> None:
    (tmp_path / "photo.JPG").write_bytes(b"jpg")
    run.log_image("my photo/1", path=str(tmp_path / "photo.JPG"))
    run.log_image("plot", plot=Figure())
    shown = spools.shown(tmp_path / "spool")
    names = list(door.files)
    assert shown == {
        "my photo/1": f"aml://artifactId/ExperimentRun/dcid.{run.id}/{names[0]}",
        "plot": f"aml://artifactId/ExperimentRun/dcid.{run.id}/{names[1]}",
    }
    assert names[0].startswith("my_photo_1_") and names[0].endswith(".JPG")
    assert names[1].startswith("plot_") and names[1].endswith(".png")
    assert list(door.files.values()) == [b"jpg", b"png"]
    run.log_image("🦉" * 300, plot=Figure())
    assert len(list(door.files)[2].encode()) <= 255


def test_metrics_are_waited_for_and_read_back(run: Run, door: FakeDoor) -> None:
    door.metrics = {"loss": [1.0, {"float": "NaN"}], "row": {"x": {"float": "-Infinity"}}, "word": "float"}
    assert math.isnan(run.get_metrics()["loss"][1])
    assert run.get_metrics("row", recursive=True) == {run.id: {"row": {"x": float("-inf")}}}
    assert [asked["op"] for asked in door.asked] == ["metrics", "metrics"]
    run.log("loss", 1.0)
    assert run.get_metrics(name="word") == {"word": "float"}
    assert [asked["op"] for asked in door.asked][2:] == ["flush", "metrics"]


def test_details(run: Run, door: FakeDoor) -> None:
    door.files["user_logs/std_log.txt"] = b""
    found = run.get_details()
    assert (found["runId"], found["target"], found["status"], found["submittedBy"]) == (
        run.id,
        "local",
        "Running",
        "ada",
    )
    assert (found["startTimeUtc"], found["endTimeUtc"]) == ("2023-11-14T22:13:20.250000Z", None)
    assert found["runDefinition"]["arguments"] == ["--lr", "0.1"]
    assert list(found["logFiles"]) == ["user_logs/std_log.txt"]
    assert (run.get_status(), run.status, run.number) == ("Running", "Running", 7)


def test_details_go_to_another_process(run: Run, door: FakeDoor) -> None:
    door.record["spec"]["inputs"] = [{"name": "birds", "mode": "mount", "dataset_id": "7", "definition": {}}]
    found = run.get_details()
    assert found["inputDatasets"][0]["dataset"] == {"id": "7"}
    assert pickle.loads(pickle.dumps(found)) == found


def test_the_end_is_not_the_scripts_to_decide(run: Run, door: FakeDoor, capsys: pytest.CaptureFixture[str]) -> None:
    run.complete()
    assert [asked["op"] for asked in door.asked] == ["flush"]
    run.fail("no data", error_code="E7")
    run.cancel()
    said = capsys.readouterr().err
    assert "E7: no data" in said and "run.cancel() does nothing" in said
    with run as same:
        assert same is run
    with pytest.raises(ZeroDivisionError), run:
        _ = 1 / 0
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert {asked["op"] for asked in door.asked} == {"flush"}


def test_no_door(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Logging goes on, asking says what is wrong, and the end of a script is not spoiled."""
    run.log("loss", 1.0)
    (tmp_path / "a.png").touch()
    for call in (
        lambda: run.upload_file("a", "a.png"),
        lambda: run.tag("k", "v"),
        lambda: run.log_image("i", path="a.png"),
        lambda: run.flush(),
    ):
        with pytest.raises(ServiceException, match="cannot be reached at"):
            call()
    run.complete()
    assert "cannot be reached" in capsys.readouterr().err
    assert spools.values(tmp_path / "spool") == {"loss": [1.0]}


def test_a_broken_connection_is_tried_again(run: Run, door: FakeDoor) -> None:
    door.hang_up = 1
    run.tag("k", "v")
    assert door.record["tags"] == {"k": "v"}
    door.hang_up = 2
    with pytest.raises(ServiceException, match="hung up"):
        run.tag("k", "w")
    run.tag("k", "x")
    assert door.record["tags"] == {"k": "x"}


def test_flush_has_an_end(run: Run, door: FakeDoor) -> None:
    door.silent.set()
    with pytest.raises(ServiceException, match=r"within 0\.1 seconds"):
        run.flush(timeout_seconds=0.1)


def test_a_door_behind_a_long_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    monkeypatch.chdir(folder)
    with FakeDoor("door.sock"):
        assert DoorClient(str(folder / "door.sock")).ask("run")["number"] == 7


def test_an_answer_that_is_not_roosts(run: Run, door: FakeDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "answer", lambda question: ["what"])
    with pytest.raises(ServiceException, match="not Roost's"):
        run.get_tags()
    monkeypatch.setattr(door, "answer", lambda question: {"error": {"code": "brand_new", "message": "M", "hint": "H"}})
    with pytest.raises(ServiceException, match="M\nhint: H"):
        run.get_tags()


class TestOffline:
    def test_a_new_one_each_time_that_is_no_run(self, no_job: None) -> None:
        first, second = Run.get_context(), Run.get_context()
        assert type(first) is _OfflineRun and not isinstance(first, Run)
        assert first is not second and first.id != second.id
        assert first.id.startswith("OfflineRun_") and len(first.id) == len("OfflineRun_") + 36
        for name in ("experiment", "input_datasets", "parent", "get_metrics", "register_model"):
            assert not hasattr(first, name)

    def test_not_allowed(self, no_job: None) -> None:
        with pytest.raises(RunEnvironmentException, match="There is no run here"):
            Run.get_context(allow_offline=False)

    def test_half_a_job_is_none(self, no_job: None, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ROOST_RUN_ID", "x")
        assert isinstance(Run.get_context(), _OfflineRun)

    def test_calls_print_and_write_nothing(
        self, no_job: None, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        run = Run.get_context()
        (tmp_path / "a.png").touch()
        run.log("loss", 0.5, step=1)
        run.log_list("l", [1, 2])
        run.log_row("r", x=1)
        run.log_table("t", {"x": [1]})
        run.log_image("i", path="a.png")
        run.log_image("p", plot=Figure())
        run.upload_file("a", "a.png")
        run.upload_file("s", io.BytesIO(b""))
        run.upload_files(["b"], ["a.png"])
        run.upload_folder("f", str(tmp_path))
        run.flush()
        said = capsys.readouterr().out
        assert "Attempted to log scalar metric loss:\n0.5\n" in said
        assert "Attempted to log row metric r:\n{'x': 1}\n" in said
        assert said.count("Attempted to ") == 10
        assert [path.name for path in tmp_path.iterdir()] == ["a.png"]

    def test_tags_properties_and_end(self, no_job: None) -> None:
        run = Run.get_context()
        run.tag("k")
        run.set_tags({"a": 1})
        run.remove_tags(["k"])
        run.add_properties({"p": 1})
        with pytest.raises(UserErrorException):
            run.add_properties({"p": 2})
        assert (run.get_tags(), run.get_properties()) == ({"a": "1"}, {"p": "1"})
        assert isinstance(run, _OfflineRun)
        with run:
            assert run.get_status() == "Running"
        assert run.get_status() == "Completed"
