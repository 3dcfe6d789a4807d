"""Numbers: the decimals that they stand for, and whole numbers of a common unit."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from schedopt.instances.decimals import as_written

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


# --- completion times ---------------------------------------------------------------------------
