"""A selection as rows of whole numbers, written anew from the instance for re-proving bounds.

What is not known here is left out: then more selections are allowed, and a bound on them bounds the
others too. Each row is in lowest terms, its bounds rounded inwards, as sums of whole numbers allow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, gcd, lcm
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from instances.constraints import Constraint, label
from instances.decimals import as_written
from validation.dssp.facts import Facts
from validation.dssp.parts import Part, known, parts, windows

Whole = NDArray[Any]
"""Whole numbers: of 64 bits where sums have room there, else Python's own."""
FREE: Final = -1
ROOMY: Final = 1 << 61


@dataclass(frozen=True, eq=False)
class Row:
    """lower <= coefficients·x[columns] <= upper, all of it whole."""

    columns: NDArray[np.intp]
    coefficients: Whole
    lower: int | None
    upper: int | None

    @classmethod
    def of(
        cls, body: Mapping[int, Fraction], lower: Fraction | None, upper: Fraction | None
    ) -> Row:
        """Write a row in lowest terms."""
        kept = {j: c for j, c in body.items() if c}
        scale = Fraction(lcm(*(c.denominator for c in kept.values())))
        scale /= gcd(*(int(c * scale) for c in kept.values())) or 1
        return cls(
            np.array(list(kept), dtype=np.intp),
            whole([int(c * scale) for c in kept.values()]),
            None if lower is None else ceil(lower * scale),
            None if upper is None else floor(upper * scale),
        )

    def reduced(self, values: NDArray[np.int8]) -> Row:
        """Return the row over the free columns alone, in lowest terms again."""
        held = values[self.columns]
        used = Fraction(sum(self.coefficients[held == 1].tolist()))
        free = held == FREE
        names, numbers = self.columns[free].tolist(), self.coefficients[free].tolist()
        return Row.of(
            {j: Fraction(c) for j, c in zip(names, numbers, strict=True)},
            None if self.lower is None else self.lower - used,
            None if self.upper is None else self.upper - used,
        )


class Program:
    """Maximise rewards of columns that are 0 or 1 under rows.

    Parameters
    ----------
    facts : Facts
        Of the raw instance.
    constraints : sequence of Constraint
        All side constraints.
    asked : sequence of str
        The keys of rows that are asked for: of the many windows only these are written.

    Attributes
    ----------
    names : list of str
        The columns: the jobs that can be selected at all, then what lifts rows.
    rewards : ndarray of object, shape (columns,)
        Whole, in units of 1/`scale`: the largest of which the rewards of all jobs are multiples.
    scale : Fraction
    rows : dict of str to Row
        By key: ``capacity``; ``count``, which follows from it; ``capacity from A to B``, of jobs
        that live between the two; and the name of a side constraint, a colon, and the part of it.
    """

    def __init__(
        self, facts: Facts, constraints: Sequence[Constraint], asked: Sequence[str]
    ) -> None:
        self.names = [
            name
            for name, demand in facts.demand.items()
            if facts.fits(name)
            and demand <= facts.rate * (facts.due[name] - facts.release[name])
            and (demand <= facts.capacity or facts.due[name] > facts.deadline)
        ]
        self._index = {name: j for j, name in enumerate(self.names)}
        jobs = len(self.names)
        self.rows: dict[str, Row] = {}
        demand = {name: facts.demand[name] for name in self.names}
        due = {n: d for n, d in demand.items() if d and facts.due[n] <= facts.deadline}
        self._write("capacity", due, None, facts.capacity)
        self._write("count", dict.fromkeys(due, Fraction(1)), None, _most(due, facts))
        for key, window in windows(facts, asked, "capacity from "):
            inside = {name: demand[name] for name in window.jobs if name in demand}
            self._write(key, inside, None, facts.rate * window.length)
        for position, rule in enumerate(constraints):
            if known(rule):
                for part in parts(rule, facts, asked):
                    self._state(label(rule, position), part)
        reward = {job.name: as_written(job.reward) for job in facts.night.jobs}
        earned = [reward[name] for name in self.names[:jobs]]
        self.scale = Fraction(lcm(*(r.denominator for r in reward.values())))
        self.scale /= gcd(*(int(r * self.scale) for r in reward.values())) or 1
        numbers = [int(r * self.scale) for r in earned] + [0] * (len(self.names) - jobs)
        self.rewards = whole(numbers).astype(object)

    def column(self, name: str) -> int | None:
        """Return the place of a column, None where there is none of that name."""
        return self._index.get(name)

    def _state(self, name: str, part: Part) -> None:
        """Write a part of a side constraint; one that can be lifted, with a column that does."""
        key, body = f"{name}: {part.what}", dict(part.body)
        if part.unless_all and key not in self.rows and self._index.keys() >= {*part.unless_all}:
            self._index[key] = len(self.names)
            self.names.append(key)
            for job in part.unless_all:
                lifted = {key: Fraction(1), job: Fraction(-1)}
                self._write(f"{key}: {job}", lifted, None, Fraction(0))
            open_ = (c for job, c in body.items() if job in self._index)
            least = sum((c for c in open_ if c < 0), Fraction(0))
            body[key] = max(Fraction(0), (part.lower or Fraction(0)) - least)
        self._write(key, body, part.lower, part.upper)

    def _write(
        self,
        key: str,
        body: Mapping[str, Fraction],
        lower: Fraction | None,
        upper: Fraction | None,
    ) -> None:
        """Write a row, of columns that are 0 for sure nothing."""
        if key not in self.rows:  # a second of one key is left out
            known = {self._index[name]: c for name, c in body.items() if name in self._index}
            self.rows[key] = Row.of(known, lower, upper)


def whole(numbers: Sequence[int]) -> Whole:
    """Return whole numbers as an array that no sum of them overflows."""
    if sum(map(abs, numbers)) < ROOMY:
        return np.array(numbers, dtype=np.int64)
    array = np.empty(len(numbers), dtype=object)
    array[:] = numbers
    return array


def _most(demand: Mapping[str, Fraction], facts: Facts) -> Fraction:
    """Return how many jobs fit: as many as of the lightest."""
    used, count = Fraction(0), 0
    for size in sorted(demand.values()):
        used += size
        if used > facts.capacity:
            break
        count += 1
    return Fraction(count)


__all__ = ["FREE", "Program", "Row", "Whole", "whole"]
