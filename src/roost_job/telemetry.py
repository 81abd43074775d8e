"""Diagnostics: Roost sends none, and says so when it is asked to."""


def set_diagnostics_collection(send_diagnostics: bool = True, verbosity: object = None) -> None:  # noqa: ARG001
    """Accepted as the SDK's; nothing about you is ever sent anywhere."""
    print("Roost sends no diagnostics, whatever is set here.")
