"""Where the console script begins: the commands take a moment to load, in which Ctrl-C ends it as quietly as later."""

import sys


def main() -> None:
    try:
        from roost.cli import main as commands  # noqa: PLC0415 - this is the moment
    except KeyboardInterrupt:
        sys.exit(130)
    commands.main()
