"""The command line: parse, call the SDK, render. Start with `main.py`, which `entry.py` loads, and `command_table.py`: every
command and the function in `commands/` that does it. `inputs/` understands what was typed, `rendering/` is what people see.
"""
