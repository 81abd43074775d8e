"""`python -m roost.engines.host HOME`, on a host: the embedded engine of that machine, asked over standard input by the control
plane's engine `hosts`. One JSON object per line and one answer to each; it ends with its input, and the agents stay.
"""

import argparse
import contextlib
import json
import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from roost.domain.codec import decode
from roost.domain.errors import InvalidInput, RoostError, as_wire
from roost.domain.plans import Access, Plan
from roost.engines.local import LocalEngine
from roost.machine import umasks
from roost.version import VERSION


def answer(engine: LocalEngine, question: Mapping[str, Any]) -> Mapping[str, Any]:
    """The engine's answer to one request; an error in the wire's form."""
    try:
        match question.get("op"):
            case "start":
                return {"handle": engine.start(decode(Plan, question["plan"]), decode(Access, question["access"]))}
            case "status":
                return {"state": engine.status(question["handle"]).value}
            case "stop":
                engine.stop(question["handle"])
                return {}
            case op:
                raise InvalidInput(f"A host does not know {op!r}.")
    except RoostError as error:
        return as_wire(error)
    except Exception as error:  # noqa: BLE001 a host answers, whatever happens
        return as_wire(RoostError(f"{type(error).__name__}: {error}"))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m roost.engines.host", description=__doc__)
    parser.add_argument("home", type=Path, nargs="?", help="folder of this host's runs, environments and caches")
    parser.add_argument("--check", action="store_true", help="say the version, and that is all")
    given = parser.parse_args()
    # Standard output is for answers only: any other output goes to the control plane's log.
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    if given.check or given.home is None:
        print(json.dumps({"version": VERSION}), file=out)
        return
    logging.basicConfig(stream=sys.stderr, level=logging.INFO)
    umasks.close()
    home = given.home.expanduser().absolute()
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.environ["ROOST_HOME"] = str(home)
    with contextlib.closing(LocalEngine(home)) as engine:
        print(json.dumps({"version": VERSION}), file=out)
        for line in sys.stdin:
            print(json.dumps(answer(engine, json.loads(line))), file=out)


if __name__ == "__main__":
    main()
