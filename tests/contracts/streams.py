"""What every store promises of streams of text (`roost.store.base.Streams`), as tests."""

from itertools import cycle

from tests.contracts.store import StoreContract, at_once

from roost.store.base import Merge, Store


class StreamsContract(StoreContract):
    def test_a_stream_is_read_from_any_offset(self, store: Store) -> None:
        self.make(store, "r1")
        text = bytes(range(256)) * 4000  # more than a megabyte
        pieces = [text[:1], text[1:50], text[50:20_000], text[20_000:20_001], text[20_001:]]
        at = 0
        for piece in pieces:
            at = store.streams.append("r1", "log", at, piece)
        assert store.streams.size("r1", "log") == at == len(text)
        for offset, limit in (
            (0, 10),
            (0, 10**9),
            (49, 3),
            (19_999, 5),
            (262_143, 300_000),
            (len(text) - 1, 9),
            (5, 0),
        ):
            assert store.streams.read("r1", "log", offset, limit) == text[offset : offset + limit]
        assert store.streams.read("r1", "log", len(text), 9) == b""
        assert store.streams.read("r1", "nothing", 0, 9) == b""
        assert store.streams.size("r1", "nothing") is None

    def test_a_long_stream_is_read_from_any_offset(self, store: Store) -> None:
        self.make(store, "r1")
        text = b"".join(b"line %07d\n" % number for number in range(1_500_000))  # 19.5 MB
        sizes = cycle((70_000, 2_000_000, 5, 900_000, 300_000, 6_000_000))
        at = 0
        while at < len(text):
            piece = text[at : at + next(sizes)]
            assert store.streams.append("r1", "log", at, piece) == at + len(piece)
            assert store.streams.append("r1", "log", at, piece) == at + len(piece), "taken in once"
            assert store.streams.read("r1", "log", at + len(piece) - 5, 99) == piece[-5:]
            at += len(piece)
        assert store.streams.read("r1", "log", 0, 10**9) == text
        for offset in range(0, len(text), 777_777):
            assert store.streams.read("r1", "log", offset, 1_000_000) == text[offset : offset + 1_000_000]
        assert store.streams.append("r1", "log", 0, text[:9_000_000], reset=True) == 9_000_000
        assert store.streams.append("r1", "log", 9_000_000, b"end") == 9_000_003
        assert store.streams.read("r1", "log", 0, 10**9) == text[:9_000_000] + b"end"

    def test_a_stream_takes_in_only_at_its_mark(self, store: Store) -> None:
        self.make(store, "r1")
        assert store.streams.append("r1", "log", 3, b"abc") == 0
        assert store.streams.append("r1", "log", 0, b"abc") == 3
        assert store.streams.append("r1", "log", 0, b"abc") == 3
        assert store.streams.append("r1", "log", 3, b"") == 3
        assert store.streams.read("r1", "log", 0, 99) == b"abc"

    def test_a_reset_begins_anew(self, store: Store) -> None:
        self.make(store, "r1")
        store.streams.append("r1", "log", 0, b"x" * 300_000)
        assert store.streams.append("r1", "log", 0, b"new", reset=True) == 3
        assert store.streams.append("r1", "log", 3, b"er") == 5
        assert store.streams.read("r1", "log", 0, 99) == b"newer"
        assert store.streams.append("r1", "log", 4, b"?", reset=True) == 0
        assert store.streams.append("r1", "fresh", 0, b"a", reset=True) == 1

    def test_streams_are_listed_and_dropped(self, store: Store) -> None:
        self.make(store, "r1")
        self.make(store, "r2")
        for run_id, name in (("r1", "b"), ("r1", "a"), ("r2", "a")):
            store.streams.append(run_id, name, 0, b"text")
        store.streams.append("r1", "empty", 0, b"")
        assert store.streams.names("r1") == ["a", "b", "empty"]
        store.streams.drop("r1", ["a", "empty", "nothing"])
        assert store.streams.names("r1") == ["b"]
        assert store.streams.size("r1", "a") is None
        assert store.streams.read("r2", "a", 0, 9) == b"text"

    def test_many_small_appends_by_many(self, store: Store) -> None:
        self.make(store, "r1")
        text = b"".join(b"line %04d\n" % i for i in range(400))

        def send(thread: int) -> None:
            at = 0
            while at < len(text):
                at = store.streams.append("r1", "log", at, text[at : at + 10])

        at_once(send, 4)
        assert store.streams.read("r1", "log", 0, 10**6) == text

    def test_whole_lines_of_ranks_come_together_once(self, store: Store) -> None:
        self.make(store, "r1")
        one, two = Merge("all", b"[0] "), Merge("all", b"[1] ")
        store.streams.append("r1", "0", 0, b"a\nb", into=one)
        store.streams.append("r1", "1", 0, b"x\n", into=two)
        store.streams.append("r1", "0", 0, b"a\nb", into=one)
        store.streams.append("r1", "0", 3, b"c\n\nd", into=one)
        assert store.streams.read("r1", "all", 0, 99) == b"[0] a\n[1] x\n[0] bc\n[0] \n"
        store.streams.merge_rest("r1", "0", one)
        store.streams.merge_rest("r1", "0", one)
        store.streams.merge_rest("r1", "1", two)
        assert store.streams.read("r1", "all", 0, 99) == b"[0] a\n[1] x\n[0] bc\n[0] \n[0] d\n"
        assert store.streams.read("r1", "0", 0, 99) == b"a\nbc\n\nd"

    def test_a_rank_whose_log_became_another_leaves_nothing_in_the_merged_one(self, store: Store) -> None:
        self.make(store, "r1")
        one, two = Merge("all", b"[0] "), Merge("all", b"[1] ")
        store.streams.append("r1", "1", 0, b"x\n", into=two)
        store.streams.append("r1", "0", 0, b"secret\n", into=one)
        store.streams.append("r1", "0", 0, b"***\n", reset=True, into=one)
        store.streams.append("r1", "1", 2, b"y\n", into=two)
        assert store.streams.read("r1", "all", 0, 99) == b"[1] x\n[0] ***\n[1] y\n"

    def test_lines_of_ranks_that_have_ended_stay_when_another_is_sent_anew(self, store: Store) -> None:
        self.make(store, "r1")
        merges = [Merge("all", f"[{rank}] ".encode()) for rank in range(3)]
        said = {rank: b"".join(b"%d says %d\n" % (rank, line) for line in range(200_000)) for rank in range(3)}
        for rank, text in said.items():
            for at in range(0, len(text), 100_000):
                store.streams.append("r1", str(rank), at, text[at : at + 100_000], into=merges[rank])
        store.streams.append("r1", "all", store.streams.size("r1", "all") or 0, b"[roost] said\n")
        store.streams.drop("r1", ["0"])
        store.streams.append("r1", "1", 0, b"***\n", reset=True, into=merges[1])
        store.streams.append("r1", "2", len(said[2]), b"more\n", into=merges[2])
        lines = store.streams.read("r1", "all", 0, 10**8).splitlines()
        assert [line[4:] for line in lines if line.startswith(b"[0] ")] == said[0].splitlines()
        assert [line[4:] for line in lines if line.startswith(b"[1] ")] == [b"***"]
        assert [line[4:] for line in lines if line.startswith(b"[2] ")] == [*said[2].splitlines(), b"more"]
        assert b"[roost] said" in lines

    def test_a_line_that_never_ends_is_broken_and_not_kept_back(self, store: Store) -> None:
        self.make(store, "r1")
        one = Merge("all", b"[0] ")
        bar, at = b"step \r" * 30_000, 0
        for _ in range(8):
            at = store.streams.append("r1", "0", at, bar, into=one)
            kept_back = at - (store.streams.size("r1", "all") or 0)
            assert kept_back <= 64 * 1024
        store.streams.append("r1", "0", at, b"done\nand", into=one)
        merged = store.streams.read("r1", "all", 0, 10**8)
        lines = merged.split(b"\n")
        assert all(line.startswith(b"[0] ") and len(line) <= 300_000 for line in lines[:-1])
        assert b"".join(line[4:] for line in lines) == bar * 8 + b"done"
        assert lines[-2:] == [b"[0] done", b""]

    def test_many_ranks_at_once_lose_no_line(self, store: Store) -> None:
        self.make(store, "r1")

        def work(rank: int) -> None:
            at = 0
            for number in range(20):
                line = f"{number}\n".encode()
                at = store.streams.append("r1", str(rank), at, line, into=Merge("all", f"[{rank}] ".encode()))

        at_once(work, 6)
        lines = store.streams.read("r1", "all", 0, 10**6).decode().splitlines()
        assert sorted(lines) == sorted(f"[{rank}] {number}" for rank in range(6) for number in range(20))
