"""A 0-1 program in integers, to which exact answers refer.

Rows are in lowest terms: coefficients without a common divisor, bounds rounded inwards to whole
numbers. So two rows that mean the same to whole selections are the same row.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, isfinite
from typing import NamedTuple

from schedopt.instances.decimals import as_written, lowest

Number = float | Fraction


class WholeRow(NamedTuple):
    """lower <= sum of coefficient·x_column <= upper, in lowest terms; None where there is no bound.

    ``key`` is what the row is called in certificates, ``name`` the side constraint that it is a
    part of, empty where it is the formulation's own. Columns ascend, and no coefficient is 0.
    """

    key: str
    name: str
    columns: tuple[int, ...]
    coefficients: tuple[int, ...]
    lower: int | None
    upper: int | None


@dataclass(frozen=True, eq=False)
class Program:
    """Maximise the rewards of the columns that are 1, under rows.

    `columns` are names, `rewards` whole numbers in units of 1/`scale`. `open` are the columns that
    can be 1 at all; `rows` are over these alone. In `lifting` are the columns that stand for "one
    of each of these is 1": 1 lifts a row.
    """

    columns: tuple[str, ...]
    rewards: tuple[int, ...]
    scale: Fraction
    open: tuple[bool, ...]
    rows: tuple[WholeRow, ...]
    lifting: Mapping[int, tuple[tuple[int, ...], ...]]

    def with_implied(self, chosen: Iterable[int]) -> list[int]:
        """Complete a choice of columns by those that it implies, in order."""
        taken = set(chosen)
        lifts = [
            z
            for z, sets in self.lifting.items()
            if self.open[z] and not any(taken.isdisjoint(columns) for columns in sets)
        ]
        return sorted(taken.union(lifts))

    def worth(self, chosen: Iterable[int]) -> int:
        """Return the total reward of some columns, in units."""
        return sum(self.rewards[j] for j in chosen)

    def violated_row(self, chosen: Iterable[int]) -> WholeRow | None:
        """Return a row that a selection of columns violates; None where there is none."""
        return next(self.breaks(chosen), None)

    def breaks(self, chosen: Iterable[int]) -> Iterator[WholeRow]:
        """Yield the rows that a selection of columns violates."""
        taken = set(chosen)
        for row in self.rows:
            used = sum(c for j, c in zip(row.columns, row.coefficients, strict=True) if j in taken)
            under = row.lower is not None and used < row.lower
            over = row.upper is not None and used > row.upper
            if under or over:
                yield row


def whole_row(
    key: str,
    name: str,
    coefficients: Mapping[int, Number],
    lower: Number,
    upper: Number,
) -> WholeRow:
    """Return a row over columns in lowest terms; infinite bounds are none."""
    kept = {j: c for j, c in sorted(coefficients.items()) if c != 0}
    if all(c == 1 for c in kept.values()):  # nearly always
        whole, scale = [1] * len(kept), Fraction(1)
    else:
        whole, scale = lowest([exact(c) for c in kept.values()])
    return WholeRow(
        key,
        name,
        tuple(kept),
        tuple(whole),
        ceil(exact(lower) * scale) if finite(lower) else None,
        floor(exact(upper) * scale) if finite(upper) else None,
    )


def finite(number: Number) -> bool:
    """Tell whether a bound is finite."""
    return isinstance(number, Fraction) or isfinite(number)


def exact(number: Number) -> Fraction:
    """Return a number as the decimal that it stands for."""
    return number if isinstance(number, Fraction) else as_written(number)


def whole_rewards(rewards: Sequence[Fraction]) -> tuple[tuple[int, ...], Fraction]:
    """Return rewards as whole numbers without a common divisor, and the units in a reward of 1."""
    whole, scale = lowest(rewards)
    return tuple(whole), scale
