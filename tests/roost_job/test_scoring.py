"""The scoring worker in the Pythons that models run on: entry scripts of every form, asked over the real socket."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.shared.interpreters import each_python, every_python, python

from roost_job.scoring import frames

SOURCE = Path(__file__).parents[2] / "src"
PLAIN = """
    import json, os, sys
    import helper

    def init():
        global model
        model = open(os.path.join(os.environ["AZUREML_MODEL_DIR"], "model.txt")).read()
        print("init in", os.path.basename(os.getcwd()))

    def run(raw_data):
        assert isinstance(raw_data, str)
        asked = json.loads(raw_data)
        if asked == "exit":
            sys.exit(3)
        if asked == "raise":
            helper.fail()
        if asked == "text":
            return json.dumps({"a": 1})
        if asked == "bytes":
            return b"\\x00\\xff"
        if asked == "pieces":
            return (piece for piece in ("a", "b"))
        if asked == "set":
            return {"of": {1}}
        if asked == "nonsense":
            return object()
        return {"model": model, "got": asked}
"""
RAW = """
    from roost_job.scoring.rawhttp import AMLRequest, AMLResponse, rawhttp

    def init(): pass

    @rawhttp
    def run(request):
        assert isinstance(request, AMLRequest)
        if request.method == "GET":
            told = [request.url, request.path, request.args.get("n", type=int), request.args.getlist("a"), request.args["a"]]
            return AMLResponse(told, 200, json_str=True)
        if request.method == "OPTIONS":
            answer = AMLResponse("", 200)
            answer.headers["Access-Control-Allow-Origin"] = "*"
            return answer
        if "file" in request.files:
            sent = request.files["file"]
            told = {"name": sent.filename, "type": sent.content_type, "text": sent.read().decode("latin-1"), "form": request.form}
            return AMLResponse(told, 201, json_str=True)
        if request.form:
            return {"form": request.form, "data": request.data.decode(), "all": request.get_data(as_text=True)}
        if request.is_json:
            return {"json": request.get_json(), "type": request.content_type, "colour": request.headers["COLOUR"]}
        return AMLResponse(request.data[::-1], 202, {"Content-Type": "image/png", "X-A": "b"})
"""


class Scoring:
    """A worker, and a connection of a front to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process: subprocess.Popen[str] | None = None
        self.socket: socket.socket | None = None
        self._unpacker = frames.Unpacker()
        self._got: list[frames.Frame] = []
        self._numbers = 0

    def start(self, version: str, script: str, *, interpreter: str = "", **variables: str) -> "Scoring":
        (self.folder / "model.txt").write_text("trees")
        (self.folder / "score.py").write_text(textwrap.dedent(script), "utf-8")
        (self.folder / "helper.py").write_text("def fail():\n    raise ValueError('no such bird: \u00fc')\n", "utf-8")
        env = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(SOURCE),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONIOENCODING": "utf-8",
            "ROOST_SERVING_SOCKET": str(self.folder / "w.sock"),
            "AZUREML_ENTRY_SCRIPT": "score.py",
            "AZUREML_MODEL_DIR": str(self.folder),
            **variables,
        }
        command = [interpreter or python(version), "-W", "error::SyntaxWarning", "-m", "roost_job.scoring"]
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(command, cwd=self.folder, env=env, stdout=log, stderr=log, text=True)
        return self

    def connect(self) -> dict[str, Any]:
        """The worker's HELLO."""
        assert self.process is not None
        while True:
            self.socket = socket.socket(socket.AF_UNIX)
            try:
                self.socket.connect(str(self.folder / "w.sock"))
                break
            except OSError:
                self.socket.close()
                assert self.process.poll() is None, self.log
        kind, _, head, _ = self.receive()
        assert kind == frames.HELLO
        return frames.head_of(head)

    def receive(self) -> frames.Frame:
        assert self.socket is not None
        while not self._got:
            data = self.socket.recv(1 << 16)
            assert data, self.log
            self._got += list(self._unpacker.feed(data))
        return self._got.pop(0)

    def send(self, body: bytes, head: Mapping[str, Any] | None = None) -> int:
        assert self.socket is not None
        self._numbers += 1
        self.socket.sendall(frames.pack(frames.REQUEST, self._numbers, dict(head or {}), body))
        return self._numbers

    def ask(self, value: Any, **head: Any) -> tuple[int, dict[str, str], bytes]:
        number = self.send(value if isinstance(value, bytes) else json.dumps(value).encode(), head)
        kind, answered, told, body = self.receive()
        assert (kind, answered) == (frames.RESPONSE, number)
        said = frames.head_of(told)
        return said["status"], said["headers"], body

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text("utf-8")

    def end(self) -> None:
        if self.socket is not None:
            self.socket.close()
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@pytest.fixture
def scoring() -> Iterator[Scoring]:
    folder = Path(tempfile.mkdtemp(prefix="roost-s-"))  # short: a socket lies in it
    made = Scoring(folder)
    yield made
    made.end()
    shutil.rmtree(folder)


@every_python
def test_entry_scripts(version: str, scoring: Scoring) -> None:
    told = scoring.start(version, PLAIN).connect()
    assert scoring.process is not None
    assert (told["pid"], told["raw"], told["schema"], told["concurrency"]) == (scoring.process.pid, False, None, 1)
    assert told["python"].startswith(version)
    status, headers, body = scoring.ask({"a": "ü"})
    assert (status, headers, json.loads(body)) == (
        200,
        {"content-type": "application/json"},
        {"model": "trees", "got": {"a": "ü"}},
    )
    assert json.loads(scoring.ask("text")[2]) == '{"a": 1}'  # what run() gives is what service.run() gives
    assert scoring.ask("bytes") == (200, {"content-type": "application/octet-stream"}, b"\x00\xff")
    assert scoring.ask("set")[2] == b'{"of": [1]}' and scoring.ask("pieces")[2] == b"ab"
    for asked, text in (
        ("raise", "ValueError: no such bird: ü"),
        ("exit", "SystemExit: 3"),
        ("nonsense", "TypeError: a value of type object cannot be written as JSON"),
    ):
        status, headers, body = scoring.ask(asked)
        assert (status, headers["x-ms-run-function-failed"]) == (502, "true")
        assert json.loads(body)["message"].startswith(text)
    assert "Traceback (most recent call last)" in scoring.log and "in fail" in scoring.log
    assert "What run() returned cannot be sent: a value of type object" in scoring.log and "in plain" not in scoring.log
    assert scoring.ask(b"\xff")[0] == 400
    assert json.loads(scoring.ask(b"", method="GET", query="a=1&b=x&b=[2]")[2])["got"] == {"a": 1, "b": ["x", [2]]}
    assert scoring.ask(b"", method="PUT")[0] == 405
    assert "init in" in scoring.log


@each_python
def test_raw_http(version: str, scoring: Scoring) -> None:
    assert scoring.start(version, RAW).connect()["raw"]
    url = {"method": "GET", "path": "/score", "query": "n=3&a=x&a=y%20z", "headers": {"host": "h:1"}}
    assert json.loads(scoring.ask(b"", **url)[2]) == [
        "http://h:1/score?n=3&a=x&a=y%20z",
        "/score",
        3,
        ["x", "y z"],
        "x",
    ]
    assert scoring.ask(b"", method="OPTIONS")[1]["access-control-allow-origin"] == "*"
    status, headers, body = scoring.ask(b"\x01\x02", headers={"content-type": "image/jpeg"})
    assert (status, headers["content-type"], headers["x-a"], body) == (202, "image/png", "b", b"\x02\x01")
    said = scoring.ask({"a": [1]}, headers={"content-type": "application/json; charset=utf-8", "colour": "red"})[2]
    assert json.loads(said) == {"json": {"a": [1]}, "type": "application/json; charset=utf-8", "colour": "red"}
    assert scoring.ask(b"{", headers={"content-type": "application/json", "colour": "red"})[0] == 400
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert json.loads(scoring.ask(b"a=1&b=%C3%BC", headers=form)[2]) == {
        "form": {"a": "1", "b": "ü"},
        "data": "",
        "all": "a=1&b=%C3%BC",
    }
    binary = bytes(range(256)) + b"\r\n--not the mark\r\n"
    parts = (
        b'--XX\r\nContent-Disposition: form-data; name="note"\r\n\r\nhello\r\n'
        b'--XX\r\nContent-Disposition: form-data; name="file"; filename="a b.png"\r\nContent-Type: image/png\r\n\r\n'
        + binary
        + b"\r\n--XX--\r\n"
    )
    status, _, body = scoring.ask(parts, headers={"content-type": 'multipart/form-data; boundary="XX"'})
    assert status == 201
    assert json.loads(body) == {
        "name": "a b.png",
        "type": "image/png",
        "text": binary.decode("latin-1"),
        "form": {"note": "hello"},
    }
    for broken in (parts[:-10], b"", b"--XX\r\n\r\nx\r\n--XX--"):
        assert scoring.ask(broken, headers={"content-type": "multipart/form-data; boundary=XX"})[0] == 400
    assert scoring.ask(parts, headers={"content-type": "multipart/form-data"})[0] == 400


def test_inference_schema(scoring: Scoring) -> None:
    script = """
        import numpy as np
        from inference_schema.parameter_types.numpy_parameter_type import NumpyParameterType
        from inference_schema.parameter_types.standard_py_parameter_type import StandardPythonParameterType
        from inference_schema.schema_decorators import input_schema, output_schema

        def init(): pass

        @input_schema("data", NumpyParameterType(np.array([[1.0, 2.0]])))
        @input_schema("scale", StandardPythonParameterType(2.0))
        @output_schema(NumpyParameterType(np.array([3.0])))
        def run(data, scale=2.0):
            assert isinstance(data, np.ndarray)
            return data.sum(axis=1) * scale
    """
    told = scoring.start("", script, interpreter=sys.executable).connect()
    assert told["schema"]["input"]["properties"]["data"]["type"] == "array"
    assert told["schema"]["input"]["example"] == {"data": [[1.0, 2.0]], "scale": 2.0}
    assert told["schema"]["output"]["type"] == "array"
    assert scoring.ask({"data": [[1, 2], [3, 4]], "scale": 10.0})[2] == b"[30.0, 70.0]"
    assert scoring.ask({"data": [[1, 2]]})[2] == b"[6.0]"
    status, _, body = scoring.ask({"other": 1})
    assert status == 400 and b"'data', 'scale'" in body
    assert scoring.ask([1])[0] == 400
    status, _, body = scoring.ask({"data": [1, 2, 3]})
    assert status == 502 and b"dimensions" in body


def test_numpy_and_pandas_results(scoring: Scoring) -> None:
    script = """
        import datetime, json
        import numpy as np
        import pandas as pd

        def init(): pass

        def run(data):
            return {
                "array": np.arange(3),
                "number": np.float32(0.5),
                "frame": pd.DataFrame({"a": [1, 2]}),
                "when": datetime.date(2020, 1, 2),
            }
    """
    scoring.start("", script, interpreter=sys.executable).connect()
    assert json.loads(scoring.ask({})[2]) == {
        "array": [0, 1, 2],
        "number": 0.5,
        "frame": [{"a": 1}, {"a": 2}],
        "when": "2020-01-02",
    }


@pytest.mark.parametrize("version", ["3.6", "3.13"])
@pytest.mark.parametrize(
    ("script", "first", "last"),
    [
        (
            "def init():\n    raise OSError('no model\\nat all')\ndef run(data): pass",
            "init() raised OSError: no model",
            "OSError: no model\nat all",
        ),
        (
            "import sys\ndef init():\n    sys.exit(3)\ndef run(data): pass",
            "init() called sys.exit(3).",
            "SystemExit: 3",
        ),
        ("def run(data): pass", "score.py has no function init().", ""),
        ("def init(): pass", "score.py has no function run().", ""),
        ("def init(): pass\ndef run(): pass", "score.py: run() takes no parameter for the request's data.", ""),
        ("def init(): pass\ndef run(*data): pass", "score.py: run() cannot take *args", ""),
        ("def init(:", "score.py could not be imported: SyntaxError: invalid syntax (score.py, line 1)", "syntax"),
        (
            "import nothing_of_that_name",
            "score.py could not be imported: ModuleNotFoundError: No module named 'nothing_of_that_name'",
            "ModuleNotFoundError: No module named 'nothing_of_that_name'",
        ),
        ("raise SystemExit", "score.py could not be imported: SystemExit", "SystemExit"),
        (
            "def init(): raise ValueError('x' * 40000 + chr(0xdc80))\ndef run(d): pass",
            "init() raised ValueError: xxx",
            "x",
        ),
    ],
)
def test_a_start_that_fails_says_why(version: str, script: str, first: str, last: str, scoring: Scoring) -> None:
    process = scoring.start(version, script).process
    assert process is not None and process.wait(30) == frames.EXIT_NOT_LOADED
    told = (scoring.folder / "w.sock.failed").read_text("utf-8")
    assert told.startswith(first) and last in told.partition("\n")[2] and told in scoring.log
    assert "roost_job" not in told and len(told) < 20_000
    assert not (scoring.folder / "w.sock").exists()


@each_python
def test_what_is_collected_goes_to_the_front(version: str, scoring: Scoring) -> None:
    script = """
        from azureml.monitoring import ModelDataCollector

        def init():
            global inputs
            inputs = ModelDataCollector("net", designation="inputs")
            inputs.collect([1])

        def run(data):
            inputs.collect([[data]])
    """
    scoring.start(version, script).connect()
    scoring.send(b"2")
    got = [scoring.receive() for _ in range(3)]
    assert [kind for kind, *_ in got] == [frames.COLLECTED, frames.COLLECTED, frames.RESPONSE]
    assert [json.loads(body)["rows"] for *_, body in got[:2]] == [[[1]], [["2"]]]


def test_an_unknown_handler_and_a_missing_script(scoring: Scoring) -> None:
    process = scoring.start("", PLAIN, interpreter=sys.executable, ROOST_SERVING_HANDLER="magic").process
    assert process is not None and process.wait(30) == frames.EXIT_NOT_LOADED
    process = scoring.start("", PLAIN, interpreter=sys.executable, AZUREML_ENTRY_SCRIPT="other.py").process
    assert process is not None and process.wait(30) == frames.EXIT_NOT_LOADED
    assert "There is no handler 'magic'" in scoring.log and "There is no entry script other.py." in scoring.log
    process = scoring.start("", PLAIN, interpreter=sys.executable, ROOST_SERVING_HANDLER="sklearn").process
    assert process is not None and process.wait(30) == frames.EXIT_NOT_LOADED
    assert "The model could not be loaded " in scoring.log and " on Python 3." in scoring.log


@each_python
def test_abort_recall_and_stop(version: str, scoring: Scoring) -> None:
    script = """
        import json, time

        def init(): pass

        def run(data):
            print("at", data)
            time.sleep(json.loads(data))
            return "done"
    """
    scoring.start(version, script).connect()
    assert scoring.socket is not None and scoring.process is not None
    at_work, waiting, forgotten = scoring.send(b"1"), scoring.send(b"0"), scoring.send(b"0")
    scoring.socket.sendall(frames.pack(frames.ABORT, forgotten) + frames.pack(frames.RECALL, waiting))
    assert scoring.receive()[:2] == (frames.RETURNED, waiting)
    scoring.socket.sendall(frames.pack(frames.RECALL, at_work))
    assert scoring.receive()[:2] == (frames.RESPONSE, at_work)
    scoring.socket.sendall(frames.pack(frames.ABORT, at_work))  # too late: it is answered
    hanging = scoring.send(b"60")
    while "at 60" not in scoring.log:
        pass
    scoring.socket.sendall(frames.pack(frames.ABORT, hanging))
    assert scoring.process.wait(20) == frames.EXIT_ABORTED
    assert "in run" in scoring.log


@pytest.mark.parametrize("how", [signal.SIGTERM, None], ids=["signal", "frame"])
def test_a_stop_answers_what_it_has_and_leaves_nothing(how: signal.Signals | None, scoring: Scoring) -> None:
    scoring.start("", PLAIN, interpreter=sys.executable).connect()
    assert scoring.socket is not None and scoring.process is not None
    asked = [scoring.send(b"{}") for _ in range(3)]
    if how is None:
        scoring.socket.sendall(frames.pack(frames.STOP))
    else:
        scoring.process.send_signal(how)
    got = [scoring.receive()[:2] for _ in range(4)]
    assert sorted(number for kind, number in got if kind == frames.RESPONSE) == asked
    assert (frames.STOP, 0) in got
    scoring.socket.close()
    assert scoring.process.wait(20) == 0
    assert not (scoring.folder / "w.sock").exists()


def test_two_fronts_and_one_that_speaks_rubbish(scoring: Scoring) -> None:
    scoring.start("", PLAIN, interpreter=sys.executable).connect()
    with socket.socket(socket.AF_UNIX) as other:
        other.connect(str(scoring.folder / "w.sock"))
        other.sendall(b"GET / HTTP/1.1\r\n\r\n" * 10)
        while other.recv(1 << 16):
            pass
    assert scoring.ask({"a": 1})[0] == 200
    first = scoring.socket
    scoring.connect()
    assert scoring.ask({"a": 1})[0] == 200
    assert first is not None
    first.close()
    assert scoring.ask({"a": 1})[0] == 200


def test_a_stale_socket_is_replaced(scoring: Scoring) -> None:
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(scoring.folder / "w.sock"))
    scoring.start("", PLAIN, interpreter=sys.executable).connect()
    assert scoring.ask({"a": 1})[0] == 200
    assert (scoring.folder / "w.sock").stat().st_mode & 0o777 == 0o600
