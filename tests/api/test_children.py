"""How far a run's token reaches: itself and those below it; those above it can be read."""

from tests.shared.api_servers import ApiServer
from tests.shared.contexts import submit


def test_a_run_s_token_reaches_those_below_it(api: ApiServer) -> None:
    parent, stranger = submit(api.context), submit(api.context)
    own = api.run_client(parent.id)
    child = {"id": "c1", "experiment": "train", "spec": {"kind": "interactive"}}
    made = own.post(f"/api/runs/{parent.id}/children", {"children": [child]})
    assert (made.status, made.json["runs"][0]["parent_id"], made.json["runs"][0]["status"]) == (
        201,
        parent.id,
        "Running",
    )
    deeper = own.post("/api/runs/c1/children", {"children": [{**child, "id": "g1"}]})
    assert deeper.json["runs"][0]["parent_id"] == "c1"
    for path in ("c1", "g1"):
        assert own.get(f"/api/runs/{path}").status == 200
        assert own.call("PATCH", f"/api/runs/{path}", {"tags": {"k": "v"}}).status == 200
        assert own.post(f"/api/runs/{path}/spools/s?offset=0", b"").status == 200
    assert [
        each["id"] for each in own.get(f"/api/runs/{parent.id}/children?recursive=true&tag=k%3Dv").json["runs"]
    ] == ["c1", "g1"]
    assert own.get(f"/api/runs/{parent.id}/metrics?recursive=true").json == {
        "metrics": {parent.id: {}, "c1": {}, "g1": {}}
    }
    foreign = api.run_client(stranger.id)
    for method, path in (
        ("GET", "c1"),
        ("POST", "c1/children"),
        ("GET", "g1/children"),
        ("POST", "c1/cancel"),
        ("GET", "nobody"),
    ):
        assert foreign.call(method, f"/api/runs/{path}").error["code"] == "forbidden"
    assert own.get("/api/runs/nobody").error["code"] == "forbidden"


def test_a_child_may_read_its_parent_and_change_nothing_of_it(api: ApiServer) -> None:
    parent = submit(api.context)
    child = submit(api.context, parent_id=parent.id)
    below = api.run_client(child.id)
    assert below.get(f"/api/runs/{parent.id}").json["id"] == parent.id
    assert below.get(f"/api/runs/{parent.id}/metrics").status == 200
    assert below.call("PATCH", f"/api/runs/{parent.id}", {"tags": {"k": "v"}}).error["code"] == "forbidden"
    assert below.post(f"/api/runs/{parent.id}/cancel").error["code"] == "forbidden"


def test_experiments_over_the_wire(api: ApiServer) -> None:
    route = "/api/workspaces/vision/experiments/train"
    assert api.person.put(route).json["archived_at"] is None
    tagged = api.person.call("PATCH", route, {"tags": {"a": "1", "b": None}, "archived": True}).json
    assert (tagged["tags"], tagged["archived_at"]) == ({"a": "1", "b": None}, api.context.clock())
    assert api.person.call("PATCH", route, {"remove_tags": ["a"]}).json["tags"] == {"b": None}
    submit(api.context)
    assert api.person.get(route).json["archived_at"] is None
    refused = api.person.call("DELETE", route)
    assert (refused.status, "has runs" in refused.error["message"]) == (409, True)
    empty = "/api/workspaces/vision/experiments/empty"
    api.person.put(empty)
    assert api.person.call("DELETE", empty).status == 204
    assert api.person.get(empty).status == 404
