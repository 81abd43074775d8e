"""Work that takes longer than a request. `loop.py` leases, renews, backs off and wakes for all nouns; `runs.py` has two nouns."""
