"""Benchmarks: what Roost costs, beside a peer or a physical limit measured in the same run. Start at `__main__`.

Each benchmark is a file with a `measure(bench) -> list[Line]` and is run in a process of its own, with a ROOST_HOME of its own.
They use the product as a person does: the SDK, scripts that are submitted, the HTTP routes.
"""
