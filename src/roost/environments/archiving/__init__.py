"""Archives: stores the files of a lock for the time when no index has them any more, and makes a prefix of them alone."""
