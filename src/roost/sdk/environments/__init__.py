"""Environments as people define them; what they ask for is worked out in `roost.domain.environments`."""
