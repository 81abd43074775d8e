"""Rows in SQL. `engine.py` runs transactions, `tables.py` is the shape, then one file per noun; `store.py` puts it together."""
