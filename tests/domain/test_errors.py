"""The tree of errors, and each of them over the wire and back."""

import pytest

from roost.domain import errors
from roost.domain.errors import BY_CODE, RoostError, as_wire, raise_for
from roost_job.exceptions import AzureMLException, ComputeTargetException, ServiceException, UserErrorException


@pytest.mark.parametrize("cls", BY_CODE.values(), ids=lambda cls: cls.__name__)
def test_every_error_comes_back_over_the_wire(cls: type[RoostError]) -> None:
    error = cls("There is no x.", hint="Make one.")
    with pytest.raises(cls) as caught:
        raise_for(cls.http_status, as_wire(error))
    assert type(caught.value) is cls
    assert (caught.value.message, caught.value.hint) == ("There is no x.", "Make one.")
    assert str(caught.value) == "There is no x.\nhint: Make one."
    assert isinstance(error, AzureMLException)


def test_each_class_has_its_own_code_and_stands_in_the_tree_drawn() -> None:
    classes = {cls for cls in vars(errors).values() if isinstance(cls, type) and issubclass(cls, RoostError)}
    assert set(BY_CODE.values()) == classes
    assert {cls.code: cls.http_status for cls in classes} == {
        "error": 500,
        "invalid_input": 400,
        "unauthorized": 401,
        "forbidden": 403,
        "not_found": 404,
        "compute_not_found": 404,
        "data_not_found": 404,
        "invalid_compute": 400,
        "compute_conflict": 409,
        "data_conflict": 409,
        "invalid_model": 400,
        "model_not_found": 404,
        "model_path_not_found": 404,
        "model_conflict": 409,
        "invalid_endpoint": 400,
        "endpoint_not_found": 404,
        "endpoint_conflict": 409,
        "conflict": 409,
        "too_large": 413,
        "too_slow": 408,
        "busy": 503,
        "disk_full": 507,
        "unavailable": 503,
        "incompatible": 426,
    }
    assert errors.__doc__ is not None
    for cls in classes:
        assert cls.__name__ in errors.__doc__


def test_scripts_catch_them_by_the_names_they_know() -> None:
    assert issubclass(errors.InvalidInput, UserErrorException)
    assert issubclass(errors.ComputeNotFound, ComputeTargetException)
    assert issubclass(errors.ComputeNotFound, errors.NotFound)
    assert issubclass(errors.InvalidCompute, ComputeTargetException)
    assert issubclass(errors.ComputeConflict, ComputeTargetException)
    assert issubclass(errors.Unavailable, ServiceException)


def test_a_hint_for_the_command_line_travels_along() -> None:
    error = errors.InvalidInput("x", hint="update()", cli_hint="roost compute update")
    assert as_wire(error)["error"]["cli_hint"] == "roost compute update"
    with pytest.raises(errors.InvalidInput) as caught:
        raise_for(400, as_wire(error))
    assert (caught.value.hint, caught.value.cli_hint) == ("update()", "roost compute update")
    assert "cli_hint" not in as_wire(errors.InvalidInput("x", hint="y"))["error"]


@pytest.mark.parametrize("body", [None, "<html>", {}, {"error": "x"}, [], {"detail": "y"}])
def test_a_foreign_answer_is_called_that(body: object) -> None:
    with pytest.raises(RoostError, match="answered 502 with something that is not Roost's"):
        raise_for(502, body)


def test_an_unknown_code_is_still_an_error() -> None:
    with pytest.raises(RoostError, match="later") as caught:
        raise_for(500, {"error": {"code": "from_the_future", "message": "later"}})
    assert type(caught.value) is RoostError
