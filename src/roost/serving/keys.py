"""Access: keys, of which the front has only the hashes, and signed tokens that contain their expiry. Pure."""

import base64
import binascii
import hashlib
import hmac
import json
import math
import secrets
from collections.abc import Sequence

LONGEST = 4096
"""The longest key or token in bytes; a longer one is refused unread."""


def new_key() -> str:
    """A key that people can copy: 32 letters and digits."""
    return secrets.token_hex(16)


def new_secret() -> str:
    """In hex, for signing tokens."""
    return secrets.token_hex(32)


def digest(key: str) -> str:
    """The hash of a key in front.json."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def known(presented: bytes, digests: Sequence[str]) -> bool:
    """True when the key is among them; the time of the check does not reveal how similar it is."""
    if len(presented) > LONGEST:
        return False
    found = hashlib.sha256(presented).hexdigest()
    # Every digest is compared, so that the time reveals neither which one matched nor its position.
    matches = [hmac.compare_digest(found, digest) for digest in digests]
    return any(matches)


def mint(secret: str, endpoint: str, expires_at: float) -> str:
    """A token for this endpoint (`workspace/name`), valid until that time."""
    claims = json.dumps({"endpoint": endpoint, "expires": expires_at}, separators=(",", ":")).encode()
    body = base64.urlsafe_b64encode(claims).rstrip(b"=")
    return (body + b"." + _signature(secret, body)).decode("ascii")


def valid(presented: bytes, secret: str, endpoint: str, now: float) -> bool:
    """True for a token of this endpoint that has not expired."""
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
