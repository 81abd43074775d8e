"""A package of somebody else that has an engine: what pip leaves of one, in a folder of a test."""

from pathlib import Path


def install(folder: Path, **engines: str) -> Path:
    """Entry points of engines, name=module; the folder is to be put on the path."""
    info = folder / "somebodys_engines-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: somebodys-engines\nVersion: 1.0\n")
    lines = [f"{name} = {module}" for name, module in engines.items()]
    (info / "entry_points.txt").write_text("\n".join(["[roost.engines]", *lines, ""]))
    return folder
