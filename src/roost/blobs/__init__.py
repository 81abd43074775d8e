"""Bytes, named by their BLAKE3 hash. `base.py` is the promise; `folder.py` keeps it on a local folder."""
