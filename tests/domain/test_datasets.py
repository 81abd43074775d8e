"""Datasets in words: what a step keeps, as people read it."""

import pytest

from roost.domain.datasets import words
from roost.sdk.data.expressions import column


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (column("price") > 3, "price > 3"),
        (
            (column("a") == "x") & ((column("b") <= 1.5) | ~column("c").is_null()),
            "a == 'x' and (b <= 1.5 or not c is missing)",
        ),
        (column("city").isin(["Oslo", "Rome"]), "city in ['Oslo', 'Rome']"),
        (column("city").starts_with("O"), "city starts with 'O'"),
    ],
)
def test_an_expression_in_words(expression: object, text: str) -> None:
    assert words(expression._plain) == text  # type: ignore[attr-defined]
