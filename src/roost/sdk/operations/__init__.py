"""What an operator does: back-ups, checks, upkeep, environments built ahead and archived."""
