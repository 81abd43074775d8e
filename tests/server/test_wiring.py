"""What a control plane finds when it comes back."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.store import WS, event, submission

from roost.domain.runs import RunStatus
from roost.domain.workspaces import Experiment, Workspace
from roost.server import home, wiring
from roost.server.settings import Settings
from roost.store import open_store

FAR = 1e12


@pytest.mark.parametrize("shared", [False, True])
def test_work_that_a_killed_one_had_leased_is_due_at_once_unless_the_database_is_shared(
    tmp_path: Path, shared: bool
) -> None:
    settings = Settings(home=tmp_path)
    home.prepare(settings)
    if shared:  # others may be at work in it
        settings = replace(settings, store_url=settings.store)
    store = open_store(settings.store)
    store.workspaces.ensure(Workspace(name=WS, user="ann", created_at=1.0))
    store.experiments.ensure(Experiment(id="e", workspace=WS, name="train", user="ann", created_at=1.0))
    store.runs.create(WS, submission("r1"), user="ann", at=2.0)
    store.runs.apply("r1", event(RunStatus.RUNNING))
    assert store.runs.lease(statuses=[RunStatus.RUNNING], at=10.0, seconds=FAR, limit=1)
    store.close()
    house = wiring.build(settings, "again")
    due = house.store.runs.lease(statuses=[RunStatus.RUNNING], at=11.0, seconds=1.0, limit=1)
    house.store.close()
    assert [lease.run.id for lease in due] == ([] if shared else ["r1"])


@pytest.mark.parametrize(
    ("given", "roots", "endpoints"),
    [
        ({}, None, None),
        ({"host": "0.0.0.0"}, (), ()),
        ({"host": "0.0.0.0", "data_roots": ("/mnt",), "data_endpoints": ("minio:9000",)}, ("/mnt",), ("minio:9000",)),
        ({"data_roots": ("/mnt",)}, ("/mnt",), None),
    ],
)
def test_where_data_may_be(tmp_path: Path, given: dict[str, Any], roots: object, endpoints: object) -> None:
    """On loopback, one user's, anywhere; on a server that others reach nowhere but where its settings say."""
    settings = Settings(home=tmp_path, **given)
    home.prepare(settings)
    house = wiring.build(settings, "one")
    assert (house.data_roots, house.data_endpoints) == (roots, endpoints)
    house.store.close()
