"""What the parts of the real tests share: a browser that complains of nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.real.browsers import Browser, check


@pytest.fixture
def browser(tmp_path: Path, home: Path) -> Iterator[Browser]:
    """`home` is here so that its control plane ends after the browser, which asks it again and again."""
    check()
    made = Browser(tmp_path / "profile")
    try:
        yield made
        assert made.run("return window.hacked") is None
        assert [text for text in made.complaints() if "401" not in text] == []
    finally:
        made.quit()
