"""Numbers: the decimals that they stand for, and whole numbers of a common unit."""

from fractions import Fraction
from math import gcd

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedopt.instances import files
from schedopt.instances.decimals import Whole, as_written, lowest
from schedopt.instances.dssp import Instance

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
def test_whole_equals_numbers_as_written(numbers: list[Fraction], other: float) -> None:
    given_numbers = np.array([*map(float, numbers), other])
    assert [*Whole.of(given_numbers)] == [*map(as_written, given_numbers.tolist())]


@given(st.lists(st.fractions(max_denominator=1000), max_size=8))
def test_lowest_gives_fractions_in_lowest_terms(fractions: list[Fraction]) -> None:
    whole, scale = lowest(fractions)
    assert [Fraction(number) / scale for number in whole] == fractions
    assert gcd(*whole) in (0, 1)


NIGHT = """{"problem": "dssp", "name": "n", "processors": 1, "deadline": 9, "jobs":
[{"name": "a", "reward": 1, "stages": [[1, @]]}]}"""


@pytest.mark.parametrize("text", ["0.1", "9007199254740993", "0.12345678901234567890", "1e-400"])
def test_parse_reads_numbers_as_python(text: str) -> None:
    night = files.parse(NIGHT.replace("@", text).encode())
    assert isinstance(night, Instance)
    assert night.jobs[0].stages is not None
    assert night.jobs[0].stages[0][1] == float(text)
    assert files.parse(files.encode(night)) == night
