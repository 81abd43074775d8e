"""Tokens are made and checked here. Only their SHA-256 is stored, so the time of a comparison reveals no secret."""

import hashlib
import secrets

from roost.domain.errors import Unauthorized
from roost.domain.people import Caller, Token, TokenKind
from roost.domain.permissions import Action, Role
from roost.services.context import Context

REMEMBERED_SECONDS = 30.0
"""How long a token that was read is trusted without another read."""
CODE_SECONDS = 60.0
"""How long the link of `roost open` can be used."""
SESSION_SECONDS = 7 * 24 * 3600.0
"""How long a browser stays signed in."""
AFTER_END_SECONDS = 7 * 24 * 3600.0
"""How long a run's tokens stay valid after its end, so that data of a killed node can still be shipped."""


def digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def new_token() -> str:
    return f"roost_{secrets.token_urlsafe(32)}"


def admit_person(context: Context, token: str, *, user: str) -> None:
    """Stores a person's token; does nothing when it is stored already."""
    if context.store.people.find_token(digest(token)) is None:
        context.store.people.add_token(
            Token(digest=digest(token), user=user, run_id="", created_at=context.clock(), expires_at=None)
        )


def mint_run_token(context: Context, run_id: str, *, user: str) -> str:
    """A token for the agent of one run, valid until a week after the run's end."""
    token = new_token()
    context.store.people.add_token(
        Token(digest=digest(token), user=user, run_id=run_id, created_at=context.clock(), expires_at=None)
    )
    return token


def expire_run_tokens(context: Context, run_id: str) -> None:
    """The run has ended: its tokens stay valid for one more week."""
    context.store.people.expire_run_tokens(run_id, context.clock() + AFTER_END_SECONDS)


def new_code(context: Context, caller: Caller) -> str:
    """A code that a browser can exchange for a session, once and within a minute."""
    caller.require(Action.SESSION_INVITE)
    context.store.people.forget_expired((TokenKind.CODE, TokenKind.SESSION), context.clock())
    return _lend(context, TokenKind.CODE, caller.user, CODE_SECONDS)


def begin_session(context: Context, code: str) -> str | None:
    """A session's token in exchange for a code; None for a code that is unknown, used or expired."""
    found = context.store.people.find_token(digest(code))
    if found is None or found.kind is not TokenKind.CODE:
        return None
    taken = context.store.people.take_token(found.digest)
    if taken is None or taken.expires_at is None or taken.expires_at <= context.clock():
        return None
    return _lend(context, TokenKind.SESSION, taken.user, SESSION_SECONDS)


def _lend(context: Context, kind: TokenKind, user: str, seconds: float) -> str:
    token, now = new_token(), context.clock()
    context.store.people.add_token(
        Token(digest=digest(token), user=user, run_id="", created_at=now, expires_at=now + seconds, kind=kind)
    )
    return token


def remembered(context: Context, token: str, kind: TokenKind = TokenKind.KEY) -> Caller | None:
    """The holder of this token, if it was read recently; None else. Does not read the store."""
    kept = context.tokens.get(digest(token))
    if kept is None or context.clock() - kept[1] > REMEMBERED_SECONDS:
        return None
    return _caller(context, kept[0], kind)


def caller(context: Context, token: str, kind: TokenKind = TokenKind.KEY) -> Caller:
    """The holder of this token; Unauthorized when there is none, when it has expired, or when it is not of this kind."""
    found = context.store.people.find_token(digest(token))
    if found is None:
        raise Unauthorized("The token is not known here.", hint=_HINT)
    context.tokens.put(found.digest, (found, context.clock()))
    return _caller(context, found, kind)


def _caller(context: Context, token: Token, kind: TokenKind) -> Caller:
    if token.kind is not kind:
        raise Unauthorized("The token is not known here.", hint=_HINT)
    if token.expires_at is not None and token.expires_at <= context.clock():
        raise Unauthorized("The token has expired.", hint=_HINT)
    return Caller(user=token.user, role=_role(token), run_id=token.run_id)


def _role(token: Token) -> Role:
    if token.kind is TokenKind.SESSION:
        return Role.BROWSER
    return Role.RUN if token.run_id else Role.PERSON


_HINT = "Set ROOST_TOKEN to a person's token; the embedded control plane's stands in ROOST_HOME/token."
