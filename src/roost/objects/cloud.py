"""Object stores through obstore: Azure Blob storage (and Data Lake Storage Gen2), S3, Google Cloud Storage. Loaded by the first
datastore that needs it.

A store without a credential sends no credential: it never uses one of the control plane's own machine.
"""

import json
import os
import re
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeAlias

import obstore
from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError
from obstore.store import AzureStore, GCSStore, S3Store

from roost.domain import names
from roost.domain.datastores import DatastoreKind
from roost.domain.errors import Conflict, InvalidInput, NotFound, RoostError, Unavailable
from roost.objects.base import Found

Store: TypeAlias = AzureStore | S3Store | GCSStore
SIGNED_FOR = timedelta(hours=12)
_PIECE = 8 * 1024 * 1024
_RETRY: Any = {"max_retries": 3, "retry_timeout": timedelta(seconds=20)}
_OWN = ("AWS_", "AZURE_", "GOOGLE_", "MSI_", "IDENTITY_")
"""Prefixes of the control plane's own variables that the library would read and mix with a datastore's settings."""
_opening = threading.Lock()
_PLAIN = re.compile(r"[A-Za-z0-9/._~-]+", re.ASCII)
"""Paths that need no quoting in an address. Others are not signed for Azure: the library signs them quoted, Azure unquoted."""
_STATUS = re.compile(r"\b([45]\d\d) (?:[A-Z][A-Za-z]+ ?)+")
_CODE = re.compile(r"<Code>(\w{1,80})</Code>")
_NO_ANSWER = " - HTTP error: "
_PANIC = "PanicException"
"""Compared by name, since its module, pyo3_runtime, cannot be imported."""
_QUERY = re.compile(r"\?[^\s\"'<>),]+")


class CloudStorage:
    def __init__(self, name: str, store: Store, *, prefix: str = "", signs: bool, hidden: Iterable[str] = ()) -> None:
        """`name`: for errors; `hidden`: texts that must never be in an error; `signs`: True to return signed addresses."""
        self._name = name
        self._store = store
        self._prefix = f"{prefix}/" if prefix else ""
        self._signs = signs
        self._is_azure = isinstance(store, AzureStore)
        self._hidden = tuple(hidden)

    def list(self, path: str) -> Iterator[Found]:
        if path and (found := self.head(path)) is not None:
            yield found
            return
        with self._told(path):
            for page in obstore.list(self._store, (self._prefix + path).rstrip("/") or None, chunk_size=1000):
                for each in page:
                    if names.PART in each["path"] and each["path"].rpartition("/")[2].startswith(names.PART):
                        continue  # an unfinished file of a folder that was copied here
                    if each["size"] or not each["path"].endswith("/"):  # an empty "a/" stands for a folder
                        yield self._found(each)

    def head(self, path: str) -> Found | None:
        with self._told(path):
            try:
                return self._found(obstore.head(self._store, self._prefix + path))
            except FileNotFoundError:
                return None

    def read(self, found: Found, offset: int, length: int) -> Iterator[bytes]:
        end = offset + length
        while offset < end:
            with self._told(found.path):
                answer = obstore.get(
                    self._store,
                    self._prefix + found.path,
                    options={"range": (offset, min(end, offset + _PIECE))},
                )
                if found.etag and _quoted(answer.meta["e_tag"]) != found.etag:
                    raise self._changed(found.path)
                piece = bytes(answer.bytes())
            if not piece:
                raise self._changed(found.path)
            offset += len(piece)
            yield piece

    def write(self, path: str, pieces: Iterable[bytes | memoryview]) -> int:
        size = 0

        def counted() -> Iterator[bytes]:
            nonlocal size
            for piece in pieces:
                size += len(piece)
                yield bytes(piece)

        with self._told(path):
            obstore.put(self._store, self._prefix + path, counted(), chunk_size=_PIECE)
        return size

    def local(self, path: str) -> str:  # noqa: ARG002 - it is elsewhere
        return ""

    def addresses(self, paths: Sequence[str]) -> Sequence[str]:
        whole = [self._prefix + path for path in paths]
        signed = [path for path in whole if self._signs and (_PLAIN.fullmatch(path) or not self._is_azure)]
        if not signed:
            return [""] * len(paths)
        with self._told(""):
            found = dict(zip(signed, obstore.sign(self._store, "GET", signed, SIGNED_FOR), strict=True))
        return [found.get(path, "") for path in whole]

    def _changed(self, path: str) -> Conflict:
        return Conflict(f"File {path!r} of datastore {self._name!r} became another while it was read.")

    def _found(self, each: Mapping[str, Any]) -> Found:
        path = str(each["path"])[len(self._prefix) :]
        if names.path(path) != path:
            raise InvalidInput(f"Datastore {self._name!r} has a file {path!r}, which cannot be a path.")
        return Found(path, int(each["size"]), _quoted(each["e_tag"]), each["last_modified"].timestamp())

    @contextmanager
    def _told(self, path: str) -> Generator[None]:
        """Turns the library's errors into ours, without secrets."""
        where = f"Datastore {self._name!r}" + (f", at {path!r}," if path else "")
        try:
            with _panics_as_errors(where):
                yield
        except RoostError:
            raise
        except FileNotFoundError:
            raise NotFound(f"{where} has no such file, container or bucket.") from None
        except (BaseError, OSError) as error:
            text = str(error).partition("\n\nDebug source")[0]
            status = _STATUS.search(text)
            if isinstance(error, UnauthenticatedError | PermissionDeniedError) or (
                status and status[1] in ("401", "403")
            ):
                raise Conflict(
                    f"{where} refuses: {self._plain(text)}.",
                    hint="Register it again with a credential that may do this (overwrite=True).",
                    cli_hint="Register it again with a credential that may do this: --overwrite.",
                ) from None
            if status and status[1] == "416":  # the file is shorter than requested
                raise self._changed(path) from None
            if status and status[1] == "404":
                raise NotFound(
                    f"{where} has no such container or bucket: {self._plain(text)}.",
                    hint="Look at the names that it was registered with.",
                ) from None
            raise Unavailable(
                f"{where} cannot be used: {self._plain(text)}.",
                hint="Look at its endpoint, and whether the control plane's machine reaches it.",
            ) from None

    def _plain(self, text: str) -> str:
        """An answer's status and code, without its body; else the library's text, without queries."""
        if status := _STATUS.search(text):
            code = _CODE.search(text)
            return f"it answers {status[0]}" + (f" ({code[1]})" if code else "")
        if _NO_ANSWER in text:
            return f"it does not answer ({text.rpartition(_NO_ANSWER)[2][:200].strip()})"
        text = _QUERY.sub("?…", text)
        for value in self._hidden:
            text = text.replace(value, "***")
        return " ".join(text.split())[:500]


def _quoted(etag: str | None) -> str:
    """The etag in a header's form: Azure's lists omit the quotes."""
    return f'"{etag.strip(chr(34))}"' if etag and not etag.startswith("W/") else etag or ""


def open_place(
    name: str, kind: DatastoreKind, settings: Mapping[str, str], credential: Mapping[str, str]
) -> CloudStorage:
    """The store that these settings describe; InvalidInput when the library rejects them."""
    makers: dict[DatastoreKind, Callable[[], Store]] = {
        DatastoreKind.AZURE_BLOB: lambda: _azure(settings, credential),
        DatastoreKind.S3: lambda: _s3(settings, credential),
        DatastoreKind.GCS: lambda: _gcs(settings, credential),
    }
    try:
        with _opening, _without_own_variables(), _panics_as_errors(f"Datastore {name!r}"):
            store = makers[kind]()
    except (BaseError, ValueError, OSError):  # its text may contain the credential
        raise InvalidInput(
            f"The settings of datastore {name!r} do not fit together.", hint="Look at its endpoint and its credential."
        ) from None
    signs = bool(credential) and "sas_token" not in credential and settings.get("relay") != "true"
    hidden = [value for value in credential.values() if len(value) >= 4]
    return CloudStorage(name, store, prefix=settings.get("prefix", "").strip("/"), signs=signs, hidden=hidden)


@contextmanager
def _panics_as_errors(where: str) -> Generator[None]:
    """Turns a panic of the library's Rust code, which is not an Exception and would pass every handler, into an error. Its text
    may contain a credential, so it is not repeated."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != _PANIC:
            raise
        raise Unavailable(
            f"{where} cannot be used: the object-store library broke off at its settings or its credential.",
            hint="Register it again, with a credential that holds no line breaks or other odd characters.",
        ) from None


@contextmanager
def _without_own_variables() -> Generator[None]:
    aside = {key: value for key, value in os.environ.items() if key.startswith(_OWN)}
    for key in aside:
        del os.environ[key]
    try:
        yield
    finally:
        os.environ.update(aside)


def _client(settings: Mapping[str, str]) -> Any:
    plain = settings.get("endpoint", "").startswith("http://")
    return {"timeout": "120s", "connect_timeout": "10s", **({"allow_http": True} if plain else {})}


def _azure(settings: Mapping[str, str], credential: Mapping[str, str]) -> Store:
    words = {"account_key": "account_key", "sas_token": "sas_key"}
    given: dict[str, Any] = {words.get(key, key): value for key, value in credential.items()}
    if "sas_key" in given:
        given["sas_key"] = str(given["sas_key"]).lstrip("?")
    if settings.get("endpoint"):
        given["endpoint"] = settings["endpoint"]
    return AzureStore(
        settings["container"],
        account_name=settings["account"],
        skip_signature=not credential,
        client_options=_client(settings),
        retry_config=_RETRY,
        **given,
    )


def _s3(settings: Mapping[str, str], credential: Mapping[str, str]) -> Store:
    given: dict[str, Any] = {**credential}
    if settings.get("endpoint"):
        given["endpoint"] = settings["endpoint"]
    return S3Store(
        settings["bucket"],
        region=settings.get("region") or "us-east-1",
        skip_signature=not credential,
        client_options=_client(settings),
        retry_config=_RETRY,
        **given,
    )


def _gcs(settings: Mapping[str, str], credential: Mapping[str, str]) -> Store:
    given: dict[str, Any] = {**credential}
    if given:
        key = json.loads(given["service_account_key"])  # ValueError when it is not a key from Google
        if not isinstance(key, dict) or "gcs_base_url" in key:  # an endpoint that was not checked
            raise ValueError("service_account_key")
    if settings.get("endpoint"):
        given["base_url"] = settings["endpoint"]
    return GCSStore(
        settings["bucket"],
        skip_signature=not credential,
        client_options=_client(settings),
        retry_config=_RETRY,
        **given,
    )
