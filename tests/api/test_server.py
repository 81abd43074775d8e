"""What the server says of itself: health, facts, its own description."""

from tests.shared.api_servers import ApiServer
from tests.shared.contexts import submit

from roost.version import API_LEVEL, VERSION


def test_health_is_for_everybody(router: ApiServer) -> None:
    assert router.stranger.get("/api/health").json == {
        "name": "roost",
        "version": VERSION,
        "api_level": API_LEVEL,
        "instance": "test",
    }


def test_facts_are_for_those_with_a_token(router: ApiServer) -> None:
    facts = router.run_client(submit(router.context).id).get("/api/server").json
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


def test_the_description_has_every_route_and_record(router: ApiServer) -> None:
    document = router.person.get("/api/openapi.json").json
    assert document["openapi"].startswith("3.")
    submit_route = document["paths"]["/api/workspaces/{workspace}/runs"]["post"]
    assert submit_route["requestBody"]["content"]["application/json"]["schema"]["$ref"].endswith("/Submission")
    assert (submit_route["x-action"], submit_route["x-scope"]) == ("run.submit", "workspace")
    assert "/api/runs/{run_id}/files/{path}" in document["paths"]
    schemas = document["components"]["schemas"]
    assert {"Run", "RunSpec", "Submission", "RunFile", "RunStatus"} <= set(schemas)
    assert "security" not in document["paths"]["/api/health"]["get"]


def test_workspaces_and_experiments(router: ApiServer) -> None:
    made = router.person.put("/api/workspaces/team-a", {"subscription_id": "s", "location": "west"}).json
    assert (made["name"], made["user"], made["subscription_id"], made["location"]) == ("team-a", "ann", "s", "west")
    assert router.person.put("/api/workspaces/team-a").json == made == router.person.get("/api/workspaces/team-a").json
    assert made in router.person.get("/api/workspaces").json["workspaces"]
    experiment = router.person.put("/api/workspaces/team-a/experiments/train").json
    assert router.person.get("/api/workspaces/team-a/experiments/train").json == experiment
    assert router.person.get("/api/workspaces/team-a/experiments").json == {"experiments": [experiment]}
    assert router.person.get("/api/workspaces/team-a/experiments/other").error["code"] == "not_found"
    assert router.person.put("/api/workspaces/..").error["code"] in ("invalid_input", "not_found")
    assert router.person.put("/api/workspaces/team-a/experiments/a.b").error["code"] == "invalid_input"
