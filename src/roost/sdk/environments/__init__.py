"""Environments as users define them; `roost.domain.environments` derives their recipes."""
