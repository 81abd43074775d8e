"""Datastores and datasets, and how runs are given data and write it."""
