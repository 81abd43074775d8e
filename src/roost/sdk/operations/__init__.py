"""The operator's tasks: back-ups, checks, upkeep, environments built ahead and archived."""
