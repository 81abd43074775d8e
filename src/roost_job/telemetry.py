"""Diagnostics: Roost sends none, and prints so on each call."""


def set_diagnostics_collection(send_diagnostics: bool = True, verbosity: object = None) -> None:  # noqa: ARG001
    """Accepted like the SDK's; Roost never sends data about you."""
    print("Roost sends no diagnostics, whatever is set here.")
