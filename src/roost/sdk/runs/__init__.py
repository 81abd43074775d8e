"""Experiments, runs and what is submitted: configurations, snapshots of source folders, runs that live in this process."""
