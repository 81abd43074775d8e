"""The control plane as a process. `__main__.py` starts it, `settings.py` has its settings, `wiring.py` picks implementations."""
