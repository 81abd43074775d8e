"""The machine under Roost: whole files, locks, processes, ports, umasks. Imports nothing of ours; every room may use it."""
