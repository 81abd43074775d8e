"""A group of commands. It loads a command when it is typed, its help has whole sentences, and a command that it does not have is
answered with the one that was meant.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from roost.cli import suggestions
from roost.cli.command_table import Command, Noun
from roost.cli.conversions import convert_when_needed

WIDEST = 100
"""Columns that help fills at most: longer lines are hard to read."""


class Group(TyperGroup):
    """The commands of a table: those of one noun, or all of them."""

    def __init__(self, *, table: Mapping[str, Command | Noun], **settings: Any) -> None:
        super().__init__(**{**settings, "commands": _Commands(table)})
        self.table = table

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        extra.setdefault("max_content_width", WIDEST)
        return super().make_context(info_name, args, parent, **extra)

    def get_params(self, ctx: Any) -> list[Any]:
        return convert_when_needed(super().get_params(ctx))

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - as the parser calls it
        """Their names, without loading them."""
        return list(self.table)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - as the parser calls it
        return self.commands[cmd_name] if cmd_name in self.table else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Each with its whole sentence: cut ones explain nothing."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._sentence(name)) for name in self.list_commands(ctx)])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        typed = args[0]
        if typed not in self.table and not ctx.resilient_parsing and not typed.startswith("-"):
            self._refuse(ctx, typed)
        return super().resolve_command(ctx, args)

    def _refuse(self, ctx: Any, typed: str) -> NoReturn:
        meant = suggestions.suggest(typed, self.table)
        path = ctx.command_path
        hint = f" Did you mean: {' or '.join(f'{path} {each}' for each in meant)}" if meant else ""
        ctx.fail(f"There is no command {typed!r}.{hint}")
        raise AssertionError("not reached")

    def _sentence(self, name: str) -> str:
        """The table's, else the first sentence of the command's own help, for which it is loaded."""
        if self.table[name].sentence:
            return self.table[name].sentence
        first = (self.commands[name].help or "").strip().split("\n\n")[0].replace("\n", " ")
        end = first.find(". ")
        return first if end < 0 else first[: end + 1]


class _Command(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return convert_when_needed(super().get_params(ctx))


class _Commands(Mapping[str, Any]):
    """A table's commands by name, as the parser asks for them; one is loaded when it is first asked for."""

    def __init__(self, table: Mapping[str, Command | Noun]) -> None:
        self._table = table
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = _load(name, self._table[name])
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._table

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)


def _load(name: str, entry: Command | Noun) -> Any:
    if isinstance(entry, Noun):
        return Group(name=name, table=entry.commands, help=entry.sentence, no_args_is_help=True, rich_markup_mode=None)
    module, _, function = entry.function.partition(":")
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    register = single.command(
        name, cls=_Command, short_help=entry.sentence or None, context_settings=dict(entry.settings)
    )
    register(getattr(import_module(f"roost.cli.commands.{module}"), function))
    return typer.main.get_command(single)
