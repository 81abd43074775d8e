"""Where the console script begins: the parser takes a moment to load, in which Ctrl-C ends it as quietly as later."""

import sys


def main() -> None:
    try:
        from roost.cli import main as parser  # noqa: PLC0415 - this is the moment
    except KeyboardInterrupt:
        sys.exit(130)
    parser.main()
