"""What is not there yet says so when it is asked for, and not before."""

import pytest

from roost.domain.errors import InvalidInput
from roost.sdk.coming import ComingOfWorkspace


def test_what_a_workspace_will_do() -> None:
    with pytest.raises(InvalidInput, match="get_mlflow_tracking_uri"):
        ComingOfWorkspace().get_mlflow_tracking_uri()
