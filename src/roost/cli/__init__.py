"""The command line: parse, call the SDK, render. Start with `main.py`, which `entry.py` loads; one file per noun, and
`rendering.py` for what people see.
"""
