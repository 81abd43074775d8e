import sys

import pytest

from roost_job import libraries
from roost_job.exceptions import UserErrorException


def test_a_library_that_the_environment_lacks_is_named_with_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOST_RUN_ID", "a_run")  # outside of a run it says how to install it here
    monkeypatch.setitem(sys.modules, "pandas", None)  # type: ignore[arg-type]
    with pytest.raises(UserErrorException, match="pandas cannot be imported here") as caught:
        libraries.need("pandas")
    assert caught.value.hint == (
        "Add pandas to the packages of the run's environment, or azureml-dataset-runtime, which brings pandas, numpy and "
        "pyarrow; azureml-defaults alone brings none of them."
    )
    with pytest.raises(UserErrorException) as caught:
        libraries.need("nowhere.at_all")
    assert caught.value.hint == "Add nowhere to the packages of the run's environment."
