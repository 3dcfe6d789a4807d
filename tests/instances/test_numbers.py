"""Numbers: decimals as written, whole numbers of a common unit, and what no double holds."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import gcd, isfinite
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from builders import swf
from builders.dssp import night
from builders.refusals import refusal
from builders.reports import row
from hypothesis import given
from hypothesis import strategies as st

from schedopt.instances import dssp, files, hesrpt, msfq
from schedopt.instances.constraints import Resource
from schedopt.instances.decimals import (
    EXPECTED,
    Whole,
    as_written,
    fits_double,
    lost_cell,
    lowest,
    may_lose,
)
from schedopt.instances.decoding import convert
from schedopt.instances.dssp import jobtable
from schedopt.instances.msfq import log_converters
from schedopt.instances.msfq.log_files import read_jobs
from schedopt.instances.msfq.logs import Jobs
from schedopt.instances.msfq.traces import read_trace
from schedopt.sweep.rows import read_rows, table
from schedopt.sweep.variations import Vary
from schedopt.verbs import plan_table as plan

NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**18), 10**18)


@given(st.integers(-(10**13), 10**13), st.integers(-290, 290))
def test_as_written_returns_the_decimal_of_up_to_13_digits(digits: int, exponent: int) -> None:
    assert as_written(float(f"{digits}e{exponent}")) == Fraction(f"{digits}e{exponent}")


@given(NUMBERS)
def test_as_written_returns_a_fraction_that_rounds_to_the_number(number: float) -> None:
    assert float(as_written(number)) == float(number)


@given(st.integers(0, 5 * 10**6), st.sampled_from([3, 6, 7, 9, 3600, 86_400, 25_200]))
def test_as_written_returns_the_fraction_whose_double_is_given(
    parts: int, denominator: int
) -> None:
    assert as_written(parts / denominator) == Fraction(parts, denominator)
    thousandths = Fraction(parts, 1000 * min(denominator, 3600))
    assert as_written(float(thousandths)) == thousandths


def test_as_written_keeps_a_decimal_of_17_digits_that_is_near_no_fraction() -> None:
    assert as_written(0.1 + 0.2) == Fraction("0.30000000000000004")


@given(st.lists(st.fractions(0, 100, max_denominator=10), min_size=1), st.floats(0, 10))
def test_whole_numbers_are_those_that_are_written(numbers: list[Fraction], other: float) -> None:
    given_numbers = np.array([*map(float, numbers), other])
    assert [*Whole.of(given_numbers)] == [*map(as_written, given_numbers.tolist())]


@given(st.lists(st.fractions(max_denominator=1000), max_size=8))
def test_fractions_in_lowest_terms(fractions: list[Fraction]) -> None:
    whole, scale = lowest(fractions)
    assert [Fraction(number) / scale for number in whole] == fractions
    assert gcd(*whole) in (0, 1)


LOST = [
    "9007199254740993",
    "0.12345678901234567890",
    "123456789012345678.5",
    "1e-400",
    "4e-324",
    "12345678901234567891e-5",
]
KEPT = [
    "0.1",
    "9007199254740992",
    "1e22",
    "1e23",
    "5e-324",
    "0.30000000000000004",
    "1.50000000000000000",
    "1000000000000000000000",
    "0.00000000000000000000000000000000000001",
]


@given(st.decimals(allow_nan=False, allow_infinity=False) | st.floats(allow_nan=False))
def test_what_is_held_is_the_decimal_that_is_written(number: Any) -> None:
    text = str(number) if not isinstance(number, float) else repr(number)
    if not isfinite(float(text)):
        return
    exact = abs(number.adjusted()) < 5000 if hasattr(number, "adjusted") else True
    if exact:
        assert fits_double(text) == (Fraction(repr(float(text))) == Fraction(text))
    assert fits_double(text) or may_lose(text.encode())


@given(st.integers(-(10**15), 10**15), st.integers(-290, 290))
def test_any_number_of_15_digits_is_held(digits: int, exponent: int) -> None:
    assert fits_double(f"{digits}e{exponent}")


def _read_dssp_table(path: Path) -> object:
    return jobtable.convert(path, processors=1, deadline=9)


def _read_log(path: Path) -> object:
    return log_converters.convert(path, processors=4)


LOG = "submit,need,run\n0,1,@\n"
DSSP = """{"problem": "dssp", "name": "n", "processors": 1, "deadline": 9, "jobs":
[{"name": "00012345678901234567891", "reward": 1, "stages": [[1, @]]}]}"""
HESRPT = """{"problem": "hesrpt", "name": "n", "servers": 4, "speedup": {"kind": "power", "p": 0.5},
"jobs": [{"name": "a", "size": @}]}"""
MSFQ = """{"problem": "msfq", "name": "n", "servers": 4, "classes": [{"need": 1, "arrival_rate": 1,
"service_rate": 4, "sizes": {"kind": "empirical", "values": [1, @]}}]}"""
JSONL = table([row()], ".jsonl").decode().replace('"objective":8.0', '"objective":@')
PLAN = "job,run,reason,reward,processors,start,end,late\na,true,,@,,,,\n"
QUEUE = msfq.Instance(
    name="q", servers=4, classes=(msfq.JobClass(need=1, arrival_rate=1.0, service_rate=1.0),)
)
READERS: list[tuple[str, str, Callable[[Path], object], str]] = [
    ("a.json", DSSP, files.load, "jobs[0].stages[0][1]"),
    ("b.json", HESRPT, files.load, "jobs[0].size"),
    ("c.json", MSFQ, files.load, "classes[0].sizes.values[1]"),
    ("d.csv", LOG, partial(read_jobs, servers=4), "row 0, column 'run'"),
    ("e.csv", LOG, _read_log, "line 2, column 'run'"),
    ("f.swf", swf.line(1, 0, 77).replace("77", "@"), _read_log, "line 1"),
    ("g.csv", "time,need,size\n0,1,@\n", partial(read_trace, queue=QUEUE), "line 2, column 'size'"),
    ("h.csv", "name,reward,tasks\na,@,1x2\n", _read_dssp_table, "line 2, column 'reward'"),
    ("i.csv", "name,reward,tasks\na,1,2x@\n", _read_dssp_table, "line 2, column 'tasks'"),
    ("l.jsonl", JSONL, read_rows, "row 1.objective"),
    ("m.csv", PLAN, plan.read, "row 1, column 'reward'"),
]
"""Files of every sort with a number in the place of @: what reads each, and the place named."""


@pytest.mark.parametrize("text", LOST)
def test_a_file_of_any_sort_with_a_number_that_is_lost(text: str, tmp_path: Path) -> None:
    for name, words, read, place in READERS:
        path = tmp_path / name
        path.write_text(words.replace("@", text))
        error = refusal(read, path)
        if float(text) < 1e-300 and "> 0" in error.expected:
            continue  # nothing so small is taken there, however it is written
        assert error.expected.startswith(EXPECTED), error
        assert error.place == place
        assert error.file == str(path)
        assert error.found is not None
        assert text in error.found
    assert refusal(Vary.of, f"deadline={text}", float).expected == EXPECTED


@pytest.mark.parametrize("text", KEPT)
def test_a_number_that_is_kept(text: str, tmp_path: Path) -> None:
    night = files.parse(DSSP.replace("@", text).encode())
    assert isinstance(night, dssp.Instance)
    assert night.jobs[0].stages[0][1] == float(text)
    assert files.parse(files.encode(night)) == night
    log = tmp_path / "log.csv"
    log.write_text(f"submit,need,run\n0,1,{text}\n")
    assert read_jobs(log, 4).run[0] == float(text)


BEYOND = 9007199254740993


@pytest.mark.parametrize(
    "make",
    [
        lambda: dssp.Job(name="a", reward=BEYOND, stages=((1,),)),
        lambda: dssp.Job(name="a", reward=1, stages=((1, BEYOND),)),
        lambda: dssp.Job(name="a", reward=1, demand=BEYOND, critical_path=1),
        lambda: night([(1, 1)], capacity=BEYOND),
        lambda: night(
            [(1, 1)], constraints=(Resource(name="disk", capacity=BEYOND, use={"j0": 1}),)
        ),
        lambda: night(
            [(1, 1)], constraints=(Resource(name="disk", capacity=1, use={"j0": BEYOND}),)
        ),
        lambda: hesrpt.Job(name="a", size=BEYOND),
        lambda: msfq.JobClass(need=1, arrival_rate=BEYOND, service_rate=1),
        lambda: Jobs.of([0, BEYOND], [1, 1], [1, 1]),
        lambda: convert({"fill": BEYOND}, dict[str, float], "options"),
    ],
)
def test_whole_numbers_of_python_that_no_double_holds(make: Callable[[], object]) -> None:
    error = refusal(make)
    assert error.expected == EXPECTED, error
    assert str(BEYOND) in str(error)


def test_whole_numbers_are_kept_where_no_double_is_wanted() -> None:
    assert convert({"seed": BEYOND}, dict[str, int], "") == {"seed": BEYOND}
    assert convert({"any": BEYOND}, dict[str, Any], "") == {"any": BEYOND}
    error = refusal(convert, {"nodes": 10**400}, dict[str, int], "")
    assert "100 digits" in error.expected
    assert error.place == "nodes"


def test_columns_of_every_type() -> None:
    assert lost_cell(pl.Series([1, None, BEYOND])) == 2
    assert lost_cell(pl.Series([1, 2**53])) is None
    assert lost_cell(pl.Series([0.1, 1e300])) is None
    assert lost_cell(pl.Series(["x", None, "1", " 1e-400 "])) == 3
    assert lost_cell(pl.Series(["2024-03-31T02:30:00.123456", "0.30000000000000004"])) is None
