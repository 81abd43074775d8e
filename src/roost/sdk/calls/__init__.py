"""Typed calls: what is asked of the control plane, as records of the domain. No object of the SDK is made here."""
