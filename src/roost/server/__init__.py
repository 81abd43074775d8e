"""The control plane as a process. `__main__.py` is its start, `settings.py` what can be set, `wiring.py` what is chosen."""
