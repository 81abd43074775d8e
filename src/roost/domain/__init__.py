"""The domain: frozen records and pure functions. No files, network, clock or database here; start with `runs.py`."""
