"""The run's folder on a node, `ROOST_HOME/runs/<seat>/`: every path of the agent, and its plan. The seat is the run's id, with
`+<node rank>` on all nodes but the first, and `~<attempt>` when the run was started again.

plan.json      plan and access, written by the engine (0600)       work/       the script's working copy
lock           held by keeper and agent as long as either lives    spool/      what the run's processes log
agent.json     the current agent: pid, start, errand, mark         staged/     uploads that have not arrived yet
ended.json     the script's end, as soon as it is known            std_log.txt, build_log.txt, agent.log
laid.json      the snapshot's files in ./outputs and ./logs        tmp/, box/  of a run in a container: its /tmp, its end
container.json the engine that has containers of the run
ranks/         logs of single processes, if there are several
secrets.json   values read from the key vault (0600)               masked/     copies of the logs without those values
inputs/        the data that the run reads, laid out or mounted    filled/     folders whose content becomes data
LEFT.txt       the reason why this folder stays, when the control plane has forgotten the run
"""

import json
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from roost.domain.codec import decode
from roost.domain.errors import Forbidden, InvalidInput
from roost.domain.plans import Access, Plan, mark, run_of, seat


@dataclass(frozen=True)
class Folder:
    root: Path

    @property
    def run_id(self) -> str:
        return run_of(self.root.name)

    @property
    def home(self) -> Path:
        return self.root.parent.parent

    @cached_property
    def mark(self) -> str:
        """The mark of the run's processes. The keeper reads it first, since it cannot be computed once the home is deleted."""
        found = os.stat(self.home)
        return mark(self.root.name, found.st_dev, found.st_ino)

    @property
    def plan(self) -> Path:
        return self.root / "plan.json"

    @property
    def is_gone(self) -> bool:
        """True once the folder was deleted, even if other files were made there since."""
        return not self.plan.exists()

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def spool(self) -> Path:
        return self.root / "spool"

    @property
    def tmp(self) -> Path:
        return self.root / "tmp"

    @property
    def container(self) -> Path:
        return self.root / "container.json"

    @property
    def staged(self) -> Path:
        return self.root / "staged"

    @property
    def secrets(self) -> Path:
        return self.root / "secrets.json"

    @property
    def masked(self) -> Path:
        return self.root / "masked"

    @property
    def inputs(self) -> Path:
        return self.root / "inputs"

    @property
    def filled(self) -> Path:
        return self.root / "filled"

    @property
    def std_log(self) -> Path:
        return self.root / "std_log.txt"

    @property
    def ranks(self) -> Path:
        """Logs of single processes, `<rank>.txt`, if there are several."""
        return self.root / "ranks"

    @property
    def build_log(self) -> Path:
        return self.root / "build_log.txt"

    @property
    def agent_log(self) -> Path:
        return self.root / "agent.log"

    @property
    def agent(self) -> Path:
        return self.root / "agent.json"

    @property
    def ended(self) -> Path:
        return self.root / "ended.json"

    @property
    def left(self) -> Path:
        return self.root / "LEFT.txt"

    @property
    def laid(self) -> Path:
        return self.root / "laid.json"

    def read_plan(self) -> tuple[Plan, Access]:
        try:
            data = json.loads(self.plan.read_bytes())
            return decode(Plan, data["plan"]), decode(Access, data["access"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InvalidInput(f"{self.plan} cannot be read: {error}.") from error


def shared(folder: Folder, attempt: int) -> Path:
    """The folder that a run's nodes share when they are on one machine."""
    return folder.home / "shared" / seat(folder.run_id, 0, attempt)


def make_private(folder: Path) -> None:
    """Makes a folder for sockets. Raises Forbidden when it belongs to another user, who may have made it first in `/tmp`."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat(follow_symlinks=False).st_uid != os.getuid():
        raise Forbidden(f"The folder {folder} of the run's socket belongs to somebody else.")
