"""What a control plane finds when it comes back."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.store import WS, event, submission

from roost.domain.errors import InvalidInput
from roost.domain.runs import RunStatus
from roost.domain.workspaces import Experiment, Workspace
from roost.server import home, wiring
from roost.server.settings import Settings
from roost.store import open_store
from roost.store.base import RUNS

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
    assert store.leases.take(RUNS, at=10.0, seconds=FAR, limit=1)
    store.close()
    house = wiring.build(settings, "again")
    due = house.store.leases.take(RUNS, at=11.0, seconds=1.0, limit=1)
    house.store.close()
    assert [lease.key for lease in due] == ([] if shared else ["r1"])


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


HOST = '[[host]]\naddress = "10.0.0.2"\ncommand = ["ssh", "gpu-1"]\npython = "python3"\nhome = "/var/lib/roost"\n'


def test_hosts_are_an_engine_when_a_file_names_some(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, host="10.0.0.1")
    home.prepare(settings)
    assert wiring.read_hosts(settings) == {}
    settings.hosts_file.write_text(HOST)
    house = wiring.build(settings, "one")
    house.store.close()
    assert (house.engines, house.hosts) == (("hosts", "inline", "local"), {"hosts": ("10.0.0.2",)})
    assert set(wiring.engines(settings, ["hosts"])) == {"hosts"}


@pytest.mark.parametrize("listens", ["127.0.0.1", "0.0.0.0"])
def test_hosts_that_could_not_reach_the_control_plane_are_refused(tmp_path: Path, listens: str) -> None:
    settings = Settings(home=tmp_path, host=listens)
    settings.hosts_file.write_text(HOST)
    with pytest.raises(InvalidInput, match=f"it listens on {listens}"):
        wiring.read_hosts(settings)
    settings.hosts_file.write_text(f'url = "http://10.0.0.1:8700"\n{HOST}')
    assert wiring.read_hosts(settings) == {"hosts": ("10.0.0.2",)}
    with pytest.raises(InvalidInput, match="is not there"):
        wiring.read_hosts(replace(settings, hosts=str(tmp_path / "none.toml")))
