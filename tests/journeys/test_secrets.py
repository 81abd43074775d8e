"""The key vault from end to end: set outside, read inside jobs, hidden in everything that is shown of them."""

import signal
from pathlib import Path

import pytest
from tests.journeys.test_submit import until
from tests.shared.folders import tree
from tests.shared.interpreters import python

from roost import Experiment, ScriptRunConfig, Workspace
from roost.domain.errors import NotFound
from roost_job.exceptions import ActivityFailedException, UserErrorException

pytestmark = pytest.mark.slow

VALUE = "hunter22-Schlüssel"
SCRIPT = """
import os, sys, time
from azureml.core import Run

run = Run.get_context()
os.makedirs("logs", exist_ok=True)
os.makedirs("outputs", exist_ok=True)
log = open("logs/detail.txt", "w")
print("before")
value = run.get_secret("db-password")
assert run.get_secrets(["db-password", "nothing"]) == {"db-password": value, "nothing": None}
vault = run.experiment.workspace.get_default_keyvault()
assert vault.get_secret("db-password") == value
assert vault.list_secrets() == [{"name": "db-password"}, {"name": "key"}]
out = os.fdopen(1, "wb", 0)
data = ("value: %s.\\n" % value).encode("utf-8")
for place in range(len(data)):
    out.write(data[:place]); run.flush(); out.write(data[place:])
out.write(run.get_secret("key").encode("utf-8"))
log.write("and here: " + value + "\\n"); log.flush()
with open("outputs/kept.txt", "wb") as file:
    file.write(value.encode("utf-8"))
for name in ("nothing", "not_allowed"):
    try: run.get_secret(name)
    except Exception as error: print(type(error).__name__, str(error).splitlines()[0])
try: vault.set_secret("a", "b")
except Exception as error: print(type(error).__name__, str(error).splitlines()[0])
run.flush()
if "fail" in sys.argv: raise ValueError("it was " + value)
if "wait" in sys.argv: time.sleep(600)
"""


@pytest.fixture
def source(workspace: Workspace, tmp_path: Path) -> Path:
    vault = workspace.get_default_keyvault()
    vault.set_secret("db-password", VALUE)
    vault.set_secret("key", "-----BEGIN-----\nMIIEline1\nxy\n-----END-----\n")
    folder = tmp_path / "source"
    folder.mkdir()
    tree(folder, {"train.py": SCRIPT})
    return folder


def everything_shown(run) -> str:  # type: ignore[no-untyped-def]
    """All the text that is shown of a run, apart from its outputs."""
    client = run._connection.client
    shown = [
        client.fetch("GET", f"/api/runs/{run.id}/files/{name}").body for name in run.get_file_names() if "logs" in name
    ]
    shown.append(client.fetch("GET", f"/api/runs/{run.id}").body)
    shown.append(client.fetch("GET", f"/api/runs/{run.id}/events").body)
    return b"\n".join(shown).decode()


@pytest.mark.parametrize("version", ["3.11", "3.6"])
def test_a_job_reads_secrets_and_shows_none(experiment: Experiment, source: Path, version: str, home: Path) -> None:
    config = ScriptRunConfig(source_directory=str(source), script="train.py")
    if version == "3.6":
        config = ScriptRunConfig(source_directory=str(source), command=[python("3.6"), "train.py"])
    run = experiment.submit(config)
    run.wait_for_completion()
    shown = everything_shown(run)
    lines = run._connection.client.fetch("GET", f"/api/runs/{run.id}/files/user_logs/std_log.txt").body.decode()
    assert "hunter" not in shown
    assert "Schlüssel" not in shown
    count = len(f"value: {VALUE}.\n".encode())
    assert lines.count("value: ***.\n") == count
    assert "***\n***\nxy\n***\n" in lines
    assert lines.startswith("before\n")
    assert "and here: ***" in shown
    assert "There is no secret 'nothing'" in lines
    assert "Secret name 'not_allowed' is not allowed." in lines
    assert "A run cannot set secrets" in lines
    kept = run._connection.client.fetch("GET", f"/api/runs/{run.id}/files/outputs/kept.txt").body.decode()
    assert kept == VALUE
    until(lambda: not (home / "runs" / run.id).exists())  # it goes once everything has arrived


def test_the_words_of_a_failure_hide_it_too(experiment: Experiment, source: Path) -> None:
    run = experiment.submit(ScriptRunConfig(source_directory=str(source), script="train.py", arguments=["fail"]))
    with pytest.raises(ActivityFailedException) as caught:
        run.wait_for_completion()
    assert "hunter" not in str(caught.value)
    assert "ValueError: it was ***" in everything_shown(run)
    assert "hunter" not in everything_shown(run)


def test_a_salvage_pass_hides_them(experiment: Experiment, source: Path, home: Path) -> None:
    import json
    import os

    run = experiment.submit(ScriptRunConfig(source_directory=str(source), script="train.py", arguments=["wait"]))
    client = run._connection.client
    offset, seen = 0, b""
    while b"A run cannot set secrets" not in seen:
        answer = client.fetch(
            "GET", f"/api/runs/{run.id}/streams/user_logs/std_log.txt", params={"offset": offset, "wait": 20}
        )
        assert answer.headers["roost-status"] not in ("Failed", "Completed"), seen.decode()
        offset, seen = int(answer.headers["roost-offset"]), seen + answer.body
    assert b"hunter" not in seen
    folder = home / "runs" / run.id
    assert (folder / "secrets.json").stat().st_mode & 0o777 == 0o600
    assert "hunter" in (folder / "std_log.txt").read_text(), "the file on the node stays as it is"
    os.kill(json.loads((folder / "agent.json").read_text())["pid"], signal.SIGKILL)
    with pytest.raises(ActivityFailedException):
        run.wait_for_completion()
    shown = everything_shown(run)
    assert "value: ***." in shown
    assert "hunter" not in shown


def test_outside_of_jobs(experiment: Experiment, workspace: Workspace) -> None:
    vault = workspace.get_default_keyvault()
    assert vault.list_secrets() == []
    vault.set_secrets({"one": "1111", "two": "2222"})
    assert vault.get_secrets(["one", "three"]) == {"one": "1111", "three": None}
    assert vault.list_secrets() == [{"name": "one"}, {"name": "two"}]
    with experiment.start_logging() as run:
        assert run.get_secret("one") == "1111"
        assert run.get_secrets(["two", "nothing"]) == {"two": "2222", "nothing": None}
        with pytest.raises(UserErrorException, match="no secret 'nothing'"):
            run.get_secret("nothing")
    vault.delete_secret("one")
    vault.delete_secret("one")
    vault.delete_secrets(["two"])
    assert vault.list_secrets() == []
    with pytest.raises(NotFound, match="There is no secret 'one'"):
        vault.get_secret("one")
