"""An ordinary user for tests that are run by root, who may read everything; folders that such a user may not read, and may."""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests import skips

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


def folder_for_all(prefix: str) -> Path:
    """A new folder that other users may enter: the temporary folder of whoever runs the tests can be theirs alone."""
    for place in map(Path, (tempfile.gettempdir(), "/tmp", "/var/tmp")):
        if place.is_dir() and all(above.stat().st_mode & stat.S_IXOTH for above in (place, *place.parents)):
            folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
            folder.chmod(0o755)
            return folder
    return skips.skip("temporary-folder", "no temporary folder here that other users may enter")


@pytest.fixture
def closed_folder() -> Iterator[Path]:
    """A folder with mode 000 in one that everybody may enter: pytest's own are for the user who runs it alone."""
    above = folder_for_all("roost-closed-")
    folder = above / "another's"
    folder.mkdir(mode=0o000)
    yield folder
    folder.chmod(0o700)
    shutil.rmtree(above)
