"""Curated environments: a catalogue of specs (the .toml files here), and Azure's names, which are matched to them by pattern.

`naming.py` reads a name, `catalogue.py` the files, `machine.py` the abilities of this machine; `resolve` in `resolving.py`
combines them, with a note for each difference from the name. It uses no index and no network.
"""
