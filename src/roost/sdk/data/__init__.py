"""Datastores and datasets, and the inputs and outputs of runs."""
