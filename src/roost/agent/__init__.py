"""What happens on a node, the same program under every engine: `main.py` is the story of a run, `keeper.py` outlives it."""
