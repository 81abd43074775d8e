"""The control plane as a process. It starts in `__main__.py`; `settings.py` has its settings, `wiring.py` picks implementations
by them."""
