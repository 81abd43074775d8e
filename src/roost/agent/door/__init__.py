"""The agent's door: what a script asks while it runs, over a Unix socket. Start with `door.py`."""
