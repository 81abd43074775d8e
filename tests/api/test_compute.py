"""Compute over HTTP: shapes, statuses, errors, and a wait that ends when something changes."""

import threading

from tests.shared.api_servers import ApiServer
from tests.shared.contexts import ANN

from roost.services import compute
from roost.services.compute import ComputeChanges

PLACE = "/api/workspaces/vision/computes"


def test_a_cluster_s_life(api: ApiServer) -> None:
    person = api.person
    spec = {"max_nodes": 3, "vm_size": "STANDARD_NC6", "tags": {"team": "vision"}}
    made = person.put(f"{PLACE}/gpu", spec)
    assert (made.status, made.json["name"], made.json["kind"]) == (201, "gpu", "cluster")
    assert person.put(f"{PLACE}/gpu", spec).status == 200
    shown = person.get(f"{PLACE}/gpu").json
    assert set(shown) == {"compute", "nodes", "queued", "running", "wanted", "machine"}
    assert [each["compute"]["name"] for each in person.get(PLACE).json["computes"]] == ["local", "gpu"]
    changed = person.call("PATCH", f"{PLACE}/gpu", {"min_nodes": 1})
    assert (changed.status, changed.json["min_nodes"], changed.json["max_nodes"]) == (200, 1, 3)
    for _ in range(2):
        assert person.call("DELETE", f"{PLACE}/gpu").json == {"deleted": "gpu"}
    assert person.get(f"{PLACE}/gpu").error["code"] == "compute_not_found"


def test_errors(api: ApiServer) -> None:
    person = api.person
    person.put(f"{PLACE}/gpu", {"max_nodes": 3})
    conflict = person.put(f"{PLACE}/gpu", {"max_nodes": 4})
    assert (conflict.status, conflict.error["code"]) == (409, "compute_conflict")
    assert person.put(f"{PLACE}/cpu", {"max_nodes": 3, "min_nodes": 4}).error["code"] == "invalid_compute"
    assert person.put(f"{PLACE}/cpu", {}).error["message"] == "ComputeSpec.max_nodes is missing."
    assert person.put(f"{PLACE}/cpu", {"max_nodes": 3, "priority": "spot"}).error["code"] == "invalid_input"
    assert person.get(f"{PLACE}/gpo").error["hint"].startswith("Did you mean 'gpu'?")
    assert person.get("/api/workspaces/nowhere/computes").status == 404
    assert person.call("DELETE", f"{PLACE}/local").error["code"] == "invalid_compute"


def test_a_wait_ends_when_the_cluster_changes(api: ApiServer) -> None:
    api.person.put(f"{PLACE}/gpu", {"max_nodes": 3})
    revision = api.person.get(f"{PLACE}/gpu").json["compute"]["revision"]
    answers = []

    def wait() -> None:
        answers.append(api.person.get(f"{PLACE}/gpu?after={revision}&wait=30"))

    waiting = threading.Thread(target=wait)
    waiting.start()
    compute.update(api.context, ANN, "vision", "gpu", ComputeChanges(min_nodes=2))
    waiting.join(20)
    assert answers[0].json["compute"]["min_nodes"] == 2
