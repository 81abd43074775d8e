"""An ordinary user for tests that are run by root, who may read everything; and folders that such a user may not read."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_NOBODY = 65534


@contextmanager
def ordinary_user() -> Iterator[None]:
    """This process is an ordinary user's meanwhile: nobody's when it is root's."""
    if os.getuid():
        yield
        return
    os.setresgid(_NOBODY, _NOBODY, 0)
    os.setresuid(_NOBODY, _NOBODY, 0)  # the saved one leads back
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)
        os.setresgid(0, 0, 0)


@pytest.fixture
def closed_folder() -> Iterator[Path]:
    """A folder with mode 000 in one that everybody may enter: pytest's own are for the user who runs it alone."""
    above = Path(tempfile.mkdtemp(prefix="roost-closed-"))
    above.chmod(0o755)
    folder = above / "another's"
    folder.mkdir(mode=0o000)
    yield folder
    folder.chmod(0o700)
    shutil.rmtree(above)
