"""Rows in SQL. `engine.py` runs transactions, `tables.py` defines the tables, then one file per noun; `store.py` combines
them.
"""
