"""Where the files of a dataset are GET from now: a user's address as it is, a signed one until it runs out, a route of the
control plane with the caller's token, wherever the control plane is by then.
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
"""Resolves the dataset again: the same files, with addresses that are good again."""
_RENEW_SECONDS = 30.0


class Addresses:
    """For many threads. `locate` is asked for relayed items, `again` when an address is refused."""

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
        """Has the addresses signed again, once for all that were refused at a time; whether this one is another now."""
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
