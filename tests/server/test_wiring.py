"""What a control plane finds when it comes back."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.store import WS, event, submission
from tests.engines import packages

from roost.domain.compute import Compute, ComputeKind
from roost.domain.errors import InvalidInput
from roost.domain.runs import RunStatus
from roost.domain.workspaces import Experiment, Workspace
from roost.engines import hosts, local
from roost.engines.base import Abilities
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
    context = wiring.build(settings, "again")
    due = context.store.leases.take(RUNS, at=11.0, seconds=1.0, limit=1)
    context.store.close()
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
    context = wiring.build(settings, "one")
    assert (context.data_roots, context.data_endpoints) == (roots, endpoints)
    context.store.close()


HOST = '[[host]]\naddress = "10.0.0.2"\ncommand = ["ssh", "gpu-1"]\npython = "python3"\nhome = "/var/lib/roost"\n'


def test_hosts_are_an_engine_when_a_file_names_some(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, host="10.0.0.1")
    home.prepare(settings)
    assert hosts.abilities(settings) is None
    settings.hosts_file.write_text(HOST)
    context = wiring.build(settings, "one")
    context.store.close()
    assert (tuple(context.engines), context.engines["hosts"].hosts) == (("hosts", "inline", "local"), ("10.0.0.2",))
    assert set(wiring.engines(settings, ["hosts"])) == {"hosts"}


@pytest.mark.parametrize("listens", ["127.0.0.1", "0.0.0.0"])
def test_hosts_that_could_not_reach_the_control_plane_are_refused(tmp_path: Path, listens: str) -> None:
    settings = Settings(home=tmp_path, host=listens)
    settings.hosts_file.write_text(HOST)
    with pytest.raises(InvalidInput, match=f"it listens on {listens}"):
        hosts.abilities(settings)
    settings.hosts_file.write_text(f'url = "http://10.0.0.1:8700"\n{HOST}')
    assert hosts.abilities(settings) == Abilities(hosts=("10.0.0.2",))
    with pytest.raises(InvalidInput, match="is not there"):
        hosts.abilities(replace(settings, hosts=str(tmp_path / "none.toml")))


def test_engines_are_those_that_the_settings_name_and_clusters_are_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.syspath_prepend(packages.install(tmp_path / "site", twin="tests.engines.queueing"))
    settings = Settings(home=tmp_path / "home", engines=("twin",))
    home.prepare(settings)
    context = wiring.build(settings, "one")
    assert list(context.engines) == ["local", "twin"]
    assert context.engines["twin"] == Abilities(queues=True, shared_disk=True)
    assert context.machine == context.engines["local"].capacity
    for name in ("twin", "inline", "gone", "hosts"):  # `gone` was uninstalled since, `hosts` has lost its file
        context.store.computes.create(
            Compute(name=f"on-{name}", workspace="default", engine=name, max_nodes=1, kind=ComputeKind.CLUSTER)
        )
    context.store.close()
    context = wiring.build(replace(settings, engines=()), "two")
    context.store.close()
    assert list(context.engines) == ["inline", "local", "twin"]
    assert "clusters on engine gone stand still: No engine named 'gone'." in caplog.text


@pytest.mark.parametrize("name", ["twin", "hosts"])
def test_the_engine_behind_local_is_on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.syspath_prepend(packages.install(tmp_path / "site", twin="tests.engines.queueing"))
    with pytest.raises(InvalidInput, match=f"The engine '{name}' cannot be behind the target `local`"):
        wiring.offered(Settings(home=tmp_path, local_engine=name))


ODD = """
from roost.engines.base import Abilities

def abilities(settings):
    if (settings.home / "broken").exists():
        raise RuntimeError("its own file is damaged")
    return Abilities(queues=True)

def make(settings):
    raise RuntimeError("its library does not load")
"""


def test_an_engine_that_breaks_costs_nobody_else_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    site = packages.install(tmp_path / "site", odd="an_odd_engine")
    (site / "an_odd_engine.py").write_text(ODD)
    monkeypatch.syspath_prepend(site)
    settings = Settings(home=tmp_path / "home", engines=("odd",))
    home.prepare(settings)
    context = wiring.build(settings, "one")
    made = wiring.engines(settings, context.engines)
    assert list(made) == ["local"]
    made["local"].close()
    assert "clusters on engine odd stand still until the next start: RuntimeError: its library" in caplog.text
    context.store.computes.create(
        Compute(name="on-odd", workspace="default", engine="odd", max_nodes=1, kind=ComputeKind.CLUSTER)
    )
    context.store.close()
    (settings.home / "broken").touch()
    context = wiring.build(replace(settings, engines=()), "two")
    context.store.close()
    assert list(context.engines) == ["local"]
    assert "clusters on engine odd stand still: RuntimeError: its own file is damaged" in caplog.text


def test_without_the_engine_behind_local_there_is_no_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Settings) -> None:
        raise OSError("no process left")

    monkeypatch.setattr(local, "make", broken)
    with pytest.raises(OSError, match="no process left"):
        wiring.engines(Settings(home=tmp_path), ["inline", "local"])
