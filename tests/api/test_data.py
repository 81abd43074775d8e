"""Data over HTTP: files with ranges and versions, no credential in any answer, what a run's token is refused."""

from tests.shared.api_servers import ApiServer
from tests.shared.contexts import submit

PLACE = "/api/workspaces/vision"
FILES = f"{PLACE}/datastores/workspaceblobstore/files"
KEY = "c2VjcmV0LWtleS10by1sb29rLWZvcg=="


def test_a_file_goes_in_and_comes_out_in_ranges(api: ApiServer) -> None:
    person = api.person
    content = bytes(range(256)) * 8192
    assert person.put(f"{FILES}/a/b%20c.bin", content).json == {"size": len(content)}
    assert person.put(f"{FILES}/a/b%20c.bin", b"x").error["code"] == "conflict"
    whole = person.get(f"{FILES}/a/b%20c.bin")
    assert whole.body == content and whole.headers["etag"]
    part = person.call("GET", f"{FILES}/a/b%20c.bin", headers={"Range": "bytes=10-19"})
    assert (part.status, part.body) == (206, content[10:20])
    etag = whole.headers["etag"]
    again = {"Range": "bytes=10-19", "If-Range": etag, "If-Match": etag}
    assert person.call("GET", f"{FILES}/a/b%20c.bin", headers=again).body == content[10:20]
    assert person.put(f"{FILES}/a/b%20c.bin?overwrite=true", b"new").json == {"size": 3}
    assert person.call("GET", f"{FILES}/a/b%20c.bin", headers={"Range": "bytes=1-1", "If-Range": etag}).body == b"new"
    assert person.call("GET", f"{FILES}/a/b%20c.bin", headers={"If-Match": etag}).error["code"] == "conflict"
    for path in ("..%2f..%2fvault.key", "a/..%2f..%2fx", "%2e%2e/x", "a%00"):
        assert person.get(f"{FILES}/{path}").status in (400, 404)
        assert person.put(f"{FILES}/{path}", b"x").status in (400, 404)


def test_datastores_and_no_credential_in_any_answer(api: ApiServer) -> None:
    person = api.person
    spec = {
        "kind": "azure_blob",
        "settings": {"account": "acc", "container": "c", "endpoint": "http://127.0.0.1:1/acc"},
        "credential": {"account_key": KEY},
    }
    answers = [person.put(f"{PLACE}/datastores/cloud", spec), person.put(f"{PLACE}/datastores/cloud", spec)]
    assert (answers[0].json["has_credential"], answers[1].error["code"]) == (True, "data_conflict")
    answers += [person.get(f"{PLACE}/datastores"), person.get(f"{PLACE}/datastores/cloud")]
    answers += [person.get(f"{PLACE}/datastores/cloud/items"), person.get("/api/openapi.json")]
    assert answers[-2].error["code"] == "unavailable"
    bad = {**spec, "settings": {**spec["settings"], "endpoint": f"http://u:{KEY}@h"}}  # type: ignore[dict-item]
    answers.append(person.put(f"{PLACE}/datastores/other", bad))
    assert answers[-1].error["code"] == "invalid_input"
    assert not any(KEY.encode() in each.body for each in answers)
    assert person.put(f"{PLACE}/default-datastore", {"name": "cloud"}).json["is_default"]
    assert person.get(f"{PLACE}/default-datastore").json["name"] == "cloud"
    assert person.call("DELETE", f"{PLACE}/datastores/cloud").json == {"count": 1}
    assert person.call("DELETE", f"{PLACE}/datastores/cloud").json == {"count": 0}


def test_the_first_items_of_many(api: ApiServer) -> None:
    for name in ("1", "2", "3"):
        api.person.put(f"{FILES}/many/{name}.csv", b"a")
    definition = {"sources": [{"datastore": "workspaceblobstore", "path": "many/*.csv"}]}
    some = api.person.post(f"{PLACE}/datasets/items", {"definition": definition, "limit": 2}).json
    assert ([each["name"] for each in some["items"]], some["count"]) == (["1.csv", "2.csv"], 3)


def test_datasets(api: ApiServer) -> None:
    person = api.person
    person.put(f"{FILES}/d/1.csv", b"a")
    definition = {"sources": [{"datastore": "workspaceblobstore", "path": "d/*.csv"}, {"url": "http://h/x"}]}
    items = person.post(f"{PLACE}/datasets/items", {"definition": definition})
    assert ([each["name"] for each in items.json["items"]], items.json["urls"]) == (["1.csv"], [1])
    assert items.headers["cache-control"] == "no-store"
    made = person.put(f"{PLACE}/datasets/my%20birds", {"definition": definition})
    assert (made.status, made.json["version"]) == (201, 1)
    assert person.put(f"{PLACE}/datasets/my%20birds", {"definition": definition}).status == 200
    other = {"definition": {**definition, "steps": [{"op": "take", "count": 1}]}}
    assert person.put(f"{PLACE}/datasets/my%20birds", other).error["code"] == "data_conflict"
    assert person.put(f"{PLACE}/datasets/my%20birds", {**other, "create_new_version": True}).json["version"] == 2
    place = f"{PLACE}/datasets/by-id/{made.json['id']}"
    assert person.call("PATCH", place, {"tags": {"k": "v"}}).json["tags"] == {"k": "v"}
    assert (
        person.get(place).json["version"] == person.get(f"{PLACE}/datasets/my%20birds?version=1").json["version"] == 1
    )
    assert person.get(f"{place}/uses").json == {"uses": []}
    assert len(person.get(f"{PLACE}/datasets").json["datasets"]) == 1
    assert person.call("DELETE", f"{PLACE}/datasets/my%20birds").json == {"count": 2}
    assert person.get(f"{PLACE}/datasets/my%20birds").error["code"] == "data_not_found"


def test_a_run_declares_what_its_script_asks_for(api: ApiServer) -> None:
    api.person.put(f"{FILES}/d/1.csv", b"a")
    run = submit(api.context)
    own, place = api.run_client(run.id), f"/api/runs/{run.id}/datasets"
    read = {"sources": [{"datastore": "workspaceblobstore", "path": "d"}]}
    assert own.post(f"{PLACE}/datasets/items", {"definition": read}).error["code"] == "forbidden"
    use = own.post(place, {"direction": "input", "definition": read}).json
    assert (use["name"], use["mode"], use["dataset_id"]) == ("workspaceblobstore/d", "direct", "")
    assert len(own.post(f"{PLACE}/datasets/items", {"definition": read}).json["items"]) == 1
    made = {"sources": [{"datastore": "workspaceblobstore", "path": "made"}]}
    assert own.put(f"{FILES}/made/x", b"1").error["code"] == "forbidden"
    assert own.post(place, {"direction": "output", "definition": made}).status == 200
    assert own.put(f"{FILES}/made/x", b"1").json == {"size": 1}
    assert [each["name"] for each in own.get(place).json["uses"]] == ["workspaceblobstore/d", "workspaceblobstore/made"]
    assert own.post(place, {"direction": "sideways", "definition": read}).error["code"] == "invalid_input"
    other = submit(api.context)
    assert api.run_client(other.id).post(place, {"direction": "input", "definition": read}).status == 403
