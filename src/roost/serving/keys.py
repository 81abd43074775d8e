"""Who may ask: keys, of which the front knows the hashes only, and tokens that carry their own end and a signature. Pure."""

import base64
import binascii
import hashlib
import hmac
import json
import math
import secrets
from collections.abc import Sequence

LONGEST = 4096
"""Bytes of a key or token that are looked at; more is refused unread."""


def new_key() -> str:
    """A key as people copy them: 32 letters and digits."""
    return secrets.token_hex(16)


def new_secret() -> str:
    """In hex, for signing tokens."""
    return secrets.token_hex(32)


def digest(key: str) -> str:
    """What front.json holds of a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def known(presented: bytes, digests: Sequence[str]) -> bool:
    """Whether this key is among them, in a time that does not tell how nearly."""
    if len(presented) > LONGEST:
        return False
    found = hashlib.sha256(presented).hexdigest()
    # Every digest is compared, so that the time tells neither which one it was nor how many there are before it.
    matches = [hmac.compare_digest(found, digest) for digest in digests]
    return any(matches)


def mint(secret: str, endpoint: str, expires_at: float) -> str:
    """A token for this endpoint (`workspace/name`), good until that time."""
    claims = json.dumps({"endpoint": endpoint, "expires": expires_at}, separators=(",", ":")).encode()
    body = base64.urlsafe_b64encode(claims).rstrip(b"=")
    return (body + b"." + _signature(secret, body)).decode("ascii")


def valid(presented: bytes, secret: str, endpoint: str, now: float) -> bool:
    """Whether it is a token of this endpoint that has not expired."""
    if not secret or len(presented) > LONGEST:
        return False
    body, _, signature = presented.partition(b".")
    if not hmac.compare_digest(_signature(secret, body), signature):
        return False
    try:
        claims = json.loads(base64.urlsafe_b64decode(body + b"=" * (-len(body) % 4)))
        expires = float(claims["expires"])
    except (ValueError, KeyError, TypeError, binascii.Error):
        return False
    return claims.get("endpoint") == endpoint and math.isfinite(expires) and now < expires


def _signature(secret: str, body: bytes) -> bytes:
    made = hmac.new(bytes.fromhex(secret), body, hashlib.sha256).digest()
    return base64.urlsafe_b64encode(made).rstrip(b"=")
