"""Pip packages: locked and installed by uv (`builder.py`), compiled here when there is no wheel (`compiling.py`, `wheels.py`)."""
