"""The connection to the control plane, for SDK and agent: `client` sends requests, `shipping` growing files, `carrying` blobs.

Uses the standard library's HTTP: it meets the import budget and never sends loopback through a proxy.
"""
