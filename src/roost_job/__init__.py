"""Roost inside the user's process: logging, uploads, tags. Python 3.6 to 3.13, standard library only, imports nothing of ours.

Start at `run.py` (what a script holds in its hand); `tracking/spool.py` is where a log call ends, `door.py` how it asks its agent.
"""
