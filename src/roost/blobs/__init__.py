"""Bytes, named by their BLAKE3 hash. `base.py` is the interface; `folder.py` implements it in a local folder."""
