"""Secrets of a workspace: what is known of one without its value. What of a text must not be shown: `secret_forms.py`."""

import re
from dataclasses import dataclass

from roost.domain.errors import InvalidInput

MAX_VALUE = 25_000
"""Bytes of a value, as Azure's key vault has it."""
_NAME = re.compile(r"[0-9a-zA-Z-]{1,127}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Secret:
    """A secret without its value."""

    workspace: str
    name: str
    user: str
    """Who set it last."""
    created_at: float
    updated_at: float


def checked_name(name: object) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidInput(f"Secret name {name!r} is not allowed.", hint="Use 1 to 127 letters, digits or `-`.")
    return name


def checked_value(name: str, value: object) -> str:
    """The value itself is never part of an error."""
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
