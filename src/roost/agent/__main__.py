"""`python -m roost.agent FOLDER --lock FD`: one agent in the foreground, for engines that have no warm process."""

import argparse
from pathlib import Path

from roost.agent.keeper import keep


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m roost.agent", description=__doc__)
    parser.add_argument("folder", type=Path, help="the run's folder, with its plan")
    parser.add_argument("--lock", type=int, required=True, help="the folder's lock, held, as a file descriptor")
    keep(parser.parse_args().folder, daemon=False)


if __name__ == "__main__":
    main()
