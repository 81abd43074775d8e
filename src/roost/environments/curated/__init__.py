"""Curated environments: a catalogue of specs (the .toml files here), and names of Azure's that lead to them by pattern.

`naming.py` reads a name, `catalogue.py` the files, `machine.py` what this machine can do; `resolve` in `resolving.py` puts
them together, with a line for whatever is not as the name says. No index and no network is asked.
"""
