"""While the script runs: log, metrics, uploads and use of the machine go to the control plane."""
