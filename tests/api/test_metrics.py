"""Metrics over HTTP: spool bytes in, always valid JSON out."""

import math

from tests.shared.api_servers import ApiServer
from tests.shared.contexts import submit

from roost_job.tracking import records


def _spool(*values: float) -> bytes:
    points = (
        records.frame(records.FLOAT_BODY.pack(records.FLOAT, 1, step, float(step), value))
        for step, value in enumerate(values)
    )
    return records.header(space="user") + records.name(1, "loss") + b"".join(points)


def test_in_once_and_back(api: ApiServer) -> None:
    run = submit(api.context)
    own, spool = api.run_client(run.id), _spool(1.0, 0.5, 0.25)
    path = f"/api/runs/{run.id}/spools/node0-1-abc"
    for _ in range(2):
        taken = own.post(f"{path}?offset=0", spool).json
        assert (taken["offset"], taken["damaged"]) == (len(spool), False)
    assert own.get(f"/api/runs/{run.id}/metrics").json == {"metrics": {"loss": [1.0, 0.5, 0.25]}}
    assert own.get(f"/api/runs/{run.id}/metrics?name=other").json == {"metrics": {}}
    (summary,) = own.get(f"/api/runs/{run.id}/metrics/summary").json["metrics"]
    assert (summary["name"], summary["count"], summary["last"], summary["most"]) == ("loss", 3, 0.25, 1.0)
    chart = own.get(f"/api/runs/{run.id}/metrics/points?name=loss&buckets=10").json
    assert chart == {
        "name": "loss",
        "count": 3,
        "indexes": [0, 1, 2],
        "steps": [0, 1, 2],
        "times": [0.0, 1.0, 2.0],
        "values": [1.0, 0.5, 0.25],
    }


def test_numbers_that_json_has_no_word_for(api: ApiServer) -> None:
    run = submit(api.context)
    spool = _spool(math.nan, math.inf, -math.inf, 1.0) + records.name(2, "table")
    spool += records.obj(2, records.NO_STEP, 1.0, "row", {"a": math.nan})
    api.person.post(f"/api/runs/{run.id}/spools/s?offset=0", spool)
    found = api.person.get(f"/api/runs/{run.id}/metrics").json["metrics"]
    assert found["loss"] == [{"float": "NaN"}, {"float": "Infinity"}, {"float": "-Infinity"}, 1.0]
    assert found["table"] == {"a": {"float": "NaN"}}
    assert api.person.get(f"/api/runs/{run.id}/metrics/summary").status == 200
    assert api.person.get(f"/api/runs/{run.id}/metrics/points?name=loss").json["values"] == [None, None, None, 1.0]


def test_odd_requests(api: ApiServer) -> None:
    run = submit(api.context)
    for query in ("", "?offset=-1", "?offset=x"):
        answer = api.person.post(f"/api/runs/{run.id}/spools/s{query}", b"")
        assert (answer.status, answer.error["code"]) == (400, "invalid_input")
        assert "offset" in answer.error["message"]
    assert api.person.post(f"/api/runs/{run.id}/spools/..%2f..%2fs?offset=0", b"").status in (400, 404)
    assert api.person.get(f"/api/runs/{run.id}/metrics/points?name=a&buckets=0").status == 400
    assert api.person.get(f"/api/runs/{run.id}/metrics/summary?space=outer").status == 400
