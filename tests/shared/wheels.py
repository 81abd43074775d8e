"""Wheels made by hand, and a machine whose pip knows nothing but the folder they are in: no network, no registry."""

import base64
import hashlib
import io
import os
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from roost.domain.recipes import BASICS


def wheel(
    folder: Path, name: str, version: str, *, requires: Sequence[str] = (), files: Mapping[str, str] | None = None
) -> Path:
    """A wheel of pure Python; without files, a module of its name that says its version."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {each}\n" for each in requires)
    content = {
        **(files or {f"{name}.py": f"VERSION = {version!r}\n"}),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},sha256={_digest(text)},{len(text.encode())}\n" for path, text in content.items())
    content[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n"
    made = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(made, "w") as archive:
        for path, text in content.items():
            archive.writestr(path, text)
    return made


def basics(folder: Path) -> None:
    """Stand-ins for what every environment has."""
    for name in BASICS:
        wheel(folder, name, "99.0", files={f"{name}/__init__.py": "STANDS_IN = True\n"})


def pip_config(path: Path, links: Path) -> Path:
    """A pip configuration with that folder as the only place where packages are."""
    path.write_text(f"[global]\nno-index = true\nfind-links = {links}\n")
    return path


def sdist(folder: Path, name: str, version: str, sign: Path, *, against: str = "") -> Path:
    """A source distribution that builds itself without any other package, once the file `sign` is there; until then it
    waits, with its process id in `<sign>.pid`. With `against` it wants that module there while it is built, and says its version
    and the variable RACK; `<sign>.builds` has a line for each time."""
    backend = f"""
import os, time
from pathlib import Path

def build_wheel(folder, config_settings=None, metadata_directory=None):
    Path({f"{sign}.part"!r}).write_text(str(os.getpid()))
    os.rename({f"{sign}.part"!r}, {f"{sign}.pid"!r})
    print("waiting", flush=True)
    while not os.path.exists({str(sign)!r}):
        time.sleep(0.02)
    if {against!r}:
        given = __import__({against!r}).VERSION, os.environ.get("RACK"), os.environ.get("CXX", "")
        Path({f"{sign}.builds"!r}).open("a").write("%s %s\\n" % given[:2])
    else:
        given = ()
    if os.path.exists({f"{sign}.fail"!r}):
        raise SystemExit("rack.cc:1: it does not compile")
    import zipfile
    info = "{name}-{version}.dist-info"
    made = Path(folder, "{name}-{version}-py3-none-any.whl")
    with zipfile.ZipFile(str(made), "w") as archive:
        archive.writestr("{name}.py", "VERSION = {version!r}\\nAGAINST = %r\\n" % (given,))
        archive.writestr(info + "/METADATA", "Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n")
        archive.writestr(info + "/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        archive.writestr(info + "/RECORD", "")
    return made.name
"""
    content = {
        "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
        "backend.py": backend,
        "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
    }
    made = folder / f"{name}-{version}.tar.gz"
    with tarfile.open(made, "w:gz") as archive:
        for path, text in content.items():
            entry = tarfile.TarInfo(f"{name}-{version}/{path}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return made


def machine(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Makes this test's machine one whose pip and uv know nothing but a folder of wheels; that folder."""
    shelf = folder / "shelf"
    basics(shelf)
    for name in [each for each in os.environ if each.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(pip_config(folder / "pip.conf", shelf)))
    monkeypatch.setenv("UV_CACHE_DIR", str(folder / "cache"))
    return shelf


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
