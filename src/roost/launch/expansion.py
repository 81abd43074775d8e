"""`$VAR` and `${VAR}` in arguments, expanded on the node with the variables of the process. Pure, and no shell anywhere."""

import re
from collections.abc import Iterable, Mapping

_VARIABLE = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})")


def expand(arguments: Iterable[str], environment: Mapping[str, str]) -> tuple[str, ...]:
    """The arguments with their variables filled in. An unknown one stays as it is, and one argument stays one argument."""

    def value(match: re.Match[str]) -> str:
        return environment.get(match[1] or match[2], match[0])

    return tuple(_VARIABLE.sub(value, argument) for argument in arguments)
