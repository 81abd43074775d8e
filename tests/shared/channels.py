"""Conda channels made by hand, and a machine whose conda knows nothing else: no network, no registry."""

import hashlib
import io
import json
import os
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

SUBDIR = "linux-64"


def package(
    channel: Path,
    name: str,
    version: str,
    build: str = "0",
    *,
    depends: Sequence[str] = (),
    files: Mapping[str, str | bytes] | None = None,
    links: Mapping[str, str] | None = None,
    noarch: str = "",
    placeholder: str = "",
) -> Path:
    """A package in a channel, and in its index; without files it has one that says its version. Where texts have the
    `placeholder`, an installation puts its prefix."""
    subdir = "noarch" if noarch else SUBDIR
    content = {
        path: text.encode() if isinstance(text, str) else text
        for path, text in (files if files is not None else {f"share/{name}.txt": version}).items()
    }
    facts = {
        "name": name,
        "version": version,
        "build": build,
        "build_number": 0,
        "depends": list(depends),
        "subdir": subdir,
        **({"noarch": noarch} if noarch else {}),
    }
    made = channel / subdir / f"{name}-{version}-{build}.tar.bz2"
    made.parent.mkdir(parents=True, exist_ok=True)
    _archive(made, facts, content, links or {}, placeholder)
    _index(channel, made, facts)
    return made


def module(channel: Path, name: str, version: str, *, depends: Sequence[str] = ()) -> Path:
    """A Python package for any Python, with its metadata: a module of its name that says its version."""
    info = f"site-packages/{name}-{version}.dist-info"
    files = {
        f"site-packages/{name}.py": f"VERSION = {version!r}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/RECORD": f"{name}.py,,\n",
        f"{info}/INSTALLER": "conda\n",
    }
    return package(channel, name, version, depends=["python", *depends], files=files, noarch="python")


def python(channel: Path, version: str, interpreter: str) -> Path:
    """A stand-in for conda's Python: what makes a prefix a virtual environment of an interpreter of this machine."""
    minor = ".".join(version.split(".")[:2])
    real = os.path.realpath(interpreter)
    files = {
        "pyvenv.cfg": f"home = {os.path.dirname(real)}\ninclude-system-site-packages = false\nversion = {version}\n",
        f"lib/python{minor}/site-packages/here.txt": "",
    }
    links = {"bin/python": real, "bin/python3": "python", f"bin/python{minor}": "python"}
    return package(channel, "python", version, files=files, links=links)


def machine(folder: Path, monkeypatch: pytest.MonkeyPatch, **settings: object) -> Path:
    """Makes this test's machine one whose conda settings are these alone; the file that has them."""
    for name in [each for each in os.environ if each.startswith(("CONDA", "RATTLER", "MAMBA"))]:
        monkeypatch.delenv(name)
    file = folder / "condarc.yml"
    file.write_text(json.dumps(settings))
    monkeypatch.setenv("CONDARC", str(file))
    return file


def _archive(
    made: Path, facts: Mapping[str, object], content: Mapping[str, bytes], links: Mapping[str, str], placeholder: str
) -> None:
    paths: list[dict[str, object]] = []
    for path, data in content.items():
        digest = hashlib.sha256(data).hexdigest()
        named = {"prefix_placeholder": placeholder, "file_mode": "text"}
        paths.append(
            {
                "_path": path,
                "path_type": "hardlink",
                "sha256": digest,
                "size_in_bytes": len(data),
                **(named if placeholder and placeholder.encode() in data and b"\0" not in data else {}),
            }
        )
    paths += [{"_path": path, "path_type": "softlink"} for path in links]
    info = {
        "info/index.json": json.dumps(facts).encode(),
        "info/paths.json": json.dumps({"paths_version": 1, "paths": paths}).encode(),
        "info/files": "\n".join([*content, *links]).encode(),
    }
    if facts.get("noarch") == "python":
        info["info/link.json"] = json.dumps({"noarch": {"type": "python"}, "package_metadata_version": 1}).encode()
    part = made.with_suffix(".part")
    with tarfile.open(part, "w:bz2") as archive:
        for path, data in {**info, **content}.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            entry.mode = 0o755 if path.startswith("bin/") else 0o644
            archive.addfile(entry, io.BytesIO(data))
        for path, target in links.items():
            entry = tarfile.TarInfo(path)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
    part.rename(made)


def _index(channel: Path, made: Path, facts: Mapping[str, object]) -> None:
    data = made.read_bytes()
    entry = {
        **facts,
        "size": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "md5": hashlib.md5(data).hexdigest(),
    }
    for subdir in ("noarch", SUBDIR):
        file = channel / subdir / "repodata.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        known = json.loads(file.read_text()) if file.exists() else {"info": {"subdir": subdir}, "packages": {}}
        if subdir == made.parent.name:
            known["packages"][made.name] = entry
        file.write_text(json.dumps({**known, "packages.conda": {}, "repodata_version": 1}))
