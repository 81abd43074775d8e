"""Packages that must be compiled: rules, which are data (compiled.toml), and the resulting plan for one environment. Pure, apart
from reading the files; `wheels.py` executes a plan.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from roost.domain.errors import InvalidInput
from roost.environments.base import BuildFailed

RULES = Path(__file__).with_name("compiled.toml")
OWN_RULES = "build-rules.toml"
_PIN = re.compile(r"^([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?(?:==([^\s;\\]+)| @ )", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?")
_LINE = "# compile "
_CLAUSE = re.compile(r"\s*(>=|<=|==|!=|>|<)\s*(\d+(?:\.\d+)*)\s*")


@dataclass(frozen=True, kw_only=True)
class Need:
    """A part of the machine that a compiler needs."""

    program: str
    """It is present when this program is."""
    install: str
    """The command that installs it."""
    what: str
    packages: tuple[str, ...] = ()
    """Any of these packages in the environment provides it too."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How one package of one environment is compiled. It is part of the lock, so that the lock is built the same way years
    later."""

    package: str
    version: str
    against: tuple[str, ...] = ()
    """The environment's frameworks that it is compiled for, as `name==version`."""
    build: tuple[str, ...] = ()
    """The packages that are installed for the build, beside the environment: locked, with hashes."""
    needs: tuple[Need, ...] = ()
    """What the machine must have."""
    variables: Mapping[str, str] = field(default_factory=dict)
    overrides: tuple[str, ...] = ()
    flags: str = ""
    """For the C++ compiler, after its own flags."""
    runpath: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()
    """Names in modules, `module.name`, that are None in the build's Pythons on a node without a GPU."""
    unless: tuple[str, ...] = ()
    """Prefixes of the node's variables that switch the hiding off."""

    @property
    def name(self) -> str:
        return f"{self.package}=={self.version}"

    @property
    def line(self) -> str:
        """The plan's line in a lock's body: a comment for other programs."""
        facts = {key: value for key, value in asdict(self).items() if value}
        return _LINE + json.dumps(facts, sort_keys=True)


@dataclass(frozen=True)
class Rules:
    """All rules; the machine's own come before Roost's."""

    packages: Mapping[str, Mapping[str, Any]]
    needs: Mapping[str, Need]

    def metadata(self) -> str:
        """Metadata of these packages for uv (a `uv.toml`), so that uv need not run their code."""
        entries = []
        for name, package in sorted(self.packages.items()):
            if "requires" in package:
                extras = json.dumps(package.get("extras", []))
                entries.append(
                    f"[[dependency-metadata]]\nname = {json.dumps(name)}\n"
                    f"requires-dist = {json.dumps(package['requires'])}\nprovides-extra = {extras}\n"
                )
        return "\n".join(entries)

    def takes_wheels(self, package: str) -> bool:
        """True when an index's wheel is as good as one that is compiled here."""
        return bool(self.packages[package].get("wheels"))

    def always(self, lines: Iterable[str]) -> list[str]:
        """The packages in requirement lines that are always compiled."""
        named = (canonical(found[0]) for found in map(_NAME.match, lines) if found)
        return [name for name in named if name in self.packages and not self.takes_wheels(name)]

    def plan(self, package: str, pins: Mapping[str, str]) -> Plan:
        """The plan for one package of an environment with these pins; its `build` is not locked yet. BuildFailed names a missing
        part."""
        known = self.packages[package]
        version = pins[package]
        rule = next((each for each in known.get("rule", ()) if fits(version, each.get("versions", ""))), None)
        if rule is None:
            raise BuildFailed(
                f"It is not known how {package} {version} is compiled.", hint="Ask for another version of it."
            )
        variables = dict(rule.get("variables", {}))
        against, flags = _frameworks(package, known, rule, pins, variables)
        return Plan(
            package=package,
            version=version,
            against=tuple(against),
            build=tuple(rule.get("build", ())),
            needs=tuple(self.needs[each] for each in rule.get("needs", ())),
            variables=variables,
            overrides=tuple(rule.get("overrides", ())),
            flags=" ".join(flags),
            runpath=tuple(rule.get("runpath", ())),
            hide=tuple(rule.get("hide", ())),
            unless=tuple(rule.get("unless", ())),
        )


def _frameworks(
    package: str, known: Mapping[str, Any], rule: Mapping[str, Any], pins: Mapping[str, str], variables: dict[str, str]
) -> tuple[list[str], list[str]]:
    """The frameworks that are present, and the compiler's flags for them; adds their variables to `variables`."""
    words = rule.get("frameworks", ())
    against: list[str] = []
    flags: list[str] = []
    for word in words:
        framework = known["framework"][word]
        found = next((name for name in framework["packages"] if name in pins), "")
        variables.update(framework.get("present" if found else "absent", {}))
        if found:
            against.append(f"{found}=={pins[found]}")
            flags += [each["add"] for each in framework.get("flags", ()) if fits(pins[found], each["versions"])]
    if words and not against:
        names = " or ".join(known["framework"][word]["packages"][0] for word in words)
        raise BuildFailed(
            f"{package} {pins[package]} is compiled for a framework, and the environment has none.",
            hint=f"Name {names} beside {package}.",
        )
    return against, list(dict.fromkeys(flags))


def load(*own: Path) -> Rules:
    """Roost's rules and those of further files; missing files are skipped. InvalidInput names a wrong file."""
    packages: dict[str, Mapping[str, Any]] = {}
    needs: dict[str, Need] = {}
    for path in (RULES, *own):
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            continue
        try:
            found = tomllib.loads(text)
            needs |= {name: _need(each) for name, each in found.get("need", {}).items()}
            packages |= {canonical(name): each for name, each in found.get("package", {}).items()}
            _check(packages, needs)
        except (tomllib.TOMLDecodeError, TypeError, KeyError, ValueError) as error:
            words = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
            raise InvalidInput(
                f"{path} does not say how packages are compiled: {words}.",
                hint="Its form is told in the guide on environments, under packages that are compiled.",
            ) from None
    return Rules(packages, needs)


def _need(given: Mapping[str, Any]) -> Need:
    unknown = set(given) - {each.name for each in fields(Need)}
    if unknown:
        raise ValueError(f"unknown words {', '.join(sorted(unknown))}")
    return Need(**{**given, "packages": tuple(given.get("packages", ()))})


def _check(packages: Mapping[str, Mapping[str, Any]], needs: Mapping[str, Need]) -> None:
    """KeyError or ValueError for a rule that refers to something undefined."""
    words = {"versions", "build", "needs", "variables", "overrides", "runpath", "hide", "unless", "frameworks"}
    for name, package in packages.items():
        for rule in package.get("rule", ()):
            if set(rule) - words:
                raise ValueError(f"unknown words {', '.join(sorted(set(rule) - words))} in a rule of {name}")
            fits("0", rule.get("versions", ""))
            for need in rule.get("needs", ()):
                needs[need]
            for framework in rule.get("frameworks", ()):
                package["framework"][framework]["packages"][0]


def fits(version: str, wanted: str) -> bool:
    """True when a version is in a range such as `>=0.20,<0.29`; only its numbers count, an empty range is any."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    have = _numbers(found[0] if found else "0")
    for clause in filter(None, (part.strip() for part in wanted.split(","))):
        match = _CLAUSE.fullmatch(clause)
        if match is None:
            raise ValueError(f"{wanted!r} is no range of versions")
        limit = _numbers(match[2])
        fine = {
            ">=": have >= limit,
            "<=": have <= limit,
            "==": have == limit,
            "!=": have != limit,
            ">": have > limit,
            "<": have < limit,
        }[match[1]]
        if not fine:
            return False
    return True


def _numbers(text: str) -> tuple[int, ...]:
    numbers = [int(part) for part in text.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(body: str) -> dict[str, str]:
    """Names and versions of a lock's lines; the version is empty for a package from an address."""
    return {canonical(name): version for name, version in _PIN.findall(body)}


def plans(body: str) -> list[Plan]:
    """The plans in a lock's body."""
    found = []
    for line in body.splitlines():
        if line.startswith(_LINE):
            facts: dict[str, Any] = json.loads(line.removeprefix(_LINE))
            values: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in facts.items()}
            values["needs"] = tuple(_need(each) for each in values.get("needs", ()))
            found.append(Plan(**values))
    return found


def entry(body: str, package: str) -> str:
    """The lines of one package, with its hashes; empty when it is not in the body."""
    lines = iter(body.splitlines())
    for line in lines:
        found = _PIN.match(line)
        if found and canonical(found[1]) == package:
            kept = [line]
            while kept[-1].endswith("\\"):
                kept.append(next(lines))
            return "\n".join(kept)
    return ""


def without(body: str, packages: Sequence[str]) -> str:
    """The body without the lines of these packages, and without the plans."""
    for package in packages:
        lines = entry(body, package)
        body = body.replace(f"{lines}\n", "", 1) if lines else body
    return "".join(f"{line}\n" for line in body.splitlines() if not line.startswith(_LINE))
