"""The door: questions of a script, right and wrong ones, and a socket wherever the home is."""

import json
import socket
import threading

import pytest
from tests.contracts.engine import NOWHERE

from roost.agent.door import models
from roost.agent.door.door import Door
from roost.agent.folder import Folder
from roost.agent.link import Link
from roost.agent.orders import Orders
from roost.agent.shipping.masking import Masks
from roost.agent.shipping.ship import Cargo, Ship
from roost.agent.shipping.staging import Staging
from roost.domain.runs import RunStatus
from roost.sdk.calls.links import HttpLink


@pytest.fixture
def make_door(tmp_path):
    """A door whose control plane is away."""
    doors = []

    def make(home=tmp_path):
        folder = Folder(home / "runs" / "exp_1_ab")
        folder.staged.mkdir(parents=True)
        link = Link(folder, NOWHERE, patience=0)
        staging = Staging(folder)
        masks = Masks(folder)
        ship = Ship(folder, link, Cargo(folder, link, staging, masks), Orders(link))
        door = Door(folder, link, ship, staging, masks)
        door.ops.update(models.ops(door, "vision"))
        doors.append(door)
        return door

    yield make
    for door in doors:
        door.close()


def ask(door, **question):
    return door.answer(json.dumps(question).encode() + b"\n")


def test_a_file_lands_in_the_folder_that_was_looked_at(make_door, tmp_path, monkeypatch):
    door = make_door()
    (tmp_path / "here").mkdir()
    (tmp_path / "outside").mkdir()

    def download(_, target):
        """The script puts a link in place of the folder."""
        (tmp_path / "here").rename(tmp_path / "moved")
        (tmp_path / "here").symlink_to(tmp_path / "outside")
        return target.write_bytes(b"x")

    monkeypatch.setattr(door.link.client, "download", download)
    assert ask(door, op="download", name="a", path=str(tmp_path / "here/a")) == {"ok": {"size": 1}}
    assert (tmp_path / "moved/a").exists() and not list((tmp_path / "outside").iterdir())


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"not json\n", "one JSON object per line"),
        (b"[1]\n", "one JSON object per line"),
        (b"\xff\xfe\n", "one JSON object per line"),
        (b'{"op": "rm"}\n', "no 'rm'"),
        (b'{"op": ["run"]}\n', "no ['run']"),
        (b"{}\n", "no None"),
        (b'{"op": "upload"}\n', "`files` must be a list"),
        (b'{"op": "run", "run": "../other"}\n', "is not allowed"),
        (b'{"op": "restore", "snapshot": "x", "path": "here"}\n', "An absolute path is needed"),
        (b'{"op": "carry", "paths": "x"}\n', "`paths` must be a list"),
        (b'{"op": "carry", "paths": ["x"]}\n', "An absolute path is needed"),
        (b'{"op": "has", "name": "x"}\n', "is not the hash of a blob"),
        (b'{"op": "upload", "files": ["a"]}\n', "got 'a' in it"),
        (b'{"op": "upload", "files": [["../x", "/etc/passwd"]]}\n', "climbs out"),
        (b'{"op": "upload", "files": [["x", "relative"]]}\n', "An absolute path is needed"),
        (b'{"op": "upload", "files": [["x", 3]]}\n', "An absolute path is needed"),
        (b'{"op": "upload", "files": [["x", "/no/such/file"]]}\n', "is not a file"),
        (b'{"op": "download", "name": "/etc/passwd", "path": "/tmp/x"}\n', "absolute"),
        (b'{"op": "download", "name": "a", "path": "/no/such/folder/x"}\n', "is not there"),
        (b'{"op": "metrics", "name": 3}\n', "`name` must be text"),
        (b'{"op": "flush", "timeout_seconds": "soon"}\n', "`timeout_seconds` must be"),
        (b'{"op": "model"}\n', "Model name None is not allowed"),
        (b'{"op": "model", "name": "../x"}\n', "is not allowed"),
        (b'{"op": "model", "name": "net", "version": "x"}\n', "'x' is not the version of a model"),
        (b'{"op": "model_change", "name": "net"}\n', "None is not the version of a model"),
        (b'{"op": "model_download", "name": "net", "path": "here"}\n', "An absolute path is needed"),
        (b'{"op": "model_place", "name": "net"}\n', "An absolute path is needed"),
        (b'{"op": "model_register", "name": "net", "files": ["x"]}\n', "got 'x' in it"),
        (b'{"op": "model_register", "name": "net", "files": [["x", "y"]]}\n', "An absolute path is needed"),
        (b'{"op": "model_register", "name": "net", "files": [["../x", "/y"]]}\n', "climbs out"),
        (b'{"op": "model_register", "name": "net", "files": 3}\n', "`files` must be a list"),
        (b'{"op": "flush", "timeout_seconds": -1}\n', "`timeout_seconds` must be"),
    ],
)
def test_a_wrong_question_is_refused_in_words(make_door, line, words):
    error = make_door().answer(line)["error"]
    assert error["code"] in ("invalid_input", "invalid_model")
    assert words in error["message"]


def test_a_control_plane_that_is_away_is_told(make_door):
    assert ask(make_door(), op="run")["error"]["code"] == "unavailable"


def test_an_upload_is_copied_before_the_answer_and_needs_no_control_plane(make_door, tmp_path):
    door = make_door()
    file = tmp_path / "model.bin"
    file.write_bytes(b"weights")
    assert ask(door, op="upload", files=[["models/m.bin", str(file)], ["again.bin", str(file)]]) == {"ok": {"count": 2}}
    file.unlink()
    staged = tmp_path / "runs" / "exp_1_ab" / "staged"
    assert (staged / "00000001.data").read_bytes() == b"weights"
    assert json.loads((staged / "00000002.json").read_text())["name"] == "again.bin"


def test_one_wrong_file_of_many_uploads_none(make_door, tmp_path):
    file = tmp_path / "a"
    file.touch()
    answer = ask(make_door(), op="upload", files=[["a", str(file)], ["b", str(tmp_path / "missing")]])
    assert "missing" in answer["error"]["message"]
    assert list((tmp_path / "runs" / "exp_1_ab" / "staged").iterdir()) == []


@pytest.mark.parametrize("deep", [False, True])
def test_many_guests_at_once(make_door, tmp_path, deep):
    door = make_door(tmp_path / ("d" * 120) if deep else tmp_path)
    door.listen()
    assert len(str(door.path)) < 108
    assert door.path.stat().st_mode & 0o777 == 0o600
    answers = []

    def guest():
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(door.path))
            with connection.makefile("rwb") as lines:
                for _ in range(5):
                    lines.write(b'{"op": "nonsense"}\n')
                    lines.flush()
                    answers.append(json.loads(lines.readline())["error"]["code"])

    threads = [threading.Thread(target=guest) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == ["invalid_input"] * 50
    door.close()
    assert not door.path.exists()
    assert not deep or not door.path.parent.exists()


@pytest.mark.slow
def test_every_op_in_a_real_run(plane):
    run = plane.run(
        """
        import json, os, pathlib
        from roost_job.door import DoorClient
        from roost_job.tracking.spool import Writer
        ask = DoorClient(os.environ["ROOST_DOOR"]).ask
        here = pathlib.Path.cwd()
        Writer(os.environ["ROOST_SPOOL"]).number("loss", 0.5)
        ask("flush")
        assert ask("metrics", name="loss") == {"loss": 0.5}, ask("metrics", name="loss")
        assert ask("run")["id"] == os.environ["ROOST_RUN_ID"]
        assert ask("annotate", tags={"stage": "one"}, properties={"p": "q"})["tags"] == {"stage": "one"}
        (here / "model").write_text("weights")
        assert ask("upload", files=[["models/m", str(here / "model")]]) == {"count": 1}
        (here / "model").unlink()
        assert "models/m" in ask("files", prefix="models")
        assert ask("download", name="models/m", path=str(here / "back")) == {"size": 7}
        assert (here / "back").read_text() == "weights"
        for wrong in ({"op": "download", "name": "none", "path": str(here / "x")},):
            try:
                ask(**wrong)
            except Exception as error:
                print(type(error).__name__, error)
        (here / "late").write_text("late")
        ask("upload", files=[["late", str(here / "late")]])
        """
    )
    assert run.status is RunStatus.COMPLETED, run.message
    assert "none" in plane.log(run)
    assert run.tags == {"stage": "one"}
    assert run.properties["p"] == "q"
    assert plane.read(run, "models/m") == b"weights"
    assert plane.read(run, "late") == b"late"


def test_a_run_outside_of_jobs_is_asked_the_same(make_door):
    outside = set(HttpLink(None, "exp_1_ab")._ops)
    assert outside - set(make_door().ops) <= {"mark"}, "an end from outside is no script's to ask for"
