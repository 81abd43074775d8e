"""The hand of the user: one file per noun over one small HTTP client. Start with `workspaces.py`, `experiments.py`, `runs.py`.

`connections.py` finds the control plane, `embedded.py` starts one; `snapshots.py` sends a source folder; `interactive.py` and
`salvage.py` look after runs that live in the caller's own process. Imports of heavy libraries wait until they are used.
"""
