"""Logging and files of a run: spool, metrics, documents, files, children. Python 3.6+, standard library only."""
