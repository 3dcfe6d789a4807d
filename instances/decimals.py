"""Exact arithmetic on the decimal numbers of a file.

A file's number is read as a double. It stands for the shortest decimal that reads back as the same
double, which is the decimal in the file if that has at most 15 digits. So 0.1 is exactly one tenth,
and ten times 0.1 is exactly 1. A decimal of more than 13 digits is replaced by a fraction with a
denominator in `DENOMINATORS` if that fraction has the same double: 50 minutes in hours are written
as 0.8333333333333334 and stand for exactly five sixths. Rounding the exact number gives the double
again, so exact numbers are ordered as their doubles are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from math import gcd, isqrt, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[Any]  # whole numbers: of 64 bits if their sum fits, else Python's own
DENOMINATORS = (25_200, 604_800_000)
"""Seconds of seven hours and milliseconds of a week: times with units in any other unit, and halves
to tenths."""
MOST_PARTS = 2.0**40  # largest numerator: at most one in 4,096 doubles is that of a fraction
DIGITS = 13  # of a decimal that stands for itself, as fractions take more
SAFE = 10.0**15  # integers below this, divided by a power of ten, round-trip through a double
LARGEST = 2**52  # whole numbers up to this, and sums up to twice it, are exact in double precision


@lru_cache(4096)
def as_written(number: float) -> Fraction:
    """Return the exact decimal or fraction that a double stands for."""
    if isinstance(number, int) or (-SAFE < number < SAFE and number == int(number)):
        return Fraction(int(number))
    number, text = float(number), repr(float(number))
    if len(text) > DIGITS and len(text.partition("e")[0].replace(".", "").strip("-0")) > DIGITS:
        for denominator in DENOMINATORS:
            parts = round(number * denominator) if abs(number) * denominator < MOST_PARTS else 0
            if parts and parts / denominator == number:
                return Fraction(parts, denominator)
    return Fraction(text)


def fraction_of(text: str) -> Fraction:
    """Return a share, given as a number or a percentage, exactly: 2/5 for ``40%``.

    Raises `ValueError` if the text is neither, `OverflowError` if the number is infinite.
    """
    number = text.strip().removesuffix("%")
    return as_written(float(number)) / (100 if number != text.strip() else 1)


def scale_of(numbers: Floats, most: float = 1e22) -> int:
    """Return the smallest power of ten that turns all finite numbers into integers.

    It is 0 if that would exceed ``most`` (at most 10^22, which a double still holds), if the
    integers would have more than 15 digits, or if a number stands for a fraction, not a decimal.
    """
    largest = float(np.abs(numbers).max(initial=0.0))
    for places in range(23):
        scale: int = 10**places
        if scale > most or largest * scale >= SAFE:
            return 0
        if np.array_equal(np.rint(numbers * scale) / scale, numbers):
            decimal = scale == 1 or largest * scale < 10.0**DIGITS
            written = () if decimal else map(as_written, numbers.tolist())
            return scale if all(scale % number.denominator == 0 for number in written) else 0
    return 0


def common_scale(numbers: Floats, most: float) -> int:
    """Return the number of common units in 1, or 0 if it exceeds ``most``.

    The common unit is the largest number of which all ``numbers`` are multiples and that divides 1.
    """
    parts = ((np.rint(numbers * d) / d == numbers).all() for d in DENOMINATORS)
    scale = scale_of(numbers, most) or (Whole.of(numbers).scale if any(parts) else 0)
    return scale if scale <= most else 0


@dataclass(frozen=True, eq=False)
class Whole(Sequence[Fraction]):
    """Exact decimals as integer multiples of a common unit of 1/``scale``."""

    numbers: Integers
    scale: int

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, i: Any) -> Any:
        return Fraction(int(self.numbers[i]), self.scale)

    def __iter__(self) -> Iterator[Fraction]:
        return iter(self.fractions)

    @classmethod
    def of(cls, numbers: Floats) -> Whole:
        """Return the exact values of doubles in a common unit."""
        if scale := scale_of(numbers):
            return cls(_narrowed(np.rint(numbers * scale).astype(np.int64)), scale)
        return cls.of_fractions(map(as_written, numbers.tolist()))

    @classmethod
    def of_fractions(cls, numbers: Iterable[Fraction]) -> Whole:
        """Return fractions in the largest common unit that divides 1."""
        units, scale = lowest_unit(list(numbers))
        return cls(_narrowed(np.array(units, dtype=object)), scale)

    @cached_property
    def fractions(self) -> list[Fraction]:
        """The numbers as fractions."""
        return [Fraction(number, self.scale) for number in self.numbers.tolist()]

    @cached_property
    def floats(self) -> Floats:
        """The numbers, each rounded to the nearest double."""
        return np.array([number / self.scale for number in self.numbers.tolist()], dtype=np.float64)

    @cached_property
    def total(self) -> int:
        """The exact sum, in units."""
        return int(self.numbers.sum())

    def take(self, positions: NDArray[np.intp]) -> Whole:
        """Return the numbers at some positions."""
        return Whole(self.numbers[positions], self.scale)

    def sums(self, starts: Iterable[int]) -> Whole:
        """Return the sums of consecutive, nonempty segments that begin at ``starts``."""
        first = np.fromiter(starts, dtype=np.intp)
        if not first.size:
            return Whole(self.numbers[:0], self.scale)
        return Whole(np.add.reduceat(self.numbers, first), self.scale)

    def down(self, number: Fraction) -> int:
        """Return a number in units, rounded down."""
        return number.numerator * self.scale // number.denominator


def lowest_unit(numbers: Sequence[Fraction | int]) -> tuple[list[int], int]:
    """Return fractions as multiples of the largest unit that divides 1, and the units in 1."""
    scale = lcm(*{number.denominator for number in numbers})
    return [number.numerator * (scale // number.denominator) for number in numbers], scale


def lowest(numbers: Sequence[Fraction | int]) -> tuple[list[int], Fraction]:
    """Return fractions as coprime integers, and the factor by which they were multiplied."""
    whole, unit = lowest_unit(numbers)
    common = gcd(*whole) or 1
    return [number // common for number in whole] if common > 1 else whole, Fraction(unit, common)


def _narrowed(numbers: Integers) -> Integers:
    """Return integers as 64-bit numbers if their sum fits, else as Python's own."""
    fits = int(abs(numbers).max(initial=0)) * max(1, len(numbers)) < 2**62
    return numbers.astype(np.int64 if fits else object)


def total(numbers: Iterable[float]) -> Fraction:
    """Return the exact sum of the decimals that numbers stand for."""
    whole = Whole.of(np.fromiter(numbers, dtype=np.float64))
    return Fraction(whole.total, whole.scale)


def exact_sum(numbers: Integers) -> int:
    """Return the sum of integers, without overflow."""
    if numbers.dtype == object:
        return sum(numbers.tolist())
    return (int((numbers >> 31).sum()) << 31) + int((numbers & (2**31 - 1)).sum())


def divisors(number: int) -> list[int]:
    """Return the divisors of a positive integer in decreasing order."""
    small = [d for d in range(1, isqrt(number) + 1) if number % d == 0]
    return sorted({*small, *(number // d for d in small)}, reverse=True)


def split(codes: NDArray[np.intp], groups: int) -> Iterator[list[int]]:
    """Yield the positions of each group index in increasing order."""
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(groups + 1)).tolist()
    positions = order.tolist()
    return (positions[first:last] for first, last in pairwise(ends))
