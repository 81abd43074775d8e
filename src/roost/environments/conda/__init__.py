"""Conda packages: py-rattler solves and installs them in its own process (`worker.py`), which `builder.py` controls."""
