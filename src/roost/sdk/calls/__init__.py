"""Typed calls to the control plane, with records of the domain. No SDK object is made here."""
