"""Work that takes longer than a request. `loop.py` leases, renews, backs off and wakes for all nouns; start with `runs.py`, which
has two nouns."""
