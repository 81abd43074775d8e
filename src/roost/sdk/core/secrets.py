"""`Keyvault`: the secrets of a workspace. They are stored encrypted at the control plane; the logs of a run that reads one
hide it.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from roost.domain.errors import InvalidInput, NotFound
from roost.domain.secrets import checked_name, checked_value
from roost.transport.client import path_of
from roost_job.listing import some

if TYPE_CHECKING:
    from roost.sdk.core.workspaces import Workspace


class Keyvault:
    """The key vault of a workspace: `workspace.get_default_keyvault()`."""

    def __init__(self, workspace: "Workspace") -> None:
        self._workspace = workspace

    def set_secret(self, name: str, value: str) -> None:
        """Adds a secret or changes its value."""
        self.set_secrets({name: value})

    def set_secrets(self, secrets: Mapping[str, str]) -> None:
        """Sets all of them; when one is refused, none."""
        if not isinstance(secrets, Mapping):
            raise InvalidInput(f"secrets must be a dict, got {type(secrets).__name__}.", hint="{'name': 'value'}")
        given = {checked_name(name): checked_value(name, value) for name, value in secrets.items()}
        if given:
            self._workspace._connection.client.call("PUT", self._route(), json={"secrets": given})

    def get_secret(self, name: str) -> str:
        value = self.get_secrets([name])[name]
        if value is None:
            known = some((each["name"] for each in self.list_secrets()), 20)
            raise NotFound(
                f"There is no secret {name!r} in workspace {self._workspace.name!r}.",
                hint=f"There are: {known}." if known else "It has none yet; set_secret(name, value) adds one.",
                cli_hint="" if known else "It has none yet. Add one with: roost secret set NAME",
            )
        return value

    def get_secrets(self, secrets: Sequence[str]) -> dict[str, str | None]:
        """Values by name; None for a missing one."""
        if isinstance(secrets, str):
            raise InvalidInput(f"secrets must be a list of names, got the text {secrets!r}.", hint="['name']")
        wanted = [checked_name(name) for name in secrets]
        if not wanted:
            return {}
        answer = self._workspace._connection.client.call("GET", self._route("values"), params={"name": wanted})
        found: dict[str, str | None] = answer["secrets"]
        return found

    def list_secrets(self) -> list[dict[str, str]]:
        """`[{"name": …}, …]`, without values."""
        answer = self._workspace._connection.client.call("GET", self._route())
        return [{"name": each["name"]} for each in answer["secrets"]]

    def delete_secret(self, name: str) -> None:
        """Deletes a secret; does nothing when it does not exist."""
        checked_name(name)
        self._workspace._connection.client.call("DELETE", self._route(name))

    def delete_secrets(self, secrets: Sequence[str]) -> None:
        if isinstance(secrets, str):
            raise InvalidInput(f"secrets must be a list of names, got the text {secrets!r}.", hint="['name']")
        for name in [checked_name(name) for name in secrets]:
            self.delete_secret(name)

    def _route(self, *parts: str) -> str:
        return path_of("workspaces", self._workspace.name, "secrets", *parts)

    def __repr__(self) -> str:
        return f"Keyvault(workspace={self._workspace.name!r})"
