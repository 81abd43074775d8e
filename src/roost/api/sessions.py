"""Routes: how a browser signs in. A person's program requests a code and puts it into a link; the browser that opens the link,
once and within a minute, gets a cookie that no script can read and no other site can send.
"""

from dataclasses import dataclass

from fastapi import Request, Response

from roost.api.answers import answer
from roost.api.cookies import COOKIE_PATH, cookie_name
from roost.api.doors import Router, TheCaller, TheContext
from roost.domain import names
from roost.domain.errors import InvalidInput
from roost.domain.permissions import Action, Scope
from roost.services import people

router = Router("sessions")


@dataclass(frozen=True, kw_only=True)
class Invitation:
    code: str
    """Valid for `GET /login?code=…`, once."""
    seconds: float
    """How long the code is valid."""


@router.route("POST", "/api/sessions", Action.SESSION_INVITE, Scope.SERVER, answer=Invitation, statuses=(201,))
def invite(context: TheContext, caller: TheCaller) -> Response:
    return answer(Invitation(code=people.new_code(context, caller), seconds=people.CODE_SECONDS), 201)


@router.route("GET", "/login", Action.SESSION_BEGIN, Scope.SERVER, statuses=(303,))
def log_in(request: Request, context: TheContext, code: str = "", run: str = "") -> Response:
    """Exchanges a code for a session and redirects to the link's run, or to the list."""
    session = people.begin_session(context, code)
    if session is None:
        return _to("/?login=expired")
    response = _to(_place(run))
    response.set_cookie(
        cookie_name(request),
        session,
        max_age=int(people.SESSION_SECONDS),
        path=COOKIE_PATH,
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return response


def _to(place: str) -> Response:
    return Response(
        status_code=303, headers={"location": place, "cache-control": "no-store", "referrer-policy": "no-referrer"}
    )


def _place(run: str) -> str:
    """A page of Roost: anything but the id of a run leads to the list."""
    try:
        return f"/runs/{names.run_id(run)}" if run else "/"
    except InvalidInput:
        return "/"
