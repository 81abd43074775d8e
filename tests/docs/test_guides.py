"""The Python and shell blocks of the pages run, against a control plane of their own."""

import re
import tomllib
from pathlib import Path

import pytest
from tests.docs.reading import NotRun, blocks, read, way
from tests.docs.table import PAGES

from roost import Environment

ROOT = Path(__file__).parents[2]
READ = ["README.md", "docs/start.md", *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/guides/*.md"))]


def test_every_page_with_code_is_in_the_table() -> None:
    with_code = [name for name in READ if blocks((ROOT / name).read_text())]
    assert sorted(PAGES) == sorted(with_code)


@pytest.mark.parametrize("name", PAGES)
def test_every_entry_of_the_table_fits_one_block(name: str) -> None:
    printed = [code for _, code in blocks((ROOT / name).read_text())]
    page = PAGES[name]
    assert {piece: sum(piece in code for code in printed) for piece in page.blocks} == dict.fromkeys(page.blocks, 1)
    assert [old for old in page.changes if not any(old in code for code in printed)] == []
    skipped = [(code, entry) for code in printed if isinstance(entry := way(page, code), NotRun)]
    for code, entry in skipped:
        assert entry.reason, code
        for test in re.findall(r"tests/[\w/]+\.py", entry.reason):
            assert (ROOT / test).exists(), f"{test} runs the block, says the table"


def test_blocks_of_settings_can_be_read(tmp_path: Path) -> None:
    """YAML is a file of conda, TOML is a file of the control plane."""
    pages = "\n".join((ROOT / name).read_text() for name in READ)
    conda, toml = (re.findall(rf"^```{name}\n(.*?)^```$", pages, re.MULTILINE | re.DOTALL) for name in ("yaml", "toml"))
    assert conda and toml
    for code in conda:
        (tmp_path / "conda.yml").write_text(code)
        assert Environment.from_conda_specification("guide", str(tmp_path / "conda.yml"))
    assert all(tomllib.loads(code) for code in toml)


def test_few_blocks_do_not_run() -> None:
    entries = [way(page, code) for name, page in PAGES.items() for _, code in blocks((ROOT / name).read_text())]
    reasons = [entry.reason for entry in entries if isinstance(entry, NotRun)]
    print(f"{len(entries) - len(reasons)} of {len(entries)} blocks run. The others:", *reasons, sep="\n- ")
    assert len(reasons) <= 12, "a block that is added to a guide runs, unless it needs more than one machine"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.timeout(400)
@pytest.mark.parametrize("name", PAGES)
def test_the_blocks_of_a_page_run(name: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "reader"
    folder.mkdir()
    monkeypatch.chdir(folder)
    text = (ROOT / name).read_text()
    counts = read(text, PAGES[name], folder)
    assert sum(counts.values()) == len(blocks(text))
    print(name, counts)
