"""Roost inside the user's process: logging, uploads, tags. Python 3.6 to 3.13, standard library only, imports nothing else of
Roost.

Start at `run.py`, the object that a script uses; `tracking/spool.py` stores what is logged, `door.py` sends requests to the
agent.
"""
