"""Paths in a datastore with `*`, `?` and `**`: what they match, and the folder that all matches share. Pure.

A path without these characters is a file, or a folder with everything below it. An empty path is the whole datastore.
"""

import fnmatch
import re
from collections.abc import Callable, Sequence

from roost.domain import names
from roost.domain.errors import InvalidInput

_WILD = re.compile(r"[*?]")


def checked(path: object) -> str:
    """The normalised path or pattern, by the rules of `names.path`; empty for the whole datastore."""
    if not isinstance(path, str):
        raise InvalidInput(f"A path in a datastore must be text, got {type(path).__name__} {path!r}.")
    plain = path.lstrip("/")
    return names.path(plain) if plain.strip("./") else _whole(plain)


def _whole(path: str) -> str:
    if ".." in path.split("/"):
        raise InvalidInput(f"Path {path!r} is not allowed: it climbs out with `..`.")
    return ""


def is_pattern(path: str) -> bool:
    return bool(_WILD.search(path))


def base(path: str) -> str:
    """The part of a pattern before the first part with a wildcard; for a plain path, the whole path."""
    if not is_pattern(path):
        return path
    parts = path.split("/")
    first = next(place for place, part in enumerate(parts) if _WILD.search(part))
    return "/".join(parts[:first])


def matcher(path: str) -> Callable[[str], bool]:
    """Returns a test for whole paths. `**` matches any number of folders, `*` and `?` stay within one part. A path without a
    wildcard in its last part may be a folder, which matches with everything below it."""
    if not path:
        return bool
    parts = path.split("/")
    if parts[-1] == "**":
        parts = [*parts, "*"]
    if parts.count("**") <= 1 and all(part == "**" or part.count("*") <= 1 for part in parts):
        fits = re.compile(_regular(parts)).fullmatch
        return lambda name: fits(name) is not None
    tests = [None if part == "**" else _part(part) for part in parts]
    if not is_pattern(parts[-1]):
        tests.append(None)

    def meant(name: str) -> bool:
        return fit(tests, name.split("/"))

    return meant


def _regular(parts: Sequence[str]) -> str:
    """One regular expression for the pattern: much faster, but only for patterns with so few stars that backtracking stays
    small."""
    letters = {"*": "[^/]*", "?": "[^/]"}
    made = [
        "(?:[^/]+/)*" if part == "**" else "".join(letters.get(each) or re.escape(each) for each in part) + "/"
        for part in parts
    ]
    return "".join(made)[:-1] + ("" if is_pattern(parts[-1]) else "(?:/.+)?")


def _part(part: str) -> Callable[[str], object]:
    return re.compile(fnmatch.translate(part.replace("[", "[[]"))).match


def fit(tests: Sequence[Callable[[str], object] | None], parts: Sequence[str]) -> bool:
    """True when the parts match. The time grows with the product of both lengths, for every pattern."""
    reached = {0}
    for part in parts:
        after: set[int] = set()
        for place in _past_any(tests, reached):
            if place < len(tests):
                test = tests[place]
                if test is None:
                    after.add(place)
                elif test(part):
                    after.add(place + 1)
        reached = after
    return len(tests) in _past_any(tests, reached)


def _past_any(tests: Sequence[Callable[[str], object] | None], reached: set[int]) -> set[int]:
    found = set(reached)
    for place in sorted(reached):
        while place < len(tests) and tests[place] is None:
            place += 1
            found.add(place)
    return found


def common(folders: Sequence[str]) -> str:
    """The deepest folder that contains, or is, all of these."""
    if not folders:
        return ""
    shared = folders[0].split("/")
    for folder in folders[1:]:
        parts = folder.split("/")
        length = next((i for i, (a, b) in enumerate(zip(shared, parts)) if a != b), min(len(shared), len(parts)))  # noqa: B905
        shared = shared[:length]
    return "/".join(shared)


def below(path: str, folder: str) -> str:
    """The path relative to a folder that contains it."""
    return path[len(folder) + 1 :] if folder else path
