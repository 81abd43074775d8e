"""The current address of each file: a user's address unchanged, a signed one until it expires, or a route of the control
plane with the caller's token, at the control plane's current address.
"""

import threading
import time
from collections.abc import Callable, Sequence

from roost.data.web import Address
from roost.domain.datastores import Item, shown
from roost.domain.errors import InvalidInput, RoostError
from roost.transport.client import Endpoint

Locate = Callable[[], Endpoint]
Again = Callable[[], Sequence[Item]]
"""Resolves the dataset again: returns the same files with valid addresses."""
_RENEW_SECONDS = 30.0


class Addresses:
    """Thread-safe. `locate` is called for relayed items, `again` when an address was refused."""

    def __init__(self, items: Sequence[Item], locate: Locate | None = None, again: Again | None = None) -> None:
        self._urls = {item.name: (item.url, item.relayed) for item in items}
        self._locate = locate
        self._again = again
        self._lock = threading.Lock()
        self._renewed_at = 0.0

    def of(self, name: str) -> Address:
        url, relayed = self._urls[name]
        if not relayed:
            return Address(url)
        if self._locate is None:
            raise InvalidInput(f"{name} is read through the control plane, and there is no way to it.")
        endpoint = self._locate()
        headers = {"Authorization": f"Bearer {endpoint.token}"}
        return Address(endpoint.url.rstrip("/") + url, headers, shown(url))

    def renew(self, name: str) -> bool:
        """Gets newly signed addresses, once for all that were refused together; True when this file's address has changed."""
        before = self._urls[name]
        with self._lock:
            if (
                self._again is not None
                and self._urls[name] == before
                and time.monotonic() - self._renewed_at > _RENEW_SECONDS
            ):
                self._renewed_at = time.monotonic()
                try:
                    self._urls.update({item.name: (item.url, item.relayed) for item in self._again()})
                except RoostError:
                    return False
        return self._urls[name] != before
