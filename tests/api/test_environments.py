"""Environments over HTTP."""

from tests.shared.api_servers import ApiServer

PATH = "/api/workspaces/vision/environments"
BODY = {"definition": {"python": {"condaDependencies": {"dependencies": ["python=3.8"]}}}}


def test_registered_listed_and_read(api: ApiServer) -> None:
    first = api.person.put(f"{PATH}/wire", BODY)
    assert (first.status, first.json["version"]) == (201, "1")
    assert api.person.put(f"{PATH}/wire", BODY).status == 200
    assert api.person.put(f"{PATH}/wire", {"definition": {}}).json["version"] == "2"
    assert api.person.get(f"{PATH}/wire?version=1").json == first.json
    assert [each["version"] for each in api.person.get(f"{PATH}?name=wire").json["environments"]] == ["2", "1"]
    assert "wire" in [each["name"] for each in api.person.get(PATH).json["environments"]]


def test_what_is_wrong_is_said(api: ApiServer) -> None:
    assert api.person.get(f"{PATH}/missing").error["code"] == "not_found"
    assert api.person.put(f"{PATH}/AzureML-x", BODY).error["code"] == "invalid_input"
    assert api.person.put(f"{PATH}/wire", {"definition": 3}).error["code"] == "invalid_input"
