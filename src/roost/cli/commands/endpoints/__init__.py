"""`roost endpoint …`: deploy, update, delete; list, show, logs, keys, records; test and bench."""
