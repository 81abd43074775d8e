"""Metrics: taken in once and in order, whoever ships them; read back as they were logged."""

import struct
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.shared.contexts import ANN, submit

from roost.domain.errors import InvalidInput, NotFound
from roost.domain.metrics import Space
from roost.services import metrics
from roost.services.context import BoundedCache, Context
from roost_job.tracking import records


def _float(number: int, value: float, at: float = 1.0, step: int = records.NO_STEP) -> bytes:
    return records.frame(records.FLOAT_BODY.pack(records.FLOAT, number, step, at, value))


def _int(number: int, value: int, at: float = 1.0) -> bytes:
    return records.frame(records.INT_BODY.pack(records.INT, number, records.NO_STEP, at, value))


HEAD = records.header(space="user", rank=0, pid=1, created=1.0)
SPOOL = HEAD + records.name(1, "loss") + b"".join(_float(1, float(i), float(i)) for i in range(100))


def test_pieces_of_any_size_arrive_once_and_in_order(context: Context) -> None:
    run = submit(context)
    offset = 0
    while offset < len(SPOOL):
        mark = metrics.take_in(context, ANN, run.id, "s-0", offset, SPOOL[offset : offset + 333])
        assert mark.offset > offset
        offset = mark.offset
    assert metrics.read_back(context, ANN, run.id) == {"loss": [float(i) for i in range(100)]}


def test_a_repeated_or_future_piece_changes_nothing(context: Context) -> None:
    run = submit(context)
    assert metrics.take_in(context, ANN, run.id, "s", 0, SPOOL).offset == len(SPOOL)
    for offset in (0, 10, len(SPOOL) + 5):
        assert metrics.take_in(context, ANN, run.id, "s", offset, SPOOL).offset == len(SPOOL)
    assert len(metrics.read_back(context, ANN, run.id)["loss"]) == 100


def test_a_half_frame_waits_for_its_rest(context: Context) -> None:
    run = submit(context)
    assert metrics.take_in(context, ANN, run.id, "s", 0, SPOOL[:5]).offset == 0
    assert metrics.take_in(context, ANN, run.id, "s", 0, b"").offset == 0


def test_two_shippers_of_one_spool_are_harmless(context: Context) -> None:
    run = submit(context)

    def ship(size: int) -> None:
        offset = 0
        while offset < len(SPOOL):
            offset = metrics.take_in(context, ANN, run.id, "s", offset, SPOOL[offset : offset + size]).offset

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(ship, (200, 333, 470, 610)))
    assert metrics.read_back(context, ANN, run.id) == {"loss": [float(i) for i in range(100)]}


def test_names_are_known_again_after_they_were_forgotten(context: Context) -> None:
    run = submit(context)
    cut = len(HEAD + records.name(1, "loss"))
    metrics.take_in(context, ANN, run.id, "s", 0, SPOOL[:cut])
    context.spools.drop((run.id, "s"))
    metrics.take_in(context, ANN, run.id, "s", cut, SPOOL[cut:])
    assert len(metrics.read_back(context, ANN, run.id)["loss"]) == 100


def test_damage_is_said_and_remembered(context: Context) -> None:
    run = submit(context)
    broken = SPOOL + struct.pack("<II", 5, 0) + b"12345"
    mark = metrics.take_in(context, ANN, run.id, "s", 0, broken)
    assert (mark.offset, mark.damaged) == (len(SPOOL), True)
    context.spools.drop((run.id, "s"))
    again = metrics.take_in(context, ANN, run.id, "s", len(SPOOL), b"more")
    assert (again.offset, again.damaged) == (len(SPOOL), True)
    assert len(metrics.read_back(context, ANN, run.id)["loss"]) == 100


def test_whole_numbers_and_fractions_of_one_metric_keep_their_order(context: Context) -> None:
    run = submit(context)
    data = HEAD + records.name(1, "x") + _int(1, 1) + _float(1, 1.5) + _int(1, 2)
    metrics.take_in(context, ANN, run.id, "s", 0, data)
    assert metrics.read_back(context, ANN, run.id) == {"x": [1, 1.5, 2]}


def test_what_the_node_measures_stays_out_of_get_metrics(context: Context) -> None:
    run = submit(context)
    data = records.header(space="system") + records.name(1, "cpu") + _float(1, 50.0)
    metrics.take_in(context, ANN, run.id, "vitals", 0, data)
    assert metrics.read_back(context, ANN, run.id) == {}
    assert [each.name for each in metrics.summaries(context, ANN, run.id, Space.SYSTEM)] == ["cpu"]


def test_a_chart_is_thinned(context: Context) -> None:
    run = submit(context)
    metrics.take_in(context, ANN, run.id, "s", 0, SPOOL)
    chart = metrics.chart(context, ANN, run.id, "loss", 10)
    assert chart.count == 100
    assert (chart.indexes[0], chart.indexes[-1]) == (0, 99)
    assert len(chart.indexes) <= 22
    assert metrics.chart(context, ANN, run.id, "nothing", 10).count == 0


def test_unknown_run_and_odd_spool(context: Context) -> None:
    with pytest.raises(NotFound):
        metrics.take_in(context, ANN, "train_1_ffffffff", "s", 0, SPOOL)
    with pytest.raises(InvalidInput):
        metrics.take_in(context, ANN, submit(context).id, "../s", 0, SPOOL)


def test_a_shelf_forgets_the_oldest() -> None:
    shelf: BoundedCache[str, int] = BoundedCache(2)
    shelf.put("a", 1)
    shelf.put("b", 2)
    assert shelf.get("a") == 1
    shelf.put("c", 3)
    assert (shelf.get("a"), shelf.get("b"), shelf.get("c")) == (1, None, 3)


def test_several_spools_of_one_metric_are_read_back_by_time(context: Context) -> None:
    run = submit(context)
    for spool, values in (("rank-0", (1, 3, 5)), ("rank-1", (2, 4))):
        data = HEAD + records.name(1, "x") + b"".join(_int(1, value, float(value)) for value in values)
        metrics.take_in(context, ANN, run.id, spool, 0, data)
    assert metrics.read_back(context, ANN, run.id) == {"x": [1, 2, 3, 4, 5]}


def test_one_value_is_that_value_and_objects_are_themselves(context: Context) -> None:
    run = submit(context)
    data = HEAD + records.name(1, "once") + _float(1, 0.5) + records.name(2, "words")
    data += records.obj(2, records.NO_STEP, 1.0, "text", "hello")
    metrics.take_in(context, ANN, run.id, "s", 0, data)
    assert metrics.read_back(context, ANN, run.id) == {"once": 0.5, "words": "hello"}
    assert metrics.read_back(context, ANN, run.id, "once") == {"once": 0.5}
