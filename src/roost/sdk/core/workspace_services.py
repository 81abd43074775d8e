"""The part of `Workspace` that is about services."""

from typing import TYPE_CHECKING, Any, cast

from roost.sdk import late

if TYPE_CHECKING:
    from roost.sdk.services.webservices import Webservice


class ServicesOfWorkspace:
    @property
    def webservices(self) -> "dict[str, Webservice]":
        """The services, by name."""
        return {each.name: each for each in late.Webservice.list(cast(Any, self))}
