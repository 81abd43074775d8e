"""The command line: parse, call the SDK, render. Start with `main.py`; one file per noun, `rendering.py` for what people see."""
