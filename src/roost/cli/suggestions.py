"""Which command was meant by one that is not there: by another word for the same thing, by a plural, by its letters."""

import difflib
from collections.abc import Mapping

from roost.cli.command_table import Command, Noun

_MEANT = {
    "cluster": "compute list",
    "clusters": "compute list",
    "config": "doctor",
    "dashboard": "open",
    "dataset": "data list",
    "datasets": "data list",
    "deploy": "endpoint deploy",
    "deployment": "endpoint list",
    "deployments": "endpoint list",
    "environment": "env list",
    "environments": "env list",
    "exp": "experiment list",
    "init": "submit SCRIPT",
    "job": "run list",
    "jobs": "run list",
    "keyvault": "secret list",
    "kill": "run cancel ID",
    "list": "run list",
    "log": "run logs ID",
    "ls": "run list",
    "node": "compute nodes NAME",
    "nodes": "compute nodes NAME",
    "ps": "run list --status running",
    "prune": "gc",
    "clean": "gc",
    "rm": "run delete ID",
    "server": "status",
    "serve": "endpoint deploy",
    "service": "endpoint list",
    "services": "endpoint list",
    "start": "up",
    "stop": "down",
    "store": "datastore list",
    "studio": "open",
    "target": "compute list",
    "targets": "compute list",
    "top": "run list --status running",
    "train": "submit SCRIPT",
    "ui": "open",
    "upload": "data upload PATH",
    "version": "--version",
    "vault": "secret list",
    "web": "open",
    "webservice": "endpoint list",
    "ws": "workspace list",
}
"""What people type first, and the command that does it."""
_OTHER_WORDS = (
    {"list", "ls", "all", "dir"},
    {"show", "get", "info", "describe", "inspect", "details", "view", "cat"},
    {"delete", "remove", "rm", "del", "unregister", "drop", "prune"},
    {"create", "register", "add", "new", "set", "make", "deploy", "put"},
    {"update", "change", "edit", "scale", "set"},
    {"cancel", "stop", "kill", "end", "abort", "terminate"},
    {"logs", "log", "tail", "output", "stream"},
    {"download", "fetch", "pull", "get"},
    {"upload", "push", "put"},
    {"repeat", "rerun", "resubmit", "again", "retry"},
    {"test", "invoke", "score", "call", "predict"},
    {"metrics", "metric", "charts", "plot"},
    {"compare", "diff"},
    {"name", "rename", "title"},
    {"archive", "hide"},
    {"reactivate", "unarchive", "restore"},
)


def suggest(typed: str, commands: Mapping[str, Command | Noun]) -> list[str]:
    """Which commands of a group were meant, each as it would be typed after the group."""
    word = typed.lower()
    for other in (word, word.removesuffix("s"), f"{word}s"):
        if other in commands:
            return [f"{other} list"] if "list" in _commands_of(commands[other]) else [other]
    if "run" in commands:  # the root: a command without a noun is one about runs
        of_runs = {name: f"run {name} ID" for name in _commands_of(commands["run"]) if name != "list"}
        every = {**{name: name for name in commands}, **of_runs, **_MEANT}
        return list(dict.fromkeys(every[name] for name in _near(word, list(every))))
    same = [name for words in _OTHER_WORDS if word in words for name in commands if name in words]
    return list(dict.fromkeys(same)) or _near(word, list(commands))


def _commands_of(entry: Command | Noun) -> Mapping[str, Command]:
    return entry.commands if isinstance(entry, Noun) else {}


def _near(word: str, known: list[str]) -> list[str]:
    swapped = [word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in range(len(word) - 1)]
    same = [
        each for each in (word, *swapped) if each in known
    ]  # in short words two swapped letters are too many for a ratio
    return same[:1] or difflib.get_close_matches(word, known, n=2, cutoff=0.7)
