"""Environments on a node: recipe → lock → prefix. `base.py` is the promise and the prefix's life, `uv.py` the builder for pip
packages; it looks for Pythons (`pythons.py`) and passes on how pip is set up here (`pip_settings.py`).
"""
