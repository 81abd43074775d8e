"""Fills in arguments on the node: `$VAR` and `${VAR}` with the variables of the process, and tokens of data with paths. Pure, and
without a shell."""

import re
import shlex
from collections.abc import Iterable, Mapping

from roost_job import mpi


def expand(arguments: Iterable[str], environment: Mapping[str, str]) -> tuple[str, ...]:
    """The arguments with their variables filled in. An unknown variable stays unchanged, and one argument stays one argument."""
    return tuple(mpi.expand(argument, environment) for argument in arguments)


def fill(arguments: Iterable[str], tokens: Mapping[str, str], *, shell: bool = False) -> tuple[str, ...]:
    """The arguments with each token replaced by its value, anywhere in them; quoted when a shell reads them."""
    if not tokens:
        return tuple(arguments)
    longest_first = sorted(tokens, key=len, reverse=True)
    pattern = re.compile("|".join(re.escape(token) for token in longest_first))

    def value(match: re.Match[str]) -> str:
        return shlex.quote(tokens[match[0]]) if shell else tokens[match[0]]

    return tuple(pattern.sub(value, argument) for argument in arguments)
