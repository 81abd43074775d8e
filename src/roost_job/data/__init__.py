"""Datastores, datasets and tables inside a job. Python 3.6+, standard library only."""
