"""Secrets as a script reads them, on every Python of those years; through the run and through its workspace."""

from collections.abc import Mapping
from pathlib import Path

from tests.roost_job.conftest import RunScript
from tests.roost_job.doors import FakeDoor
from tests.shared.interpreters import each_python, python

SCRIPT = """
from azureml.core import Run
from azureml.telemetry import set_diagnostics_collection
from azureml.exceptions import UserErrorException

def refused(deed, *words):
    try:
        deed()
    except UserErrorException as error:
        assert all(word in str(error) for word in words), error
    else:
        raise AssertionError("nothing was refused")

run = Run.get_context()
assert run.get_secret("name") == "value"
assert run.get_secret(name="wide") == u"Schl\\u00fcssel"
assert run.get_secrets(["name", "nothing"]) == {"name": "value", "nothing": None}
assert run.get_secrets([]) == {}
refused(lambda: run.get_secret("nothing"), "There is no secret 'nothing'", "set_secret")
refused(lambda: run.get_secret(7), "must be text")
refused(lambda: run.get_secrets("name"), "must be a list")
vault = run.experiment.workspace.get_default_keyvault()
assert vault.get_secret("name") == "value"
assert vault.get_secrets(["wide"]) == run.get_secrets(["wide"])
assert vault.list_secrets() == [{"name": "name"}, {"name": "wide"}]
refused(lambda: vault.set_secret("a", "b"), "cannot set")
refused(lambda: vault.set_secrets({"a": "b"}), "cannot set")
refused(lambda: vault.delete_secret("a"), "cannot delete")
refused(lambda: vault.delete_secrets(["a"]), "cannot delete")
set_diagnostics_collection(send_diagnostics=False)
"""

OFFLINE = """
from azureml.core import Run
for deed in (lambda: Run.get_context().get_secret("name"), lambda: Run.get_context().get_secrets(["name"])):
    try: deed()
    except Exception as error: print(error.message)
"""


@each_python
def test_reading(version: str, door: FakeDoor, job_env: Mapping[str, str], run_script: RunScript) -> None:
    door.secrets.update({"name": "value", "wide": "Schlüssel"})
    done = run_script(python(version), SCRIPT, job_env)
    assert done.stdout == "Roost sends no diagnostics, whatever is set here.\n"


@each_python
def test_offline(version: str, job_env: dict[str, str], run_script: RunScript, tmp_path: Path) -> None:
    for name in ("ROOST_RUN_ID", "ROOST_SPOOL"):
        del job_env[name]
    done = run_script(python(version), OFFLINE, job_env)
    assert done.stdout.splitlines() == ["There is no run here, and so no key vault to read 'name' from."] * 2
