"""Rows. `base.py` is the promise; `sql/` keeps it on SQLite (and PostgreSQL); `migrations/` grows the tables."""
