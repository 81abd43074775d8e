"""`roost run …`: list, show, logs, metrics, compare; tag, name, describe; cancel, download, repeat, delete."""
