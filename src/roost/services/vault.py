"""Sealing: AES-256-GCM under one key, which is in the home folder and never in the database. A sealed value is bound to its
workspace and name, so that rows cannot be swapped. The library is loaded at first use.
"""

import hashlib
import os
import threading
from contextlib import suppress
from pathlib import Path

from roost.domain.errors import Conflict

_VERSION = b"\x01"
_KEY, _KEY_ID, _NONCE = 32, 8, 12
_making = threading.Lock()


def seal(key_file: Path, workspace: str, name: str, value: str, *, may_make_key: bool) -> bytes:
    """Returns the sealed value. `may_make_key`: nothing was sealed before, so a missing key may be made."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - loaded only when secrets are used

    key = _read(key_file) or (_make(key_file) if may_make_key else None)
    if key is None:
        raise _lost(key_file)
    nonce = os.urandom(_NONCE)
    sealed = AESGCM(key).encrypt(nonce, value.encode(), _bound(workspace, name))
    return _VERSION + _id(key) + nonce + sealed


def unseal(key_file: Path, workspace: str, name: str, sealed: bytes) -> str:
    """Returns the value; Conflict when the key is missing or another one, or when the row was not sealed under this name."""
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - as above
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

    key = _read(key_file)
    if key is None:
        raise _lost(key_file)
    start = len(_VERSION) + _KEY_ID
    if sealed[: len(_VERSION)] != _VERSION or sealed[len(_VERSION) : start] != _id(key):
        raise Conflict(
            f"Secret {name!r} of workspace {workspace!r} was sealed with another key than {key_file}.",
            hint="Put the key file of that time back, or set the secret again.",
        )
    nonce, body = sealed[start : start + _NONCE], sealed[start + _NONCE :]
    try:
        return AESGCM(key).decrypt(nonce, body, _bound(workspace, name)).decode()
    except InvalidTag:
        raise Conflict(
            f"Secret {name!r} of workspace {workspace!r} is damaged: it is not what was stored under this name.",
            hint="Set it again.",
        ) from None


def _bound(workspace: str, name: str) -> bytes:
    return f"roost/secret\0{workspace}\0{name}".encode()


def _id(key: bytes) -> bytes:
    return hashlib.sha256(b"roost/key\0" + key).digest()[:_KEY_ID]


def _lost(key_file: Path) -> Conflict:
    return Conflict(
        f"The key of the key vault, {key_file}, is gone or damaged; what was sealed with it cannot be read.",
        hint="Put the file back from a back-up, or delete the secrets and set them again.",
    )


def _read(key_file: Path) -> bytes | None:
    try:
        key = key_file.read_bytes()
    except FileNotFoundError:
        return None
    if len(key) != _KEY:
        raise _lost(key_file)
    return key


def _make(key_file: Path) -> bytes:
    """Makes a key that only its owner can read; of two makers at once, the second uses the first one's key."""
    with _making:
        part = key_file.with_name(f".{key_file.name}.{os.getpid()}.part")
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(os.urandom(_KEY))
            file.flush()
            os.fsync(file.fileno())
        try:
            with suppress(FileExistsError):
                os.link(part, key_file)
        finally:
            part.unlink()
    key = _read(key_file)
    assert key is not None
    return key
