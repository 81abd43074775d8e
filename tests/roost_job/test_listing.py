"""A list of names that was cut says so."""

import pytest

from roost_job.listing import some


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, ""),
        (1, "0"),
        (5, "0, 1, 2, 3, 4"),
        (6, "0, 1, 2, 3, 4, 5"),
        (9, "0, 1, 2, 3, 4 and 4 more"),
    ],
)
def test_the_first_few_and_how_many_more(count: int, text: str) -> None:
    assert some(range(count)) == text
