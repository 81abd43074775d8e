"""Requests to a service, and its credentials: `run`, keys and tokens. Part of `Webservice`."""

import time
from datetime import datetime
from typing import Any

from roost.domain.endpoints import Auth, Endpoint
from roost.domain.errors import InvalidEndpoint
from roost.sdk.calls import endpoints, scoring
from roost.sdk.core.workspaces import Workspace
from roost_job.exceptions import WebserviceException

_KEYS = ("Primary", "Secondary")
_TOLD_SECONDS = 5.0


class AskingOfService:
    """The part of a service for answers, keys and tokens."""

    workspace: Workspace
    name: str
    state: str | None
    error: str | None
    scoring_uri: str | None
    swagger_uri: str | None
    _record: Endpoint
    _held: str | None
    """The key or token that was valid the last time."""

    def update_deployment_state(self) -> None:
        raise NotImplementedError

    def run(self, input_data: object) -> Any:
        """The service's answer: text or bytes are sent as they are, everything else as JSON."""
        body = scoring.body_of(input_data)
        try:
            address, patience = self._address(), scoring.patience(self._record.spec)
            with scoring.Caller(address, self._credential, held=self._held, timeout=patience) as caller:
                answer = caller.post(body)
                self._held = caller.held
        except OSError as error:
            self.update_deployment_state()
            raise WebserviceException(
                f"Nobody answers at {self.scoring_uri}: {error}. Current state: {self.state}.",
                hint=self.error or "service.wait_for_deployment(show_output=True) shows how far it is.",
            ) from error
        if answer.status != 200:
            raise scoring.refused(answer)
        return answer.value()

    def _address(self) -> str:
        if not self.scoring_uri:
            self.update_deployment_state()
        if not self.scoring_uri:
            raise WebserviceException(
                f"Error attempting to call webservice, scoring_uri unavailable. Current State: {self.state}. "
                f"Errors: {self.error}",
                hint="service.wait_for_deployment(show_output=True) waits for it.",
            )
        return self.scoring_uri

    def _credential(self) -> str | None:
        if self._record.spec.auth is Auth.KEY:
            return self.get_keys()[0]
        return endpoints.token(self.workspace, self.name)[0] if self._record.spec.auth is Auth.TOKEN else None

    def get_keys(self) -> tuple[str, str]:
        """Its two keys; each of them gives access."""
        if self._record.spec.auth is not Auth.KEY:
            raise WebserviceException(
                f"Service {self.name!r} has no keys.", hint="service.update(auth_enabled=True) gives it two."
            )
        found = endpoints.keys(self.workspace, self.name)
        return found.primary, found.secondary

    def regen_key(self, key: str, set_key: str | None = None) -> None:
        """Replaces the 'Primary' or the 'Secondary' key, by a new one or by the given one."""
        which = str(key or "").capitalize()
        if which not in _KEYS:
            raise InvalidEndpoint(f"There is no key {key!r}.", hint="Valid options are: Primary, Secondary")
        self.get_keys()
        made = endpoints.renew_key(self.workspace, self.name, which, set_key)
        deadline = time.monotonic() + _TOLD_SECONDS
        new = made.primary if which == "Primary" else made.secondary
        while self.swagger_uri and not scoring.opens(self.swagger_uri, new) and time.monotonic() < deadline:
            time.sleep(0.05)  # the control plane sends the key to the front, in a moment

    def get_token(self) -> tuple[str, datetime]:
        """A token for the caller, and the time to renew it."""
        if self._record.spec.auth is not Auth.TOKEN:
            raise WebserviceException(
                f"Service {self.name!r} has no tokens.",
                hint="Tokens come with AksWebservice.deploy_configuration(token_auth_enabled=True, auth_enabled=False).",
            )
        made, refresh, _ = endpoints.token(self.workspace, self.name)
        return made, refresh

    def get_access_token(self) -> "ServiceToken":
        """A token with all its times."""
        self.get_token()
        return ServiceToken(*endpoints.token(self.workspace, self.name))


class ServiceToken:
    """The result of `get_access_token`."""

    def __init__(self, access_token: str, refresh_after: datetime, expiry_on: datetime) -> None:
        self.access_token = access_token
        self.refresh_after = refresh_after
        self.expiry_on = expiry_on
        self.token_type = "Bearer"  # noqa: S105 - a word, not a secret
