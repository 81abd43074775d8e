"""Pip packages: locked and installed by uv (`builder.py`), compiled here where no wheel is (`compiling.py`, `wheels.py`)."""
