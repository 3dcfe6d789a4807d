"""Texts in CSV cells: none begins a formula, and each is read back as it was."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedopt.instances.csv_text import guarded, guarded_columns, unguarded, unguarded_columns
from schedopt.instances.errors import printable

FORMULA = "=+-@\t\r"


ODD = "=+-@\t\r'a1 x5c\\\x1b\x07\u202e\u2028\uff1d"


@given(st.text(ODD, max_size=8) | st.text(max_size=6))
def test_there_and_back(text: str) -> None:
    cell = guarded(text)
    assert unguarded(cell) == text
    assert not cell.strip().startswith((*FORMULA, "\uff1d"))
    assert printable(cell) == cell


@given(st.text("=+-@'a", max_size=5), st.text("=+-@'a", max_size=5))
def test_two_texts_are_two_cells(one: str, other: str) -> None:
    assert (guarded(one) == guarded(other)) == (one == other)


def test_what_a_spreadsheet_and_a_terminal_see() -> None:
    assert guarded(" =1+1") == "' =1+1"
    assert guarded("\uff1d1+1") == "'\uff1d1+1"
    assert guarded("a\x1b[31m\u202e\u2028\r\x07") == r"a\x1b[31m\u202e\u2028\x0d\x07"
    assert guarded(r"CORP\x1b \server\home") == r"CORP\x5cx1b \server\home"


@given(st.lists(st.none() | st.text(f"{ODD}\n", max_size=4), max_size=5))
def test_columns_are_as_single_texts(texts: list[str | None]) -> None:
    table = pl.DataFrame({"a": texts, "b": texts}, schema={"a": pl.String, "b": pl.String})
    cells = guarded_columns(table, ["a"])
    assert cells["a"].to_list() == [text if text is None else guarded(text) for text in texts]
    assert cells["b"].to_list() == texts
    assert unguarded_columns(cells, ["a"]).equals(table)
    found = unguarded_columns(table, ["a"])["a"].to_list()
    assert found == [text if text is None else unguarded(text) for text in texts]


@pytest.mark.parametrize("text", ["", "night", "1-2", "a=b", "C:\\users", "\\\\server"])
def test_other_texts_are_left_as_they_are(text: str) -> None:
    assert guarded(text) == unguarded(text) == text
