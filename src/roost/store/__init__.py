"""Rows. `base/` holds the interfaces, one file per noun; `sql/` implements them on SQLite (and PostgreSQL); `migrations/`
upgrades the tables.
"""

import importlib
from typing import cast

from roost.domain.errors import InvalidInput
from roost.store.base import Pieces, Store

STORES = {"sqlite": "roost.store.sql.store:SqlStore", "postgresql": "roost.store.sql.store:SqlStore"}
"""The scheme of a URL → the class that opens it, loaded on use: SQLAlchemy takes 0.4 s to import."""


def open_store(url: str, pieces: Pieces | None = None) -> Store:
    """Opens the store of a URL, and creates or upgrades it: `sqlite:///FILE`, `sqlite://` for one in memory, or
    `postgresql://USER:PASSWORD@HOST/DATABASE`. `pieces` stores long text, of which rows hold only the last megabytes; without
    it, rows hold all text."""
    scheme = url.partition("://")[0]
    if scheme not in STORES:
        raise InvalidInput(f"No store is known for {url!r}.", hint=f"The URL begins with one of: {', '.join(STORES)}.")
    module, _, name = STORES[scheme].partition(":")
    return cast(Store, getattr(importlib.import_module(module), name).open(url, pieces))
