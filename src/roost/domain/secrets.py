"""Secrets of a workspace, without their values. `secret_forms.py` finds them in texts."""

import re
from dataclasses import dataclass

from roost.domain.errors import InvalidInput

MAX_VALUE = 25_000
"""Bytes of a value, as in Azure's key vault."""
_NAME = re.compile(r"[0-9a-zA-Z-]{1,127}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Secret:
    """A secret without its value."""

    workspace: str
    name: str
    user: str
    """The user who set it last."""
    created_at: float
    updated_at: float


def checked_name(name: object) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidInput(f"Secret name {name!r} is not allowed.", hint="Use 1 to 127 letters, digits or `-`.")
    return name


def checked_value(name: str, value: object) -> str:
    """The checked value. An error never contains the value."""
    if not isinstance(value, str):
        raise InvalidInput(f"The value of secret {name!r} must be text, got {type(value).__name__}.")
    if not value:
        raise InvalidInput(f"The value of secret {name!r} is empty.", hint="A secret has at least one character.")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise InvalidInput(f"The value of secret {name!r} holds half of a character.") from None
    if size > MAX_VALUE:
        raise InvalidInput(f"The value of secret {name!r} has {size} bytes; at most {MAX_VALUE} are kept.")
    return value
