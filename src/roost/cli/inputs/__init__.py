"""What a person typed, and what it means: shared arguments and options, values such as `3d` or `k=v`, questions, and the run,
environment, dataset or model that a name stands for.
"""
