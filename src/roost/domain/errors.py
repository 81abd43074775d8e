"""Every error that Roost raises on purpose, the same class on both sides of the wire.

RoostError (an AzureMLException)         code, http_status, message (the fact with its value), hint (the next step),
                                                            cli_hint (the same in words of the command line, where those differ)
├── InvalidInput (a UserErrorException)  invalid_input      400
│   ├── InvalidCompute (a ComputeTargetException)  invalid_compute   400
│   ├── InvalidModel (a WebserviceException)  invalid_model  400
│   └── InvalidEndpoint (a WebserviceException)  invalid_endpoint   400
├── Unauthorized                         unauthorized       401
├── Forbidden                            forbidden          403
├── NotFound                             not_found          404
│   ├── ComputeNotFound (a ComputeTargetException)          404
│   ├── DataNotFound (a UserErrorException)  data_not_found  404
│   ├── ModelNotFound (a ModelNotFoundException)  model_not_found  404
│   ├── ModelPathNotFound (a ModelPathNotFoundException)  model_path_not_found  404
│   └── EndpointNotFound (a WebserviceException)  endpoint_not_found  404
├── TooSlow                              too_slow           408   a request whose bytes come too slowly
├── Conflict                             conflict           409
│   ├── ComputeConflict (a ComputeTargetException)  compute_conflict 409
│   ├── DataConflict (a UserErrorException)  data_conflict   409
│   ├── ModelConflict (a WebserviceException)  model_conflict  409
│   └── EndpointConflict (a WebserviceException)  endpoint_conflict  409
├── TooLarge                             too_large          413
├── DiskFull                             disk_full          507
├── Unavailable (a ServiceException)     unavailable        503   no control plane, or it is not ready
│   └── Busy                             busy               503   it is there, and has more to do than it can
└── Incompatible                         incompatible       426   client and control plane do not speak the same level

The API writes `{"error": {"code", "message", "hint"}}`, with a `cli_hint` where there is one; `raise_for` turns it into the
class again.
"""

from typing import Any, ClassVar, NoReturn

from roost_job.exceptions import (
    AzureMLException,
    ComputeTargetException,
    ModelNotFoundException,
    ModelPathNotFoundException,
    ServiceException,
    UserErrorException,
    WebserviceException,
)


class RoostError(AzureMLException):
    """The base of all errors that Roost raises on purpose."""

    code: ClassVar[str] = "error"
    http_status: ClassVar[int] = 500
    message: str
    hint: str
    cli_hint: str

    def __init__(self, message: str, *, hint: str = "", cli_hint: str = "") -> None:
        super().__init__(message, hint=hint, cli_hint=cli_hint)


class InvalidInput(RoostError, UserErrorException):
    """The caller's input breaks a rule; nothing was changed."""

    code = "invalid_input"
    http_status = 400


class InvalidCompute(InvalidInput, ComputeTargetException):
    """A compute target that cannot be created with these settings."""

    code = "invalid_compute"


class InvalidEndpoint(InvalidInput, WebserviceException):
    """A service that cannot be deployed or changed with these settings."""

    code = "invalid_endpoint"


class InvalidModel(InvalidInput, WebserviceException):
    """A model that cannot be registered or requested in this way."""

    code = "invalid_model"


class Unauthorized(RoostError):
    """No token, or an unknown one."""

    code = "unauthorized"
    http_status = 401


class Forbidden(RoostError):
    """A known caller who may not do this."""

    code = "forbidden"
    http_status = 403


class NotFound(RoostError):
    """The named thing does not exist."""

    code = "not_found"
    http_status = 404


class ComputeNotFound(NotFound, ComputeTargetException):
    """No compute target of that name."""

    code = "compute_not_found"


class DataNotFound(NotFound, UserErrorException):
    """No dataset or datastore of that name."""

    code = "data_not_found"


class EndpointNotFound(NotFound, WebserviceException):
    """No service of that name."""

    code = "endpoint_not_found"


class ModelNotFound(NotFound, ModelNotFoundException):
    """No model of that name and version."""

    code = "model_not_found"


class ModelPathNotFound(NotFound, ModelPathNotFoundException):
    """The run has no files at the path that is to become a model."""

    code = "model_path_not_found"


class Conflict(RoostError):
    """The thing exists already, or is not in a state that allows this."""

    code = "conflict"
    http_status = 409


class ComputeConflict(Conflict, ComputeTargetException):
    """A compute target of that name already exists, or has runs on it."""

    code = "compute_conflict"


class DataConflict(Conflict, UserErrorException):
    """A dataset or datastore of that name already exists."""

    code = "data_conflict"


class EndpointConflict(Conflict, WebserviceException):
    """A service of that name already exists, or its state does not allow the request."""

    code = "endpoint_conflict"


class ModelConflict(Conflict, WebserviceException):
    """A model that is deployed, or a property that already has another value."""

    code = "model_conflict"


class TooSlow(RoostError):
    """The bytes of a request arrive too slowly."""

    code = "too_slow"
    http_status = 408


class TooLarge(RoostError):
    """More bytes than this route accepts."""

    code = "too_large"
    http_status = 413


class DiskFull(RoostError):
    """No space left on the disk."""

    code = "disk_full"
    http_status = 507


class Unavailable(RoostError, ServiceException):
    """The control plane cannot be reached, or is not ready."""

    code = "unavailable"
    http_status = 503


class Busy(Unavailable):
    """The control plane has too much work, or too many connections or request bodies at once. Nothing was changed; a retry in a
    moment is worthwhile."""

    code = "busy"


class Incompatible(RoostError):
    """Client and control plane use different levels of the protocol."""

    code = "incompatible"
    http_status = 426


def _tree(cls: type[RoostError]) -> list[type[RoostError]]:
    return [cls, *(each for sub in cls.__subclasses__() for each in _tree(sub))]


BY_CODE: dict[str, type[RoostError]] = {cls.code: cls for cls in _tree(RoostError)}


def as_wire(error: RoostError) -> dict[str, Any]:
    """The JSON shape of an error."""
    said = {"code": error.code, "message": error.message, "hint": error.hint}
    return {"error": {**said, "cli_hint": error.cli_hint} if error.cli_hint else said}


def raise_for(status: int, body: object) -> NoReturn:
    """Raises the class that an error answer represents."""
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, dict):
        cls = BY_CODE.get(str(error.get("code")), RoostError)
        hints = {name: str(error.get(name, "")) for name in ("hint", "cli_hint")}
        raise cls(str(error.get("message", "")), **hints)
    words = " ".join(str(body).split())
    raise RoostError(
        f"The control plane answered {status} with something that is not Roost's: {words[:100]!r}.",
        hint="Check the address: something else answers there, or a proxy on the way.",
    )
