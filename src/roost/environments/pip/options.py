"""Options among the requirements of an environment (`--extra-index-url …`), converted for uv: as in pip, they override the
machine's configuration. Only uv gets the passwords in them; lock and log do not.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

from roost.domain.requirements import is_variable

_WORDS = re.compile(r"(-i|-f|--?[A-Za-z-]+)(?:\s*=\s*|\s+|$)(.*)")
_VARIABLE = re.compile(r"\$\{([A-Z0-9_]+)\}")
_SECRET = re.compile(r"(?<=://)([^/\s]+)@")
_HIDDEN = "***"


@dataclass(frozen=True)
class Options:
    variables: Mapping[str, str] = field(default_factory=dict)
    """For uv's environment; overrides the machine's."""
    flags: tuple[str, ...] = ()
    only_binary: tuple[str, ...] = ()
    """Packages that must not be compiled."""
    kept: tuple[str, ...] = ()
    """The options as the lock has them: without passwords."""
    secrets: tuple[str, ...] = ()

    def hide(self, text: str) -> str:
        for secret in self.secrets:
            text = text.replace(secret, _HIDDEN)
        return text


def split(lines: Iterable[str]) -> tuple[list[str], list[str]]:
    """Options, and all the other lines."""
    options: list[str] = []
    others: list[str] = []
    for line in lines:
        (options if line.startswith("-") else others).append(line)
    return options, others


def read(
    options: Sequence[str],
    machine: Mapping[str, str],
    own: Mapping[str, str] = os.environ,
    lines: Iterable[str] = (),
) -> Options:
    """`machine` are uv's variables on this machine; `${NAME}` in an option or in one of the other `lines` is a variable of the
    node (`own`). In a line, uv itself replaces it, and the lock keeps it as written."""
    pairs = [(found[1], found[2].strip()) for found in map(_WORDS.fullmatch, options) if found]
    given: dict[str, list[str]] = {}
    for word, value in pairs:
        given.setdefault({"-i": "--index-url", "-f": "--find-links"}.get(word, word), []).append(_expand(value, own))
    variables: dict[str, str] = {}
    replaced = given.get("--index-url", [])
    if replaced:  # as in pip: it replaces all indexes of the machine
        variables |= {"UV_DEFAULT_INDEX": replaced[-1], "UV_INDEX": "", "UV_INDEX_URL": "", "UV_EXTRA_INDEX_URL": ""}
    extra = given.get("--extra-index-url", [])
    if extra:
        before = "" if replaced else machine.get("UV_INDEX", "")
        variables["UV_INDEX"] = " ".join([*before.split(), *extra])
        variables["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    if links := given.get("--find-links"):
        variables["UV_FIND_LINKS"] = ",".join([*filter(None, [machine.get("UV_FIND_LINKS", "")]), *links])
    if hosts := given.get("--trusted-host"):
        variables["UV_INSECURE_HOST"] = " ".join([*machine.get("UV_INSECURE_HOST", "").split(), *hosts])
    flags = [
        part for word in ("--no-binary", "--only-binary") for value in given.get(word, ()) for part in (word, value)
    ]
    flags += [
        *(["--prerelease", "allow"] if "--pre" in given else []),
        *(["--no-index"] if "--no-index" in given else []),
    ]
    named = [line for line in lines if _VARIABLE.search(line)]
    variables |= {name: own[name] for line in named for name in _VARIABLE.findall(line) if name in own}
    values = [value for _, value in pairs] + [word for line in named for word in line.split()]
    secrets = [secret for value in values for secret in _secrets(value, own)]
    return Options(
        variables=variables,
        flags=tuple(flags),
        only_binary=tuple(name.strip() for value in given.get("--only-binary", ()) for name in value.split(",")),
        kept=tuple(without_secrets(option) for option in options),
        secrets=tuple(sorted(set(secrets), key=len, reverse=True)),
    )


def without_secrets(option: str) -> str:
    """The option in a form that may be stored. A `${NAME}` is not a password."""
    return _SECRET.sub(lambda found: found[0] if is_variable(found[1]) else "", option)


def with_secrets(options: Iterable[str], known: Iterable[str]) -> list[str]:
    """A lock's options with the passwords of the environment's own options."""
    by_text = {without_secrets(option): option for option in known}
    return [by_text.get(option, option) for option in options]


def _expand(text: str, own: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda found: own.get(found[1], found[0]), text)


def _secrets(value: str, own: Mapping[str, str]) -> list[str]:
    """The passwords of an address, and a token that replaces name and password. A name beside a password is no secret, unless it
    is a variable."""
    words = [own.get(name, "") for found in _SECRET.findall(value) for name in _VARIABLE.findall(found)]
    for found in _SECRET.findall(_expand(value, own)):
        name, _, password = found.partition(":")
        words.append(password or name)
    return [form for word in words for form in (word, unquote(word)) if len(form) > 3 and not is_variable(form)]
