"""Options of `roost` itself, which stand before the command; `main.py` sets them."""

workspace: str | None = None
"""`roost --workspace NAME …`; None when it was not given."""
