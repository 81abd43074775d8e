"""The agent's door: answers the requests of a running script over a Unix socket. Start with `door.py`."""
