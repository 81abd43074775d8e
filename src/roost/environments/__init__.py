"""Environments on a node: recipe → lock → prefix. `base.py` is the promise and the prefix's life, `builders.py` knows who builds
what. `uv.py` is the builder for pip packages: it looks for Pythons (`pythons.py`), passes on how pip is set up here
(`pip_settings.py`, `pip_options.py`), and has compiled what must be (`compiling.py`, `wheels.py`). `conda.py` is the builder for
conda packages: py-rattler in a process of its own (`conda_process.py`, `conda_worker.py`), with conda's settings
(`conda_settings.py`).
"""
