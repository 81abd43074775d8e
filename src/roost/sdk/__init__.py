"""The user's side: one file per noun over one small HTTP client. Start with `core/workspaces.py`, `runs/experiments.py`,
`runs/runs.py`.

`connection/connections.py` finds the control plane, `connection/embedded.py` starts one; `runs/snapshots.py` sends a source
folder; `runs/interactive.py` and `runs/salvage.py` handle runs that live in the caller's own process. Heavy libraries are
imported at first use.
"""
