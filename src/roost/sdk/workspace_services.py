"""The part of `Workspace` that is about services."""

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from roost.sdk.webservices import Webservice


class ServicesOfWorkspace:
    @property
    def webservices(self) -> "dict[str, Webservice]":
        """The services, by name."""
        from roost.sdk.webservices import Webservice  # noqa: PLC0415 - loaded by those who use services

        return {each.name: each for each in Webservice.list(cast(Any, self))}
