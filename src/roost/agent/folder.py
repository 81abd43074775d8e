"""The run's folder on a node, `ROOST_HOME/runs/<seat>/`: every path the agent uses, and what it was sent to do. The seat is the
run's id; with `+<node rank>` on its further nodes, and `~<attempt>` when it was begun again.

plan.json      plan and access, written by the engine (0600)       work/       the script's working copy
lock           held by keeper and agent as long as either lives    spool/      what the run's processes log
agent.json     who works here now: pid, its start, errand, mark    staged/     uploads that have not arrived yet
ended.json     how the script ended, as soon as that is known      std_log.txt, build_log.txt, agent.log
laid.json      what came with the snapshot as ./outputs, ./logs    tmp/, box/  of a run in a container: its /tmp, its end
container.json which engine has containers of the run
ranks/         logs of single processes, where there are several
secrets.json   what it has read from the key vault (0600)          masked/     copies of its logs without that
inputs/        the data that it reads, laid out or mounted         filled/     folders whose content becomes data
LEFT.txt       why all of this is still here, when the control plane has forgotten the run
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
        """Of the run's processes; the keeper reads it first of all, for a home that is deleted cannot tell it any more."""
        found = os.stat(self.home)
        return mark(self.root.name, found.st_dev, found.st_ino)

    @property
    def plan(self) -> Path:
        return self.root / "plan.json"

    @property
    def is_gone(self) -> bool:
        """Somebody has deleted it, with or without what others make there since."""
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
        """Logs of single processes, `<rank>.txt`, where there are several."""
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
    """What the nodes of a run share where they are on one machine."""
    return folder.home / "shared" / seat(folder.run_id, 0, attempt)


def make_private(folder: Path) -> None:
    """A folder for sockets, which anybody may have made before where it is a temporary one: Forbidden when it is another's."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat(follow_symlinks=False).st_uid != os.getuid():
        raise Forbidden(f"The folder {folder} of the run's socket belongs to somebody else.")
