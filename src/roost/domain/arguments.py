"""The arguments of a run's command line by name, and the order of values of many runs. Pure."""

import math
import shlex
from collections.abc import Mapping, Sequence


def by_name(words: Sequence[str]) -> dict[str, str]:
    """Arguments by name: `--lr 0.1` and `--lr=0.1` are equal; arguments without a name are numbered."""
    found: dict[str, str] = {}
    place, at = 0, 0
    while at < len(words):
        word = words[at]
        if word.startswith("-") and not _is_number(word):
            name, equals, value = word.partition("=")
            if not equals and at + 1 < len(words) and (not words[at + 1].startswith("-") or _is_number(words[at + 1])):
                at += 1
                value = words[at]
            found[name] = value or ("yes" if not equals else "")
        else:
            place += 1
            found[f"#{place}"] = word
        at += 1
    return found


def parameters(arguments: Sequence[str], command: Sequence[str] = (), shell: bool = False) -> dict[str, str]:
    """A run's parameters: its named arguments without their dashes, `lr` for `--lr`; of a script or of a command."""
    words = list(arguments)
    if command:
        words = _split(command[0]) if shell else list(command[1:])
    return {name.lstrip("-"): value for name, value in by_name(words).items() if name.lstrip("-")[:1] not in ("", "#")}


def in_order(values: Mapping[int, object], descending: bool = False) -> list[int]:
    """The keys sorted by their values: numbers, then words, then values without an order (nothing, NaN); of equal values the
    higher key comes first."""
    newest = sorted(values, reverse=True)
    numbers = {at: number for at in newest if (number := _value(values[at])) is not None and not math.isnan(number)}
    words = {at: str(values[at]) for at in newest if _value(values[at]) is None and values[at] not in (None, "")}
    placed = [
        *sorted(numbers, key=numbers.__getitem__, reverse=descending),
        *sorted(words, key=words.__getitem__, reverse=descending),
    ]
    return [*placed, *(at for at in newest if at not in numbers and at not in words)]


def _value(value: object) -> float | None:
    if isinstance(value, int | float):
        return float(value)
    return _number(value) if isinstance(value, str) else None


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # a quote that is not closed
        return text.split()


def _is_number(word: str) -> bool:
    return _number(word) is not None


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None
