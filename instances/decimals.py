"""Exact arithmetic on the numbers of a file: the decimals or fractions that are written there.

A number is read as a double and stands for the shortest decimal that reads back as that double: the
one that was written, where that has at most 15 digits. So 0.1 is one tenth, and 0.1 ten times is
exactly 1, whatever the doubles next to them add up to. A decimal of more than 13 digits gives way
to a fraction with a denominator of `DENOMINATORS` that has the same double: 50 minutes in hours are
written as 0.8333333333333334 and are exactly five sixths. What a number stands for always rounds to
its double, so numbers are ordered as their doubles are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import gcd, lcm
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
    """Return the decimal, or the fraction, that a number stands for."""
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
    """Return a share that is written as a number or a percentage: of ``40%``, 2/5.

    `ValueError` if it is neither, `OverflowError` if it is infinite.
    """
    number = text.strip().removesuffix("%")
    return as_written(float(number)) / (100 if number != text.strip() else 1)


def scale_of(numbers: Floats, most: float = 1e22) -> int:
    """Return the least power of ten that makes finite decimals whole.

    It is at most ``most``, up to 10^22, the last that a double holds; 0 where none does, where they
    would have more than 15 digits, or where one stands for another fraction.
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
    """Return how many of the largest common unit of some numbers are 1; 0 if more than ``most``."""
    if scale := scale_of(numbers, most):
        return scale
    parts = ((np.rint(numbers * d) / d == numbers).all() for d in DENOMINATORS)
    scale = Whole.of(numbers).scale if any(parts) else 0
    return scale if scale <= most else 0


@dataclass(frozen=True, eq=False)
class Whole(Sequence[Fraction]):
    """Decimals as whole numbers of one unit, ``scale`` units in 1."""

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
        """Return decimals in their largest common unit, or one a little smaller."""
        if (
            (summed := whole_total(numbers)) is not None
            and summed < SAFE
            and numbers.min(initial=0) >= 0
        ):
            return cls(numbers.astype(np.int64), 1)
        scale = scale_of(numbers)
        if scale:
            whole = np.rint(numbers * scale).astype(np.int64)
            roomy = np.abs(whole).max(initial=0) * max(len(whole), 1) < 2**62
            return cls(whole if roomy else whole.astype(object), scale)
        return cls.of_fractions([as_written(number) for number in numbers.tolist()])

    @classmethod
    def of_fractions(cls, numbers: Iterable[Fraction]) -> Whole:
        """Return fractions in their largest common unit that divides 1."""
        fractions = list(numbers)
        if all(number.denominator == 1 for number in fractions):
            whole = np.empty(len(fractions), dtype=object)
            whole[:] = [number.numerator for number in fractions]
            return cls(whole, 1)
        scale = lcm(*{number.denominator for number in fractions})
        units = [number.numerator * (scale // number.denominator) for number in fractions]
        roomy = max(map(abs, units)) * len(units) < 2**62
        return cls(np.array(units, dtype=np.int64 if roomy else object), scale)

    @cached_property
    def fractions(self) -> list[Fraction]:
        """The decimals themselves."""
        return [Fraction(number, self.scale) for number in self.numbers.tolist()]

    @cached_property
    def floats(self) -> Floats:
        """The decimals, each rounded to the nearest double."""
        if self.numbers.dtype != object and self.scale < SAFE:
            return np.asarray(self.numbers / self.scale, dtype=np.float64)
        return np.array([number / self.scale for number in self.numbers.tolist()], dtype=np.float64)

    @cached_property
    def total(self) -> int:
        """Their sum, exactly, in their unit."""
        if self.numbers.dtype != object:
            return int(np.add.reduce(self.numbers))  # as `sum`, in half the time for a few
        return sum(self.numbers.tolist())

    def take(self, positions: NDArray[np.intp]) -> Whole:
        """Return the entries at some positions."""
        return Whole(self.numbers[positions], self.scale)

    def sums(self, starts: Iterable[int]) -> Whole:
        """Return the sum of each stretch, from one start up to the next; none may be empty."""
        first = np.fromiter(starts, dtype=np.intp)
        if not first.size:
            return Whole(self.numbers[:0], self.scale)
        return Whole(np.add.reduceat(self.numbers, first), self.scale)

    def down(self, number: Fraction) -> int:
        """Return a number in these units, rounded down."""
        return number.numerator * self.scale // number.denominator


def lowest(numbers: Sequence[Fraction | int]) -> tuple[list[int], Fraction]:
    """Return fractions as whole numbers without a common divisor, and the units in 1."""
    unit = lcm(*{number.denominator for number in numbers})
    whole = [number.numerator * (unit // number.denominator) for number in numbers]
    common = gcd(*whole) or 1
    return [number // common for number in whole] if common > 1 else whole, Fraction(unit, common)


def total(numbers: Iterable[float]) -> Fraction:
    """Return the exact sum of decimals."""
    whole = Whole.of(np.fromiter(numbers, dtype=np.float64))
    return Fraction(whole.total, whole.scale)


def whole_total(numbers: Floats) -> int | None:
    """Return the sum of whole numbers, exactly; None of others, and where it is too large."""
    total = float(np.add.reduce(numbers))
    return int(total) if total < LARGEST and np.array_equal(np.rint(numbers), numbers) else None
