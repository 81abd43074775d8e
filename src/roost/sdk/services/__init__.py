"""Services: deployment, description, waiting, requests and profiling."""
