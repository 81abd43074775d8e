"""What the server says of itself: health, facts, its own description."""

from tests.shared.api_servers import ApiServer
from tests.shared.contexts import submit

from roost.version import API_LEVEL, VERSION


def test_health_is_for_everybody(api: ApiServer) -> None:
    assert api.stranger.get("/api/health").json == {
        "name": "roost",
        "version": VERSION,
        "api_level": API_LEVEL,
        "instance": "test",
    }


def test_facts_are_for_those_with_a_token(api: ApiServer) -> None:
    facts = api.run_client(submit(api.context).id).get("/api/server").json
    assert set(facts) == {
        "version",
        "api_level",
        "instance",
        "pid",
        "home",
        "started_at",
        "now",
        "active_runs",
        "blob_folder",
    }


def test_the_description_has_every_route_and_record(api: ApiServer) -> None:
    document = api.person.get("/api/openapi.json").json
    assert document["openapi"].startswith("3.")
    submit_route = document["paths"]["/api/workspaces/{workspace}/runs"]["post"]
    assert submit_route["requestBody"]["content"]["application/json"]["schema"]["$ref"].endswith("/Submission")
    assert (submit_route["x-action"], submit_route["x-scope"]) == ("run.submit", "workspace")
    assert "/api/runs/{run_id}/files/{path}" in document["paths"]
    schemas = document["components"]["schemas"]
    assert {"Run", "RunSpec", "Submission", "RunFile", "RunStatus"} <= set(schemas)
    assert "security" not in document["paths"]["/api/health"]["get"]


def test_workspaces_and_experiments(api: ApiServer) -> None:
    made = api.person.put("/api/workspaces/team-a", {"subscription_id": "s", "location": "west"}).json
    assert (made["name"], made["user"], made["subscription_id"], made["location"]) == ("team-a", "ann", "s", "west")
    assert api.person.put("/api/workspaces/team-a").json == made == api.person.get("/api/workspaces/team-a").json
    assert made in api.person.get("/api/workspaces").json["workspaces"]
    experiment = api.person.put("/api/workspaces/team-a/experiments/train").json
    assert api.person.get("/api/workspaces/team-a/experiments/train").json == experiment
    assert api.person.get("/api/workspaces/team-a/experiments").json == {"experiments": [experiment]}
    assert api.person.get("/api/workspaces/team-a/experiments/other").error["code"] == "not_found"
    assert api.person.put("/api/workspaces/..").error["code"] in ("invalid_input", "not_found")
    assert api.person.put("/api/workspaces/team-a/experiments/a.b").error["code"] == "invalid_input"
