"""Conda packages: solved and installed by py-rattler in a process of its own (`worker.py`), led by `builder.py`."""
