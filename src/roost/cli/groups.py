"""A group of commands: its help has whole sentences, and a command it does not have is answered with the one that was meant."""

import difflib
from typing import Any, NoReturn

from typer.core import TyperGroup

WIDEST = 100
"""Columns that help fills at most: longer lines are hard to read."""
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


class Group(TyperGroup):
    """Commands of one noun, or all of them."""

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        extra.setdefault("max_content_width", WIDEST)
        return super().make_context(info_name, args, parent, **extra)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Each with its whole sentence: cut ones explain nothing."""
        rows = []
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                rows.append((name, _sentence(command)))
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        typed = args[0]
        if self.get_command(ctx, typed) is None and not ctx.resilient_parsing and not typed.startswith("-"):
            self._refuse(ctx, typed)
        return super().resolve_command(ctx, args)

    def _refuse(self, ctx: Any, typed: str) -> NoReturn:
        meant = suggest(typed, {name: command for name, command in self.commands.items() if not command.hidden})
        path = ctx.command_path
        hint = f" Did you mean: {' or '.join(f'{path} {each}' for each in meant)}" if meant else ""
        ctx.fail(f"There is no command {typed!r}.{hint}")
        raise AssertionError("not reached")


def suggest(typed: str, commands: dict[str, Any]) -> list[str]:
    """Which commands of a group were meant: by another word for the same deed, by a plural, by the letters."""
    word = typed.lower()
    for other in (word, word.removesuffix("s"), f"{word}s"):
        if other in commands:
            return [f"{other} list"] if "list" in _commands(commands[other]) else [other]
    of_runs = {name: f"run {name} ID" for name in _commands(commands.get("run")) if name != "list"}
    if of_runs:  # the root: what is said of no noun is said of runs
        every = {**{name: name for name in commands}, **of_runs, **_MEANT}
        return list(dict.fromkeys(every[name] for name in _near(word, list(every))))
    same = [name for words in _OTHER_WORDS if word in words for name in commands if name in words]
    return list(dict.fromkeys(same)) or _near(word, list(commands))


def _near(word: str, known: list[str]) -> list[str]:
    swapped = [word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in range(len(word) - 1)]
    same = [
        each for each in (word, *swapped) if each in known
    ]  # in short words two swapped letters are too many for a ratio
    return same[:1] or difflib.get_close_matches(word, known, n=2, cutoff=0.7)


def _commands(group: Any) -> dict[str, Any]:
    return getattr(group, "commands", {})


def _sentence(command: Any) -> str:
    """The short help that it was given, else the first sentence of its text."""
    if command.short_help:
        return str(command.short_help).strip()
    first = (command.help or "").strip().split("\n\n")[0].replace("\n", " ")
    end = first.find(". ")
    return first if end < 0 else first[: end + 1]
