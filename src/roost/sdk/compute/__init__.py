"""Compute targets: clusters, machines to attach, and the kinds that Roost does not have."""
