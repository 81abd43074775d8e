"""Rows. `base/` is the promise, a file per noun; `sql/` keeps it on SQLite (and PostgreSQL); `migrations/` grows the tables."""

import importlib
from typing import cast

from roost.domain.errors import InvalidInput
from roost.store.base import Pieces, Store

STORES = {"sqlite": "roost.store.sql.store:SqlStore", "postgresql": "roost.store.sql.store:SqlStore"}
"""The scheme of a URL → the class that opens it, loaded on use: SQLAlchemy takes 0.4 s to import."""


def open_store(url: str, pieces: Pieces | None = None) -> Store:
    """The store of a URL, made or brought up to date: `sqlite:///FILE`, `sqlite://` for one in memory, or
    `postgresql://USER:PASSWORD@HOST/DATABASE`. `pieces` takes long text, of which rows have the last megabytes only; without
    it all is rows."""
    scheme = url.partition("://")[0]
    if scheme not in STORES:
        raise InvalidInput(f"No store is known for {url!r}.", hint=f"The URL begins with one of: {', '.join(STORES)}.")
    module, _, name = STORES[scheme].partition(":")
    return cast(Store, getattr(importlib.import_module(module), name).open(url, pieces))
