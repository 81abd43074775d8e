"""Environments on a node: recipe → lock → prefix. `base.py` is the promise and the prefix's life, `builders.py` knows who builds
what: `pip/` with uv, `conda/` with py-rattler, `containers/` with Docker or Podman. `curated/` is the catalogue of named ones."""
