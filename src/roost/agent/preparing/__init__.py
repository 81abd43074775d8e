"""Prepares a run before its script starts: working copy, inputs, environment, variables, the meeting of several nodes."""
