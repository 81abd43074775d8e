"""What a run logs and keeps: spool, metrics, documents, files, children. Python 3.6+, standard library only."""
