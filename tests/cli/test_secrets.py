"""`roost secret`: values come from stdin or a prompt, and are never shown."""

import json
from pathlib import Path

import pytest
from tests.cli.terminals import on_terminal
from tests.cli.test_cli import roost
from tests.shared.folders import tree


def test_what_is_wrong_starts_nothing(home: Path) -> None:
    assert "error: The value of secret 'key' is empty." in roost("secret", "set", "key", given="\n", code=1)
    assert "error: Secret name 'a_b' is not allowed." in roost("secret", "set", "a_b", given="x", code=1)
    roost("secret", "set", "key", "hunter22", code=2)
    assert not home.exists()


@pytest.mark.slow
def test_set_list_and_delete(home: Path, tmp_path: Path) -> None:
    assert "Secret db-password is set." in roost("secret", "set", "db-password", given="hunter22\n")
    asked = on_terminal(["secret", "set", "api-key"], typed="s3cret-word\n", after="Value of api-key: ")
    assert (asked.code, "Value of api-key: " in asked.text, "s3cret-word" in asked.text) == (0, True, False)
    assert roost("secret", "list") == "api-key\ndb-password\n"
    assert json.loads(roost("secret", "list", "--json")) == [{"name": "api-key"}, {"name": "db-password"}]
    code = "from azureml.core import Run\nrun = Run.get_context()\n"
    tree(tmp_path, {"read.py": code + "print(len(run.get_secret('db-password')), len(run.get_secret('api-key')))\n"})
    assert "8 11" in roost("submit", "read.py")
    assert "hint: Did you mean 'api-key'?" in roost("secret", "delete", "apikey", code=1)
    assert "Nobody is here to say yes" in roost("secret", "delete", "api-key", code=1)
    assert roost("secret", "delete", "api-key", "--yes") == "Secret api-key was deleted.\n"
    assert json.loads(roost("secret", "list", "--json")) == [{"name": "db-password"}]
