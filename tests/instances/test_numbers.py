"""Numbers: decimals as they are written, whole numbers of a common unit, the fast stable sort."""

from fractions import Fraction
from math import gcd

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedopt.instances.decimals import as_written, lowest
from schedopt.instances.sorting import steady_order

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


SPECIAL = [-np.inf, -1.0, -5e-324, -0.0, 0.0, 5e-324, 2.0, 2.5, np.nextafter(2.5, 3.0), np.inf]


@given(st.lists(st.sampled_from(SPECIAL), max_size=60), st.sampled_from([1, 20]))
def test_equal_keys_stay_as_they_are(keys: list[float], times: int) -> None:
    array = np.array(keys * times, dtype=np.float64)
    assert np.array_equal(steady_order(array), np.argsort(array, kind="stable"))


@pytest.mark.parametrize("swaps", [1, 5, 100, 5000])
def test_keys_that_differ_in_their_last_bits_are_told_apart(swaps: int) -> None:
    draw = np.random.default_rng(swaps)
    array = np.sort(1.0 + draw.random(20_000) * 1e-9) * draw.choice([-1.0, 1.0])
    for i in draw.integers(0, 19_990, swaps):
        array[i : i + 5] = array[i : i + 5][::-1].copy()
    assert np.array_equal(steady_order(array), np.argsort(array, kind="stable"))
    wide = np.append(array, draw.normal(size=400_000))
    assert np.array_equal(steady_order(wide), np.argsort(wide, kind="stable"))


@pytest.mark.parametrize("values", [3, 1000, 10**9])
def test_many_keys_are_sorted_as_numpy_does(values: int) -> None:
    array = np.random.default_rng(values).integers(0, values, 20_000) / 7
    assert np.array_equal(steady_order(array), np.argsort(array, kind="stable"))
