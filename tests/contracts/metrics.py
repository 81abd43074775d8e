"""What every store promises of metrics (`roost.store.base.Metrics`), as tests."""

import math
from array import array

from tests.contracts.store import HEADER, StoreContract, at_once, logged, numbers, ship

from roost.domain.metrics import Encoding, Series, Space, points
from roost.domain.spools import Batch, decode
from roost.store.base import Store
from roost_job.tracking import records


class MetricsContract(StoreContract):
    def test_points_come_back_with_their_summary(self, store: Store) -> None:
        self.make(store, "r1")
        data = HEADER + records.name(1, "loss") + numbers(0, 3) + records.name(2, "rows")
        data += records.obj(2, records.NO_STEP, 4.0, "row", {"x": 1}) + records.obj(
            2, records.NO_STEP, 5.0, "row", {"x": 2}
        )
        assert ship(store, "r1", "s", data) == len(data)
        assert logged(store, "r1", "loss") == [0.0, 1.0, 2.0]
        assert logged(store, "r1", "rows") == {"x": [1, 2]}
        assert store.metrics.series("r1", "nothing") == []
        loss, rows = store.metrics.summaries("r1")
        assert (loss.name, loss.space, loss.kind, loss.count) == ("loss", Space.USER, "scalar", 3)
        assert (loss.last, loss.least, loss.most, loss.last_step, loss.last_at) == (2.0, 0.0, 2.0, 2, 2.0)
        assert (rows.kind, rows.count, rows.last, rows.least, rows.last_step, rows.last_at) == (
            "row",
            2,
            None,
            None,
            None,
            5.0,
        )

    def test_numbers_that_are_none_are_kept(self, store: Store) -> None:
        self.make(store, "r1")
        for spool, values in (("a", [1.0, math.nan]), ("b", [math.inf]), ("c", [-math.inf, math.nan])):
            store.metrics.append("r1", spool, 0, batch_of(spool, values))
        one, two, three = store.metrics.summaries("r1")
        assert (math.isnan(one.last or 0.0), one.least, one.most) == (True, 1.0, 1.0)
        assert (two.last, two.least, two.most) == (math.inf, None, None)
        assert (math.isnan(three.last or 0.0), three.least) == (True, None)
        store.metrics.append("r1", "a", 8, batch_of("a", [4.0]))
        assert store.metrics.summaries("r1")[0].last == 4.0
        assert str(logged(store, "r1", "a")) == "[1.0, nan, 4.0]"

    def test_only_the_mark_is_taken_in(self, store: Store) -> None:
        self.make(store, "r1")
        data = HEADER + records.name(1, "loss") + numbers(0, 10)
        batch = decode(data, {})
        assert store.metrics.append("r1", "s", 5, batch) == 0
        assert store.metrics.append("r1", "s", 0, batch) == len(data)
        assert store.metrics.append("r1", "s", 0, batch) == len(data)
        assert store.metrics.summaries("r1")[0].count == 10
        state = store.metrics.spool("r1", "s")
        assert (state.offset, dict(state.names), state.space, state.damaged) == (
            len(data),
            {1: "loss"},
            Space.USER,
            False,
        )
        assert store.metrics.spool("r1", "another").offset == 0

    def test_names_are_known_later(self, store: Store) -> None:
        self.make(store, "r1")
        data = HEADER
        for i in range(5):
            data += records.name(i, f"m{i}") + numbers(0, 1, i) + numbers(7, 1, 0)
            ship(store, "r1", "s", data)
        assert dict(store.metrics.spool("r1", "s").names) == {i: f"m{i}" for i in range(5)}
        assert logged(store, "r1", "m0") == [0.0, 7.0, 7.0, 7.0, 7.0, 7.0]
        assert logged(store, "r1", "m4") == 0.0

    def test_the_systems_metrics_stand_apart(self, store: Store) -> None:
        self.make(store, "r1")
        ship(store, "r1", "u", HEADER + records.name(1, "cpu") + numbers(1, 1))
        data = records.header(space="system") + records.name(1, "cpu") + numbers(2, 1)
        ship(store, "r1", "s", data)
        ship(store, "r1", "s", data + numbers(3, 1))  # a later stretch has no header
        assert logged(store, "r1", "cpu") == 1.0
        assert logged(store, "r1", "cpu", Space.SYSTEM) == [2.0, 3.0]
        assert [s.count for s in store.metrics.summaries("r1", Space.SYSTEM)] == [2]

    def test_spools_come_apart_and_in_order(self, store: Store) -> None:
        self.make(store, "r1")
        names = HEADER + records.name(1, "loss")
        for first in (0, 20, 40):
            for spool, shift in (("a", 0), ("b", 10)):
                data = names + b"".join(numbers(i, 5) for i in range(shift, first + shift + 1, 20))
                ship(store, "r1", spool, data)
        a, b = store.metrics.series("r1", "loss")
        assert store.metrics.every_series("r1") == {"loss": [a, b]}
        for spool, shift in ((a, 0), (b, 10)):
            values = [point.value for part in spool for point in points(part)]
            assert values == [float(i + shift + j) for i in (0, 20, 40) for j in range(5)]

    def test_damage_is_remembered(self, store: Store) -> None:
        self.make(store, "r1")
        good = HEADER + records.name(1, "loss") + numbers(0, 10)
        bad = bytearray(good + numbers(10, 1))
        bad[-1] ^= 1
        assert ship(store, "r1", "s", bytes(bad)) == len(good)
        state = store.metrics.spool("r1", "s")
        assert (state.offset, state.damaged) == (len(good), True)

    def test_a_slow_logger_leaves_few_chunks(self, store: Store) -> None:
        self.make(store, "r1")
        data = HEADER + records.name(1, "loss")
        ship(store, "r1", "s", data)
        at = len(data)
        for i in range(600):
            batch = decode(numbers(i, 1), {1: "loss"})
            at = store.metrics.append("r1", "s", at, batch)
        (spool,) = store.metrics.series("r1", "loss")
        assert len(spool) <= 12
        assert [point.value for part in spool for point in points(part)] == [float(i) for i in range(600)]

    def test_whole_and_broken_numbers_keep_their_type_and_leave_few_chunks(self, store: Store) -> None:
        self.make(store, "r1")
        expected: list[float] = []
        at = 0
        for i in range(40):
            values: list[float] = [i] if i % 3 else [i / 2, i]
            expected += values
            at = store.metrics.append("r1", "s", at, batch_of("x", values))
        (spool,) = store.metrics.series("r1", "x")
        found = [point.value for part in spool for point in points(part)]
        assert list(map(repr, found)) == list(map(repr, expected))
        assert len(spool) <= 12
        assert store.metrics.summaries("r1")[0].most == 39.0

    def test_ten_thousand_names_in_one_batch(self, store: Store) -> None:
        self.make(store, "r1")
        data = HEADER + b"".join(records.name(i, f"m{i:05}") for i in range(10_000))
        data += b"".join(numbers(i, 1, i) for i in range(10_000))
        assert ship(store, "r1", "s", data) == len(data)
        assert ship(store, "r1", "s", data + b"".join(numbers(i, 1, i) for i in range(10_000))) > len(data)
        summaries = store.metrics.summaries("r1")
        assert [s.last for s in summaries] == [float(i) for i in range(10_000)]
        assert {s.count for s in summaries} == {2}
        every = store.metrics.every_series("r1")
        assert list(every) == [s.name for s in summaries]
        assert every["m00042"] == store.metrics.series("r1", "m00042")

    def test_a_batch_is_taken_in_once_however_many_send_it(self, store: Store) -> None:
        self.make(store, "r1")
        data = HEADER + records.name(1, "loss") + numbers(0, 200)
        cuts = [len(HEADER), *range(len(data) - 200 * 37, len(data) + 1, 37 * 10)]

        def send(thread: int) -> int:
            mark = 0
            while mark < len(data):
                state = store.metrics.spool("r1", "s")
                mark = state.offset
                end = next((cut for cut in cuts if cut > mark), len(data))
                mark = store.metrics.append("r1", "s", mark, decode(data[mark:end], state.names))
            return mark

        assert set(at_once(send, 6)) == {len(data)}
        assert logged(store, "r1", "loss") == [float(i) for i in range(200)]
        assert store.metrics.summaries("r1")[0].count == 200


def batch_of(name: str, values: list[float]) -> Batch:
    """A batch of one metric, as long as four bytes a value."""
    series = [
        Series(
            name,
            Encoding.FLOAT if isinstance(value, float) else Encoding.INT,
            1,
            array("q", [records.NO_STEP]).tobytes(),
            array("d", [1.0]).tobytes(),
            array("d" if isinstance(value, float) else "q", [value]).tobytes(),  # type: ignore[list-item]
        )
        for value in values
    ]
    return Batch(4 * len(values), {}, series, None, False)
