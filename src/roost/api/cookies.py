"""The cookie of a browser's session: its name, and when it is accepted. A browser shares cookies between all ports of a host, so
the name contains the port: two control planes on one machine do not sign each other's users out.
"""

import re

from fastapi import Request

from roost.domain.errors import Forbidden

COOKIE_PATH = "/"
_SAFE = frozenset({"GET", "HEAD"})
_OWN_PAGES = frozenset({"same-origin", "none"})


def cookie_name(request: Request) -> str:
    return "roost_" + re.sub(r"[^0-9a-z]", "_", request.headers.get("host", "").lower())


def session_of(request: Request) -> str:
    """The session's token in a request; empty for none. Forbidden when another site may have made the request.

    The guard has already refused a foreign Origin. A request that changes something must have an Origin, so a page that can
    suppress the header gains nothing.
    """
    token = request.cookies.get(cookie_name(request), "")
    if token and request.headers.get("sec-fetch-site", "same-origin") not in _OWN_PAGES:
        raise Forbidden("A session is for Roost's own pages.", hint="Open the page itself.")
    if token and request.method not in _SAFE and "origin" not in request.headers:
        raise Forbidden(
            f"{request.method} with a session needs an Origin header, which every browser sends.",
            hint="From a program send `Authorization: Bearer TOKEN`.",
        )
    return token
