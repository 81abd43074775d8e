"""The way to the control plane that SDK and agent share: `client` asks, `shipping` sends what grows, `carrying` moves blobs.

Standard library HTTP: it meets the import budget and never sends loopback through a proxy.
"""
