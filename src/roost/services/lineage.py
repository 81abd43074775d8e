"""The runs above and below a run. Parents never change, so they are cached."""

from collections.abc import Iterator

from roost.domain.errors import NotFound
from roost.domain.runs import Run
from roost.services.context import Context
from roost.store.base import RunQuery

_PAGE = 1000
_DEEPEST = 100
"""The most generations that are followed, in case the stored parents form a circle."""


def above(context: Context, run_id: str) -> tuple[str, ...]:
    """The ids of the runs above this one, its parent first; none for a run that does not exist."""
    found: list[str] = []
    while len(found) < _DEEPEST:
        parent = context.parents.get(run_id)
        if parent is None:
            try:
                parent = context.store.runs.get(run_id).parent_id or ""
            except NotFound:
                return ()
            context.parents.put(run_id, parent)
        if not parent:
            break
        found.append(parent)
        run_id = parent
    return tuple(found)


def children(context: Context, run: Run) -> Iterator[Run]:
    """The runs directly below it, newest first."""
    before: str | None = None
    while True:
        page = context.store.runs.list(
            RunQuery(workspace=run.workspace, parent_id=run.id, include_children=True, limit=_PAGE, before=before)
        )
        yield from page
        if len(page) < _PAGE:
            return
        before = page[-1].id


def below(context: Context, run: Run, depth: int = _DEEPEST) -> Iterator[Run]:
    """All runs below it, generation by generation."""
    generation = [run]
    for _ in range(depth):
        generation = [child for each in generation for child in children(context, each)]
        if not generation:
            return
        yield from generation
