"""Tags and properties: the limits of their number and size, for the whole record and not by request. Pure.

They are read with every list: a record of many megabytes would slow the list for everybody.
"""

from collections.abc import Mapping

from roost.domain.errors import InvalidInput

MAX_COUNT = 1000
MAX_KEY = 255
MAX_VALUE = 8192
MAX_BYTES = 256 * 1024
"""Total of all names and values of one kind, in UTF-8."""
Labels = Mapping[str, str | None]


def check(word: str, labels: Labels) -> None:
    """InvalidInput when the labels exceed a limit; `word` names their kind in the error."""
    for key, value in labels.items():
        if not key or len(key) > MAX_KEY:
            raise InvalidInput(f"The name of a {word} has 1 to {MAX_KEY} characters, got {len(key)}: {key[:80]!r}.")
        if value is not None and len(value) > MAX_VALUE:
            raise InvalidInput(
                f"The value of {word} {key!r} has {len(value)} characters; at most {MAX_VALUE} are kept.",
                hint="Keep long text in a file.",
            )
    check_merged(word, {}, labels)


def check_merged(word: str, before: Labels, after: Labels) -> None:
    """InvalidInput when labels may not change from `before` to `after`. A record above a limit may still be reduced."""
    count, size = len(after), _size(after)
    several = "properties" if word == "property" else f"{word}s"
    if count > MAX_COUNT and count > len(before):
        raise InvalidInput(
            f"There would be {count} {several}; at most {MAX_COUNT} are kept.", hint="Remove some, or use a file."
        )
    if size > MAX_BYTES and size > _size(before):
        raise InvalidInput(
            f"All {several} together would have {size} bytes; at most {MAX_BYTES} are kept.",
            hint="Keep long text in a file.",
        )


def _size(labels: Labels) -> int:
    return sum(len(f"{key}{value or ''}".encode("utf-8", "surrogatepass")) for key, value in labels.items())
