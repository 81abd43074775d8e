"""Experiments, runs and submissions: configurations, snapshots of source folders, runs that live in this process."""
