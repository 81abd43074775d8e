"""Models over HTTP: registered by content, once however often it is sent; names and versions that nobody has; whose token may."""

from blake3 import blake3
from tests.shared.api_servers import ApiServer
from tests.shared.contexts import submit

MODELS = "/api/workspaces/vision/models"


def put(api: ApiServer, text: str) -> str:
    """A model of one file, put; its manifest."""
    name = blake3(text.encode()).hexdigest()
    manifest = f"f\t644\t{len(text)}\t{name}\tm.txt\n".encode()
    api.person.put(f"/api/blobs/{name}", text.encode())
    api.person.put(f"/api/blobs/{blake3(manifest).hexdigest()}", manifest)
    return blake3(manifest).hexdigest()


def test_there_and_back(api: ApiServer) -> None:
    person = api.person
    new = {"name": "my.net-1", "key": "a" * 32, "manifest": put(api, "one"), "tags": {"k": "v"}}
    made = person.post(MODELS, new)
    assert (made.status, made.json["version"], made.json["path"], made.json["size"]) == (201, 1, "m.txt", 3)
    again = person.post(MODELS, new)
    assert (again.status, again.json) == (200, made.json)
    assert person.post(MODELS, {**new, "key": "b" * 32}).json["version"] == 2
    assert person.get(f"{MODELS}/my.net-1").json["version"] == 2
    assert person.get(f"{MODELS}/my.net-1?version=1").json == made.json
    assert [each["version"] for each in person.get(f"{MODELS}?name=my.net-1&tag=k=v").json["models"]] == [2, 1]
    assert len(person.get(f"{MODELS}?name=my.net-1&latest=true").json["models"]) == 1
    assert person.get(f"{MODELS}?tag=k=other").json == {"models": []}
    place = f"{MODELS}/my.net-1/1"
    assert person.call("PATCH", place, {"tags": {"x": "y"}, "remove_tags": ["k"]}).json["tags"] == {"x": "y"}
    assert person.get(f"{place}/users").json == {"runs": [], "services": []}
    assert person.call("DELETE", place).json == {"count": 1} and person.call("DELETE", place).json == {"count": 0}
    assert person.get(f"{MODELS}/my.net-1?version=1").error["code"] == "model_not_found"


def test_what_is_refused(api: ApiServer) -> None:
    person = api.person
    good = {"name": "net", "key": "c" * 32, "manifest": put(api, "one")}
    for change in (
        {"name": "../net"},
        {"name": "a/b"},
        {"name": 3},
        {"key": ""},
        {"key": "../../x"},
        {"manifest": "00" * 32},
        {"manifest": "../x"},
        {"manifest": put(api, "one")[:-1] + "g"},
        {"run_path": "outputs"},
        {"tags": {"k": None}},
        {"datasets": [["a"]]},
        {"datasets": [["a", 1]]},
        {"resources": {"cpu": "1"}},
        {"resources": {"cpu": -1}},
    ):
        answer = person.post(MODELS, {**good, **change})
        assert answer.status == 400, (change, answer)
        assert answer.error["code"] in ("invalid_input", "invalid_model")
    assert person.post(MODELS, {"manifest": good["manifest"]}).status == 400
    for path in ("net", "net?version=1", "..%2fx", "%00", "a%2fb", "net?version=99999999999999999999"):
        assert person.get(f"{MODELS}/{path}").status in (400, 404, 405), path
    for version in ("0", "-1", "x", "99999999999999999999"):
        assert person.call("PATCH", f"{MODELS}/net/{version}", {}).status in (400, 404)
        assert person.call("DELETE", f"{MODELS}/net/{version}").status in (400, 404)
    assert person.get("/api/workspaces/none-such/models").error["code"] == "not_found"


def test_a_runs_token(api: ApiServer) -> None:
    run, other = submit(api.context).id, submit(api.context).id
    token = api.run_client(run)
    manifest = put(api, "two")
    made = token.post(MODELS, {"name": "jobs", "key": "d" * 32, "manifest": manifest})
    assert (made.json["run_id"], made.json["experiment"]) == (run, "train")
    assert token.call("PATCH", f"{MODELS}/jobs/1", {"tags": {"a": "1"}}).status == 200
    assert token.call("DELETE", f"{MODELS}/jobs/1").error["code"] == "forbidden"
    assert api.run_client(other).call("PATCH", f"{MODELS}/jobs/1", {}).error["code"] == "forbidden"
    stolen = {"name": "jobs", "key": "e" * 32, "run_id": other, "run_path": "outputs"}
    assert token.post(MODELS, stolen).error["code"] == "forbidden"
    assert api.run_client(other).get(f"{MODELS}/jobs").status == 200
    assert token.get(f"/api/runs/{run}/models").json["registered"][0]["name"] == "jobs"
    assert api.run_client(other).get(f"/api/runs/{other}/models").json == {"registered": [], "used": ["jobs:1"]}
    assert token.get(f"/api/runs/{other}/models").error["code"] == "forbidden"
