"""`roost run tag`, `name` and `describe`: what people say of a run, changed at any time."""

import typer

from roost.cli import rendering, session
from roost.cli.commands.runs import details
from roost.cli.inputs import parsing
from roost.cli.inputs.runs import RUN, find_run
from roost.domain import codec
from roost.domain.errors import InvalidInput, NotFound
from roost.sdk.calls import run_records
from roost.sdk.runs.runs import Run

_AS_JSON = typer.Option(False, "--json", help="Print the run as JSON.")


def tag(
    run_id: str = RUN,
    tags: list[str] = typer.Argument(None, help="Tags to set, KEY=VALUE or KEY.", metavar="[KEY=VALUE]…"),
    remove: list[str] = typer.Option([], "--remove", help="A tag to remove; repeated.", metavar="KEY"),
    as_json: bool = _AS_JSON,
) -> None:
    """Set and remove tags of a run, whether it has ended or not."""
    given = parsing.tags(tags or [])
    if not given and not remove:
        raise InvalidInput("Which tags?", hint=f"roost run tag {run_id} model=resnet, or --remove model")
    both = sorted(set(given) & set(remove))
    if both:
        raise InvalidInput(f"Tag {both[0]!r} cannot be set and removed at once.", hint="Leave out one of them.")
    run = find_run(session.workspace(), run_id)
    has = run.get_tags()
    missing = [key for key in remove if key not in has]
    if missing:
        raise NotFound(f"Run {run.id} has no tag {missing[0]!r}.", hint=parsing.near(missing[0], sorted(has)))
    if remove:
        run.remove_tags(remove)
    if given:
        run.set_tags(given)
    _told(run, as_json)


def name(
    run_id: str = RUN,
    text: str = typer.Argument(help="The new name; an empty one, '', takes it away.", metavar="TEXT"),
    as_json: bool = _AS_JSON,
) -> None:
    """Give a run a name for people. Its id stays."""
    run = find_run(session.workspace(), run_id)
    run.display_name = text
    _told(run, as_json)


def describe(
    run_id: str = RUN,
    text: str = typer.Argument(help="The description; an empty one, '', takes it away.", metavar="TEXT"),
    as_json: bool = _AS_JSON,
) -> None:
    """Write down what a run is for, or what came of it."""
    run = find_run(session.workspace(), run_id)
    run.description = text
    _told(run, as_json)


def _told(run: Run, as_json: bool) -> None:
    """The run's labels as they are now."""
    record = run_records.get(run._connection.client, run.id)
    if as_json:
        rendering.as_json(codec.encode(record))
        return
    print(details.title(record))
    for line in details.label_lines(record):
        print(line)
