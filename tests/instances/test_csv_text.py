"""Texts in CSV cells: none begins a formula, and each is read back as it was."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedopt.instances.csv_text import guarded, guarded_columns, unguarded, unguarded_columns

FORMULA = "=+-@\t\r"


@given(st.text("=+-@\t\r'a1 ", max_size=6) | st.text(max_size=6))
def test_there_and_back(text: str) -> None:
    assert unguarded(guarded(text)) == text
    assert not guarded(text).startswith(tuple(FORMULA))


@given(st.text("=+-@'a", max_size=5), st.text("=+-@'a", max_size=5))
def test_two_texts_are_two_cells(one: str, other: str) -> None:
    assert (guarded(one) == guarded(other)) == (one == other)


@given(st.lists(st.none() | st.text("=+-@\t\r\n'a", max_size=4), max_size=5))
def test_columns_are_as_single_texts(texts: list[str | None]) -> None:
    table = pl.DataFrame({"a": texts, "b": texts}, schema={"a": pl.String, "b": pl.String})
    cells = guarded_columns(table, ["a"])
    assert cells["a"].to_list() == [text if text is None else guarded(text) for text in texts]
    assert cells["b"].to_list() == texts
    assert unguarded_columns(cells, ["a"]).equals(table)
    found = unguarded_columns(table, ["a"])["a"].to_list()
    assert found == [text if text is None else unguarded(text) for text in texts]


@pytest.mark.parametrize("text", ["", "night", "1-2", "a=b", " =1"])
def test_other_texts_are_left_as_they_are(text: str) -> None:
    assert guarded(text) == unguarded(text) == text
