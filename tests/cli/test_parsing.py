"""What people type: ages, times, tags."""

import pytest

from roost.cli.inputs import parsing
from roost.domain.errors import InvalidInput


def test_ages_and_times() -> None:
    assert parsing.seconds("90s") == 90
    assert parsing.seconds("1.5h") == 5400
    assert parsing.seconds("2W") == 2 * 7 * 86400
    assert parsing.moment("2026-11-01") < parsing.moment("2026-11-01T09:30") < parsing.moment("2026-11-02")
    for wrong in ("", "3", "h", "3y", "2026-13-01"):
        with pytest.raises(InvalidInput):
            parsing.moment(wrong)


def test_tags() -> None:
    assert parsing.tags(["a=b=c", "d", "e="]) == {"a": "b=c", "d": None, "e": ""}
    with pytest.raises(InvalidInput):
        parsing.tags(["=x"])


@pytest.mark.parametrize(
    ("age", "text"),
    [
        ("5m", "5 minutes"),
        ("1h", "1 hour"),
        ("90s", "90 seconds"),
        ("14d", "2 weeks"),
        ("30d", "30 days"),
        ("0s", "0 seconds"),
    ],
)
def test_ages_in_full(age: str, text: str) -> None:
    assert parsing.in_full(age) == text
    assert parsing.submitted_before(age) == f"submitted more than {text} ago"


def test_months_are_counted_in_days() -> None:
    with pytest.raises(InvalidInput) as wrong:
        parsing.seconds("5mo")
    assert wrong.value.hint == "A number and a unit: 90s, 30m (minutes), 12h, 7d or 2w. Count months in days: 150d."
