"""Rows in a notebook: the summary is shown, briefly and escaped, and a frame is one call away."""

from __future__ import annotations

import json

import pytest
from builders.reports import EVIL, row

from schedopt import bench
from schedopt.analysis.row_table import RowTable


def test_a_bench_returns_rows_that_show_what_they_say() -> None:
    rows = bench("instances/dssp/greedy-trap.json", policies=["greedy", "core"])
    assert isinstance(rows, RowTable)
    assert repr(rows) == "<2 rows; dssp: 1 instance>"
    shown = rows._repr_html_()
    assert "99.80%" in shown
    assert "optimum proven for 1" in shown


def test_many_rows_of_long_and_evil_names_stay_short_and_harmless() -> None:
    rows = RowTable(
        row(instance=f"{name}{i}", policy=name, message="x" * 500)
        for i in range(200)
        for name in EVIL
    )
    assert len(repr(rows)) < 100
    shown = rows._repr_html_()
    assert len(shown) < 10_000
    for tag in ("<script", "<img", "<b ", "<a "):
        assert tag not in shown


def test_no_rows_show_nothing() -> None:
    assert repr(RowTable()) == "<0 rows>"
    assert RowTable()._repr_html_() == ""


def test_frames_hold_every_field() -> None:
    rows = RowTable([row(gap=0.25), row(policy="none", objective=None, options={"fill": 0.5})])
    frame = rows.to_polars()
    assert frame["policy"].to_list() == ["greedy", "none"]
    assert frame["gap"].to_list() == [0.25, None]
    assert [json.loads(text) for text in frame["options"]] == [{}, {"fill": 0.5}]
    pandas = pytest.importorskip("pandas")
    other = rows.to_pandas()
    assert isinstance(other, pandas.DataFrame)
    assert list(other.columns) == frame.columns
    assert other["gap"][0] == 0.25
