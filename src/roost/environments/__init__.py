"""Environments on a node: recipe → lock → prefix. `base.py` has the interface of builders and the life of a prefix, `builders.py`
chooses the builder: `pip/` with uv, `conda/` with py-rattler, `containers/` with Docker or Podman. `curated/` is the catalogue of
named ones."""
