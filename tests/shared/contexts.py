"""A context for tests: the real store (SQLite in memory, or a file) and the real blobs, with a clock that stands still."""

import itertools
from pathlib import Path

from roost.blobs.folder import FolderBlobs
from roost.domain.compute import Compute, Machine
from roost.domain.files import Entry, write_manifest
from roost.domain.people import Caller
from roost.domain.permissions import Role
from roost.domain.runs import Run, RunKind, RunSpec, Submission
from roost.domain.workspaces import Workspace
from roost.engines.base import Abilities
from roost.services import runs
from roost.services.context import Context, Facts
from roost.services.signals import Signals
from roost.store import open_store

ANN = Caller(user="ann", role=Role.PERSON)
EMBEDDED = Abilities(logical_nodes=True, shared_disk=True, capacity=Machine(cores=2, memory_gb=8.0, gpus=0))
_numbers = itertools.count(1)


class Clock:
    """Seconds that pass only when a test says so."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def pass_by(self, seconds: float) -> None:
        self.now += seconds


def make_house(folder: Path, *, clock: Clock | None = None, slots: int = 2, store: str = "sqlite://") -> Context:
    clock = clock or Clock()
    blobs = folder / "blobs"
    blobs.mkdir(parents=True, exist_ok=True)
    kept = FolderBlobs(blobs)
    context = Context(
        store=open_store(store, kept),
        blobs=kept,
        clock=clock,
        signals=Signals(),
        engine="scripted",
        engines={"scripted": EMBEDDED},
        facts=Facts(instance="test", home=str(folder), pid=1, started_at=clock(), blob_folder=str(blobs)),
    )
    context.store.workspaces.ensure(Workspace(name="vision", user="ann", created_at=clock()))
    context.store.computes.ensure(Compute(name="local", engine="scripted", max_nodes=slots))
    return context


def snapshot(context: Context, **files: str) -> str:
    """The manifest of a folder with these files (`train` is `train.py`)."""
    entries = [
        Entry(path=f"{name}.py", size=len(text), content=context.blobs.put(text.encode()))
        for name, text in files.items()
    ]
    return context.blobs.put(write_manifest(entries))


def submission(context: Context, **changes: object) -> Submission:
    """A script that may be submitted; `changes` are fields of the submission or its spec."""
    spec_fields = RunSpec.__dataclass_fields__
    spec = {"snapshot": snapshot(context, train="print(1)"), "script": "train.py", "interpreter": "/usr/bin/python3"}
    spec |= {key: value for key, value in changes.items() if key in spec_fields}  # type: ignore[misc]
    whole = {"id": f"train_1_{next(_numbers):08x}", "experiment": "train"}
    whole |= {key: value for key, value in changes.items() if key not in spec_fields}  # type: ignore[misc]
    return Submission(spec=RunSpec(**spec), **whole)  # type: ignore[arg-type]


def submit(context: Context, **changes: object) -> Run:
    return runs.submit(context, ANN, "vision", submission(context, **changes))[0]


def as_run(run_id: str) -> Caller:
    """The caller that comes with the token of this run."""
    return Caller(user="ann", role=Role.RUN, run_id=run_id)


def submit_interactive(context: Context) -> Run:
    return submit(context, kind=RunKind.INTERACTIVE, script="", snapshot="", interpreter="")
