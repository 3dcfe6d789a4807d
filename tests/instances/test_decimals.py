"""Decimals as they are written, and whole numbers of a common unit."""

from __future__ import annotations

from fractions import Fraction
from math import gcd

from hypothesis import given
from hypothesis import strategies as st

from schedopt.instances.decimals import as_written, lowest

NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**18), 10**18)


@given(NUMBERS)
def test_a_number_is_the_decimal_that_is_written(number: float) -> None:
    assert as_written(number) == Fraction(repr(number))


def test_whole_doubles_beyond_15_digits_are_decimals_too() -> None:
    assert as_written(2e23) == 2 * 10**23 != int(2e23)
    assert as_written(-0.0) == 0


@given(st.lists(st.fractions(max_denominator=1000), max_size=8))
def test_fractions_in_lowest_terms(fractions: list[Fraction]) -> None:
    whole, scale = lowest(fractions)
    assert [Fraction(number) / scale for number in whole] == fractions
    assert gcd(*whole) in (0, 1)
