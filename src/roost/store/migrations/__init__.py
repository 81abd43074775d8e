"""Upgrades a database from one revision to the next, with Alembic. `upgrade.py` runs it; `versions/` has one file per step.

A new revision: change `sql/tables.py`, write `versions/rNNNN_what.py`, add its name below. A test checks that all three agree.
"""

REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", "0009", "0010", "0011", "0012")
"""Oldest first."""
HEAD = REVISIONS[-1]
