"""A file on its way into the cache while others use, bring and take away blocks of it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.shared.servers import Server, content

from roost.data import blocks
from roost.data.addresses import Addresses
from roost.data.blocks import BLOCK, Part
from roost.data.transfers import Transfer
from roost.data.web import Web
from roost.domain.datastores import Item

SIZE = 3 * BLOCK + 100
DATA = content(SIZE)
Stretch = Callable[[Item, int, int, Callable[[int], None]], bool]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "file"


@pytest.fixture
def part(place: Path) -> Iterator[Part]:
    made = Part(place, SIZE)
    yield made
    made.close()


@pytest.fixture
def stretch(part: Part, hasty: Callable[[], Web]) -> Iterator[Stretch]:
    web = hasty()

    def go(item: Item, first: int, last: int, came: Callable[[int], None]) -> bool:
        return Transfer(web, Addresses([item]), came).stretch(item, part, first, last)

    yield go
    web.close()


def put(part: Part, block: int) -> None:
    part.write(memoryview(DATA)[block * BLOCK : (block + 1) * BLOCK], block * BLOCK)
    part.mark(block)


class TestAServerWithoutRanges:
    """It sends blocks that nobody asked for along with the one that somebody did."""

    def test_they_are_kept(self, server: Server, part: Part, place: Path, stretch: Stretch) -> None:
        assert not stretch(server.put("a", DATA, ranges=False), 2, 3, lambda _: None)
        assert part.finish(place, None) and place.read_bytes() == DATA

    @pytest.mark.parametrize("here", [True, False])
    def test_one_that_is_taken_away_meanwhile_is_whole_or_not_here(
        self, server: Server, part: Part, place: Path, stretch: Stretch, here: bool
    ) -> None:
        if here:
            put(part, 0)
        freed = []
        stretch(server.put("a", DATA, ranges=False), 2, 3, lambda _: freed.append(blocks.take_away(place, 0)))
        assert freed[0] == (BLOCK if here else 0), "one that is being written is not given back"
        assert part.read(0, BLOCK) in (None, DATA[:BLOCK])
        assert part.read(2 * BLOCK, BLOCK) == DATA[2 * BLOCK : 3 * BLOCK]

    def test_what_another_brings_is_left_to_it(self, server: Server, part: Part, place: Path, stretch: Stretch) -> None:
        other = Part(place, SIZE)
        with other.filling(0, 1) as claim:
            stretch(server.put("a", DATA, ranges=False), 2, 3, lambda _: None)
            assert claim.takes(0) and not part.has(0) and part.has(1)
            put(other, 0)
        assert part.finish(place, None) and place.read_bytes() == DATA
        other.close()

    def test_a_cut_in_the_middle_of_a_block_leaves_it_out(self, server: Server, part: Part, stretch: Stretch) -> None:
        item = server.put("a", DATA, ranges=False, cut_at=BLOCK // 2, cuts=1)
        seen: list[bool] = []
        stretch(item, 2, 3, lambda _: seen.append(part.has(0)))
        assert not any(seen[:1]) and part.read(0, BLOCK) == DATA[:BLOCK]
