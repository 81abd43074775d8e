"""The files that a lock names, kept for when no index has them any more, and a prefix made of them alone."""
