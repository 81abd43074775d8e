"""Sends logs, metrics, uploads and system metrics to the control plane while the script runs."""
