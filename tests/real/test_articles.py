"""The five articles, read as a new user reads them: every code block, top to bottom, in a new ROOST_HOME, in the environments of
their years (PyTorch 1.4, 1.6 and 1.13, TensorFlow 2.2, Horovod 0.19 and 0.28, Python 3.6 and 3.8).

The blocks are in `articles/`, as printed. Changed are the host of the data, the number of epochs, and `nccl`, which needs GPUs.
The scripts that the articles train are not printed in them: those of `examples/` stand in.
"""

import functools
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests import skips
from tests.real import caches, stories
from tests.shared.interpreters import python

from roost import Workspace

pytestmark = [pytest.mark.real, pytest.mark.timeout(1500)]
ARTICLES = Path(__file__).with_name("articles")
ROOT = Path(__file__).parents[2]
SCRIPTS = ("birds/scripts", "mnist/scripts", "distributed/scripts")
BEFORE = "import json\nfrom pathlib import Path\nfrom tests.real.gloo import completed\n"
PYTORCH = ("file", "clone", "curated")
FEWER_EPOCHS = {"'--num_epochs', 30": "'--num_epochs', 5"}
GLOO = {"'nccl'": "'gloo'", "'Nccl'": "'Gloo'"}


@pytest.fixture(autouse=True)
def cache(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is downloaded and compiled is kept for the next time, with that of other parts."""
    caches.keep_builds(monkeypatch)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.fixture
def desk(home: Path, tmp_path: Path) -> Path:
    """Where the reader sits: the workspace's file and the scripts beside the notebook."""
    python("3.6")
    skips.needs("mpi")
    folder = tmp_path / "desk"
    folder.mkdir()
    for place in SCRIPTS:
        for path in (ROOT / "examples" / place).glob("*.py"):
            shutil.copy(path, folder)
    Workspace.create(name="articles").write_config(path=folder)
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A host for the data, whose own is gone: its address, and the folder behind it."""
    folder = tmp_path / "data"
    folder.mkdir()
    subprocess.run([sys.executable, str(ROOT / "examples" / "mnist" / "stand_in.py"), str(folder)], check=True)
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", folder
        server.shutdown()
        thread.join()


def read(article: str, desk: Path, changes: Mapping[str, str], story: str = "", before: str = "") -> str:
    """Runs the blocks as one script; what it printed."""
    text = (ARTICLES / article).read_text()
    (desk / "story.py").write_text(BEFORE + before + stories.script(text, story, PYTORCH, changes))
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "story.py"],
        cwd=desk,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout[-6000:]
    return done.stdout


@pytest.mark.parametrize("story", PYTORCH)
def test_pytorch(desk: Path, story: str) -> None:
    said = read("pytorch.md", desk, FEWER_EPOCHS | GLOO, story)
    assert "Creating a new compute target..." in said
    assert (desk / "AzureML-PyTorch-1.6-GPU" / "conda_dependencies.yml").exists()


def test_tensorflow(desk: Path, data: tuple[str, Path]) -> None:
    host, folder = data
    changes = {"http://yann.lecun.com/exdb/mnist": host, '"--epochs", 30': '"--epochs", 3'}
    said = read("tensorflow.md", desk, changes, before=f"data_folder = {str(folder)!r}\n")
    assert "Creating a new compute target..." in said


def test_the_older_one_with_an_estimator(desk: Path) -> None:
    python("3.8")
    said = read("estimator.md", desk, {"'--num_epochs': 30": "'--num_epochs': 5"})
    assert "torch 1.13.1" in said
    assert "horovod 0.28.1" in said
