"""Secrets for a script: through its run, or through `run.experiment.workspace.get_default_keyvault()`."""

from typing import Any, Dict, List, NoReturn, Optional, Sequence

from roost_job.exceptions import UserErrorException


def read(link: Any, names: Sequence[str]) -> Dict[str, Optional[str]]:
    """Values by name; None for a missing one."""
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise UserErrorException("Names of secrets must be a list of texts, got %.80r." % (names,))
    found: Dict[str, Optional[str]] = link.ask("secrets", names=list(names)) if names else {}
    return found


def read_one(link: Any, name: str) -> str:
    if not isinstance(name, str):
        raise UserErrorException("A secret's name must be text, got %s." % type(name).__name__)
    value = read(link, [name])[name]
    if value is None:
        raise UserErrorException(
            "There is no secret %r in the workspace's key vault." % name,
            hint="Set it outside the run with: ws.get_default_keyvault().set_secret(%r, value)" % name,
        )
    return value


class RunSecrets(object):
    """The secret calls of a run. `_link` comes from the run."""

    _link: Any

    def get_secret(self, name: str) -> str:
        """The value of a secret of the run's workspace. A submitted run's logs hide it from then on."""
        return read_one(self._link, name)

    def get_secrets(self, secrets: Sequence[str]) -> Dict[str, Optional[str]]:
        """Values by name; None for a missing one."""
        return read(self._link, secrets)


class JobKeyvault(object):
    """The key vault of a job's workspace: a run can read it, but not change it."""

    def __init__(self, link: Any) -> None:
        self._link = link

    def get_secret(self, name: str) -> str:
        return read_one(self._link, name)

    def get_secrets(self, secrets: Sequence[str]) -> Dict[str, Optional[str]]:
        """Values by name; None for a missing one."""
        return read(self._link, secrets)

    def list_secrets(self) -> List[Dict[str, str]]:
        """`[{"name": …}, …]`."""
        return [{"name": name} for name in self._link.ask("secret_names")]

    def set_secret(self, name: str, value: str) -> None:  # noqa: ARG002 - the signature of the SDK's
        _refuse("set")

    def set_secrets(self, secrets: Dict[str, str]) -> None:  # noqa: ARG002
        _refuse("set")

    def delete_secret(self, name: str) -> None:  # noqa: ARG002
        _refuse("delete")

    def delete_secrets(self, secrets: Sequence[str]) -> None:  # noqa: ARG002
        _refuse("delete")


def _refuse(verb: str) -> NoReturn:
    raise UserErrorException(
        "A run cannot %s secrets: it may only read those of its workspace." % verb,
        hint="Do it outside of the run, with ws.get_default_keyvault().",
    )
