"""Commands between the nodes of a run: one node's launcher has another node execute them (`mpirun` starts its daemons this way).

A command runs like a launched process: in the run's environment, in its tree, with its output in the node's own log. Only the
exit code is sent back, no output.
"""

import logging
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence

from roost.agent.link import Link
from roost.agent.processes import Running, wait
from roost.domain.codec import decode
from roost.domain.errors import InvalidInput, NotFound, RoostError
from roost.domain.gangs import Member

_WAIT_SECONDS = 20
_PAUSE = 1.0
NOT_STARTED = 127
"""The exit code of a shell for a program that it does not find."""
log = logging.getLogger("roost.agent")

Start = Callable[[Sequence[str]], Running]


class Commands(threading.Thread):
    """Receives commands for this node until `close`. `start` starts one; it may raise RoostError or OSError."""

    def __init__(self, link: Link, start: Start) -> None:
        super().__init__(name="commands", daemon=True)
        self._link = link
        self._start_one = start
        self._over = threading.Event()

    def close(self) -> None:
        """Returns at once."""
        self._over.set()

    def run(self) -> None:
        after, told = 0, ""
        while not self._over.is_set():
            try:
                params = {"after": after, "wait": _WAIT_SECONDS}
                answer = self._link.client.call("GET", self._link.own_path("commands"), params=params)
                for command in answer["commands"]:
                    after = max(after, int(command["number"]))
                    if command["exit_code"] is None and not self._over.is_set():
                        self._execute(int(command["number"]), command["argv"])
            except NotFound:
                return
            except RoostError as error:
                if error.message != told:
                    told = error.message
                    log.warning("Commands are not heard: %s", told)
                self._over.wait(_PAUSE)

    def _execute(self, number: int, argv: Sequence[str]) -> None:
        log.info("Command %d: %s", number, " ".join(argv)[:300])
        try:
            process = self._start_one(argv)
        except (RoostError, OSError, ValueError) as error:
            log.warning("Command %d cannot be started: %s", number, error)
            self._tell(number, NOT_STARTED)
            return
        threading.Thread(target=self._await, args=(number, process), name=f"command-{number}", daemon=True).start()

    def _await(self, number: int, process: Running) -> None:
        while (code := process.exit_code()) is None:
            wait([process])
        log.info("Command %d ended with %d.", number, code)
        self._tell(number, code)

    def _tell(self, number: int, code: int) -> None:
        said = {"exit_code": code, "attempt": self._link.attempt}
        try:
            self._link.client.call("POST", self._link.path("commands", str(number)), json=said)
        except RoostError as error:
            log.warning("The end of command %d is not told: %s", number, error.message)


def answer(link: Link, brief: Link, request: Mapping[str, object]) -> object:
    """The door's op: executes a command on another node of the run."""
    return {"exit_code": execute(link, brief, request.get("node"), request.get("argv"))}


def execute(link: Link, brief: Link, node: object, argv: object) -> int:
    """Executes a command on another node, given by name, address or rank; returns its exit code. The brief link, with its limited
    patience, requests the start; the wait for the end lasts through any absence of the control plane."""
    if not isinstance(argv, list) or not argv or not all(isinstance(word, str) for word in argv):
        raise InvalidInput(f"`argv` must be a list of words, got {argv!r}.")
    members = [decode(Member, each) for each in brief.client.call("GET", link.path("agents"))["members"]]
    found = [m for m in members if str(node) in (m.node, m.address, str(m.node_rank))]
    if not found:
        known = ", ".join(member.node for member in members) or "none"
        raise NotFound(f"The run has no node {node!r}.", hint=f"Its nodes are: {known}.")
    route = link.path("agents", str(found[0].node_rank), "commands")
    order = {
        "argv": argv,
        "key": uuid.uuid4().hex,
        "attempt": link.attempt,
    }  # the key makes the request safe to repeat when its answer is lost
    number = brief.client.call("POST", route, json=order)["number"]
    while True:
        answer = link.client.call("GET", link.path("commands", str(number)), params={"wait": _WAIT_SECONDS})
        if not answer["commands"]:
            raise NotFound(f"Command {number} is not there any more.")
        code = answer["commands"][0]["exit_code"]
        if code is not None:
            return int(code)
