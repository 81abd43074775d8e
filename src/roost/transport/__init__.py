"""The way to the control plane that SDK and agent share: `client.py` asks, `shipping.py` sends what grows,
`carrying.py` moves blobs.

Standard library HTTP: it meets the import budget and never sends loopback through a proxy.
"""
