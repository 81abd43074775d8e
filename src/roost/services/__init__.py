"""Deeds: one function per thing a person or an agent can do, one file per noun. Start with `context.py`, then `runs.py`.

Functions are plain and synchronous, take the Context first, check everything before they change anything, and never call an
engine: slow work belongs to `control`.
"""
