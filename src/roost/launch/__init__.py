"""One run → many processes. Pure: topology and place in, argv and environment out. `base.py` has the types and `single`."""
