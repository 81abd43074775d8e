"""What the contracts of every store share: places to put things, and how they are made. Each noun's contract is a file beside
this one (`runs.py`, `metrics.py`, …); a store's test file subclasses them and supplies `store`.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest

from roost.domain.metrics import Space, in_order, points, read_back
from roost.domain.runs import Run, RunEvent, RunSpec, RunStatus, Submission
from roost.domain.spools import decode
from roost.domain.workspaces import Experiment, Workspace
from roost.store.base import Store
from roost_job.tracking import records

T = TypeVar("T")
WS = "default"
HEADER = records.header(space="user", rank=0)


def submission(run_id: str, **changes: object) -> Submission:
    values: dict[str, object] = {"id": run_id, "experiment": "train", "spec": RunSpec(script="train.py"), **changes}
    return Submission(**values)  # type: ignore[arg-type]


def event(to: RunStatus, at: float = 5.0, **changes: object) -> RunEvent:
    return RunEvent(to=to, at=at, **changes)  # type: ignore[arg-type]


def numbers(first: int, count: int, name: int = 1) -> bytes:
    """Frames of the numbers `first`, `first + 1`, …; each also its own step and time."""
    return b"".join(
        records.frame(records.FLOAT_BODY.pack(records.FLOAT, name, i, float(i), float(i)))
        for i in range(first, first + count)
    )


def logged(store: Store, run_id: str, name: str, space: Space = Space.USER) -> object:
    series = store.metrics.series(run_id, name, space)
    return read_back(in_order([[point for part in spool for point in points(part)] for spool in series]))


def ship(store: Store, run_id: str, spool: str, data: bytes) -> int:
    """Takes in what `data`, the spool's whole content so far, has beyond the mark; the new mark."""
    state = store.metrics.spool(run_id, spool)
    return store.metrics.append(run_id, spool, state.offset, decode(data[state.offset :], state.names))


def ids(found: Iterable[Run]) -> list[str]:
    return [run.id for run in found]


def at_once(work: Callable[[int], T], threads: int) -> list[T]:
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, range(threads)))


class StoreContract:
    @pytest.fixture
    def store(self) -> Store:
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _places(self, store: Store) -> None:
        store.workspaces.ensure(Workspace(name=WS, user="ann", created_at=1.0))
        for name in ("train", "other"):
            store.experiments.ensure(Experiment(id=f"id-{name}", workspace=WS, name=name, user="ann", created_at=1.0))

    def make(self, store: Store, run_id: str, *path: RunStatus, **changes: object) -> Run:
        run, _ = store.runs.create(WS, submission(run_id, **changes), user="ann", at=2.0)
        for status in path:
            run, _ = store.runs.apply(run_id, event(status))
        return run
