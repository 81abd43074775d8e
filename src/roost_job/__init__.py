"""Roost inside the user's process: logging, uploads, tags. Python 3.6 to 3.13, standard library only, imports nothing of ours.

Start at `run.py`, the object in the hand of a script; `tracking/spool.py` takes what is logged, `door.py` asks the agent.
"""
