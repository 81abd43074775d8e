"""Types for the numbers in addresses and headers: whole ones fit into a column of the database, others are finite.

Every parameter that is a number has one of these types (`tests/api/test_numbers.py` checks all of them).
"""

from typing import Annotated

from pydantic import Field

from roost.domain.codec import LARGEST

Whole = Annotated[int, Field(ge=-LARGEST - 1, le=LARGEST)]
Count = Annotated[int, Field(ge=0, le=LARGEST)]
AtLeastOne = Annotated[int, Field(ge=1, le=LARGEST)]
Offset = Annotated[int, Field(ge=0, le=2**62)]
"""An offset in a stream of bytes: the end of a body that begins there fits too."""
Finite = Annotated[float, Field(allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
