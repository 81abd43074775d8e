"""The public facts of a datastore, in jobs and outside: the base of the SDK's `Datastore` and of the job's."""

from typing import Any, Mapping, NoReturn, Optional

from roost_job.exceptions import UserErrorException

_TYPES = {"folder": "Folder", "azure_blob": "AzureBlob", "s3": "S3", "gcs": "GCS", "http": "HTTP"}


class DatastoreFacts(object):
    """`_facts` is its record from the control plane, never with a credential; `_workspace` is its workspace."""

    _workspace: Any

    @property
    def _facts(self) -> Mapping[str, Any]:
        raise NotImplementedError

    @property
    def name(self) -> str:
        return str(self._facts["name"])

    @property
    def workspace(self) -> Any:
        return self._workspace

    @property
    def datastore_type(self) -> str:
        return _TYPES[self._facts["kind"]]

    @property
    def is_default(self) -> bool:
        return bool(self._facts.get("is_default"))

    @property
    def account_name(self) -> Optional[str]:
        """The account in Azure's storage; None elsewhere."""
        return self._setting("account")

    @property
    def container_name(self) -> Optional[str]:
        """The container or bucket; None for a folder or an address."""
        return self._setting("container") or self._setting("bucket")

    @property
    def endpoint(self) -> Optional[str]:
        return self._setting("endpoint")

    @property
    def protocol(self) -> str:
        """http or https; file for a folder."""
        if self._facts["kind"] == "folder":
            return "file"
        return (self._setting("endpoint") or self._setting("url") or "https:").partition(":")[0]

    @property
    def account_key(self) -> NoReturn:
        self._hide("account_key")

    @property
    def sas_token(self) -> NoReturn:
        self._hide("sas_token")

    def _setting(self, name: str) -> Optional[str]:
        found: Optional[str] = (self._facts.get("settings") or {}).get(name)
        return found

    def _hide(self, what: str) -> NoReturn:
        raise UserErrorException(
            "%s of datastore %r is not shown: a credential that was registered never leaves the control plane."
            % (what, self.name),
            hint="Keep your own copy of it in the key vault: workspace.get_default_keyvault().",
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DatastoreFacts):
            return NotImplemented
        return (self.name, self._workspace.name) == (other.name, other._workspace.name)

    def __hash__(self) -> int:
        return hash((self.name, self._workspace.name))

    def __repr__(self) -> str:
        facts = dict(self._facts.get("settings") or {})
        said = [("name", self.name), ("type", self.datastore_type)] + list(facts.items())
        return "Datastore(%s)" % ", ".join("%s=%r" % pair for pair in said)
