"""Starts the processes of a run, sets their limits, puts them into containers, names their logs by rank; runs replica workers."""
