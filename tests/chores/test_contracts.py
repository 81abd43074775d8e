"""The contracts of the store serve projects outside of this one, and every store of ours is held to all of them."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.contracts.store import StoreContract

ROOT = Path(__file__).parents[2]
THEIRS = """
import pytest
{imports}

from roost.store import open_store

class Ours:
    @pytest.fixture
    def store(self):
        store = open_store("sqlite://")
        yield store
        store.close()

{classes}
"""


def contracts() -> dict[str, str]:
    """The modules of the contracts of the store by class."""
    found = {}
    for path in sorted((ROOT / "tests" / "contracts").glob("*.py")):
        module = importlib.import_module(f"tests.contracts.{path.stem}")
        for name, each in vars(module).items():
            if isinstance(each, type) and issubclass(each, StoreContract) and each.__module__ == module.__name__:
                found[name] = module.__name__
    del found["StoreContract"]
    return found


def as_they_would(folder: Path, *words: str, names: "dict[str, str]") -> "subprocess.CompletedProcess[str]":
    """Runs contracts from a folder elsewhere, with no conftest and no settings of this repository."""
    imports = "\n".join(f"from {module} import {name}" for name, module in names.items())
    classes = "\n".join(f"class Test{name}(Ours, {name}): ..." for name in names)
    classes += "".join(f"\ndel {name}" for name in names)
    (folder / "test_theirs.py").write_text(THEIRS.format(imports=imports, classes=classes))
    command = [sys.executable, "-m", "pytest", "-q", "--noconftest", "-p", "no:cacheprovider", "-c", os.devnull]
    variables = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}
    done = subprocess.run(
        [*command, "--rootdir", str(folder), *words, str(folder / "test_theirs.py")],
        env=variables,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def test_each_needs_one_fixture_and_no_conftest(tmp_path: Path) -> None:
    names = contracts()
    assert {"RunsContract", "MetricsContract", "ComputeContract", "UpkeepContract"} <= set(names)
    plan = as_they_would(tmp_path, "--setup-plan", names=names).stdout
    planned = set(re.findall(r"::Test(\w+)::test_", plan))
    assert planned == set(names)
    own = {"store", "tmp_path", "tmp_path_factory", "monkeypatch", "_places"}
    assert set(re.findall(r"SETUP    \w (\w+)(?![\w[])", plan)) <= own, (
        "fixtures of pytest and of the contracts themselves"
    )


def test_they_pass_elsewhere(tmp_path: Path) -> None:
    names = {name: module for name, module in contracts().items() if name in ("FilesContract", "SecretsContract")}
    assert len(names) == 2
    assert re.search(r"^[1-9]\d* passed", as_they_would(tmp_path, names=names).stdout, re.MULTILINE)


def test_a_subclass_without_a_store_is_told_what_to_supply() -> None:
    with pytest.raises(NotImplementedError, match="StoreContract has no fixture `store`"):
        StoreContract.store.__wrapped__(StoreContract())  # type: ignore[attr-defined]


@pytest.mark.parametrize("where", ["tests/store", "tests/real/test_postgres.py"])
def test_every_store_of_ours_is_held_to_all(where: str) -> None:
    place = ROOT / where
    texts = [path.read_text() for path in (place.glob("test_*.py") if place.is_dir() else [place])]
    held = {name for text in texts for name in re.findall(r"(\w+Contract)[,)]", text)}
    assert set(contracts()) <= held
