"""The version of Roost, and the level of the protocol between client, agent and control plane."""

VERSION = "0.1.0"
API_LEVEL = 1
"""Raised when a client and a control plane of different levels cannot work together."""
