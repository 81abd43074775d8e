"""Deeds: one function per thing a person or an agent can do, one file per noun. Start with `house.py`, then `runs.py`.

Functions are plain and synchronous, take the House first, check everything before they change anything, and never
reach an engine: what needs patience is left to `control`.
"""
