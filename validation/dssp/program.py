"""A selection as rows of whole numbers, written anew from the instance for re-proving bounds.

What is not known here is left out: then more selections are allowed, and a bound on them bounds the
others too. Each row is in lowest terms, its bounds rounded inwards, as sums of whole numbers allow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, gcd
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.constraints import Constraint, label
from schedopt.instances.decimals import Whole as Decimals
from schedopt.instances.decimals import as_written, lowest
from schedopt.validation.dssp.facts import Facts
from schedopt.validation.dssp.parts import Part, known, parts, windows

Whole = NDArray[Any]
"""Whole numbers: of 64 bits where sums have room there, else Python's own."""
Body = Mapping[str, Fraction] | Mapping[str, int] | Mapping[str, Fraction | int]
"""The coefficients of a row by column."""
FREE: Final = -1
ROOMY: Final = 1 << 61


@dataclass(frozen=True, eq=False)
class Row:
    """lower <= coefficients·x[columns] <= upper, all of it whole."""

    columns: NDArray[np.intp]
    coefficients: Whole
    lower: int | None
    upper: int | None

    @cached_property
    def reach(self) -> int:
        """What the sizes of the coefficients, and of the bounds, sum to."""
        return int(np.abs(self.coefficients).sum()) + abs(self.lower or 0) + abs(self.upper or 0)

    @classmethod
    def at_most(cls, columns: NDArray[np.intp], sizes: Whole, upper: int) -> Row:
        """Write a row of whole sizes in lowest terms."""
        kept = (sizes != 0).astype(bool)
        common = int(np.gcd.reduce(sizes)) or 1
        return cls(columns[kept], held(sizes[kept] // common), None, upper // common)

    @classmethod
    def of(
        cls, body: Mapping[int, Fraction | int], lower: Fraction | None, upper: Fraction | None
    ) -> Row:
        """Write a row in lowest terms."""
        kept = {j: c for j, c in body.items() if c}
        numbers, scale = lowest(list(kept.values()))
        return cls(
            np.array(list(kept), dtype=np.intp),
            whole(numbers),
            None if lower is None else ceil(lower * scale),
            None if upper is None else floor(upper * scale),
        )

    def reduced(self, values: NDArray[np.int8]) -> Row:
        """Return the row over the free columns alone, in lowest terms again."""
        now = values[self.columns]
        free = now == FREE
        if free.all():
            return self
        used = int(self.coefficients[now == 1].sum())
        numbers = self.coefficients[free].tolist()
        common = gcd(*numbers) or 1
        return Row(
            self.columns[free],
            whole([number // common for number in numbers]),
            None if self.lower is None else -((used - self.lower) // common),
            None if self.upper is None else (self.upper - used) // common,
        )


class Program:
    """Maximise rewards of columns that are 0 or 1 under rows.

    Parameters
    ----------
    names : list of str
        The columns.
    earned : ndarray of int
        The position of the job that each of them earns the reward of.
    facts : Facts
        Of the raw instance.

    Attributes
    ----------
    names : list of str
        The columns, then what lifts rows.
    rewards : ndarray of int, shape (columns,)
        Whole, in units of 1/`scale`: the largest of which the rewards of all jobs are multiples.
    scale : Fraction
    rows : dict of str to Row
        By key.
    """

    def __init__(self, names: list[str], earned: NDArray[np.intp], facts: Facts) -> None:
        self.names = names
        self.rows: dict[str, Row] = {}
        rewards = Decimals.of(np.array([job.reward for job in facts.night.jobs], dtype=np.float64))
        common = int(np.gcd.reduce(rewards.numbers)) or 1
        self.scale = Fraction(rewards.scale, common)
        self._earned = rewards.numbers[earned] // common

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: j for j, name in enumerate(self.names)}

    @cached_property
    def rewards(self) -> Whole:
        """What each column earns, in units."""
        lifts = np.zeros(len(self.names) - len(self._earned), dtype=np.int64)
        return held(np.concatenate((self._earned, lifts)))

    @cached_property
    def worth(self) -> int:
        """What all columns earn together, in units."""
        return int(self.rewards.sum())

    def column(self, name: str) -> int | None:
        """Return the place of a column, None where there is none of that name."""
        return self._index.get(name)

    def lifted(self, key: str, body: Body, lower: Fraction, sets: Iterable[list[str]]) -> None:
        """Write a row that need not hold where a column of each of some sets is 1."""
        groups = [[name for name in columns if name in self._index] for columns in sets]
        open_, body = [c for name, c in body.items() if name in self._index], dict(body)
        if all(groups) and key not in self._index and key not in self.rows:
            self._index[key] = len(self.names)
            self.names.append(key)
            for columns in groups:
                one_of = {key: Fraction(1)} | dict.fromkeys(columns, Fraction(-1))
                self.write(f"{key}: {columns[0]}", one_of, None, Fraction(0))
            body[key] = max(Fraction(0), lower - sum((c for c in open_ if c < 0), Fraction(0)))
            self.write(key, body, lower, None)
        elif not all(groups):
            self.write(key, body, lower, None)

    def write(
        self,
        key: str,
        body: Body,
        lower: Fraction | None,
        upper: Fraction | None,
    ) -> None:
        """Write a row, of columns that are 0 for sure nothing."""
        if key not in self.rows:  # a second of one key is left out
            known = {self._index[name]: c for name, c in body.items() if name in self._index}
            self.rows[key] = Row.of(known, lower, upper)


def selectable(facts: Facts) -> NDArray[np.intp]:
    """Return the positions of the jobs that can be selected at all."""
    jobs = facts.night.jobs
    paths = [job.critical_path for job in jobs if job.critical_path is not None]
    if plain(facts) and len(paths) == len(jobs):
        room = floor(facts.capacity * facts.scale)  # doubles are in the order of their decimals
        in_time = np.array(paths, dtype=np.float64) <= facts.night.deadline
        return np.flatnonzero(in_time & (facts.whole.numbers <= room).astype(bool))
    able = (
        j
        for j, (name, demand) in enumerate(facts.demand.items())
        if facts.fits(name)
        and demand <= facts.rate * (facts.due[name] - facts.release[name])
        and (demand <= facts.capacity or facts.due[name] > facts.deadline)
    )
    return np.fromiter(able, dtype=np.intp)


def plain(facts: Facts) -> bool:
    """Tell whether all jobs may run from 0 to the deadline as it is written."""
    return not facts.windowed and facts.deadline == as_written(facts.night.deadline)


class Night(Program):
    """The program of a selection.

    Its rows are ``capacity``; ``count``, which follows from it; ``capacity from A to B``, of jobs
    that live between the two; and the name of a side constraint, a colon, and the part of it.

    Parameters
    ----------
    facts : Facts
        Of the raw instance.
    constraints : sequence of Constraint
        All side constraints.
    asked : sequence of str
        The keys of rows that are asked for: of the many windows only these are written.
    """

    def __init__(
        self, facts: Facts, constraints: Sequence[Constraint], asked: Sequence[str]
    ) -> None:
        jobs, able = facts.night.jobs, selectable(facts)
        super().__init__([jobs[j].name for j in able.tolist()], able, facts)
        due = np.arange(len(able))
        if not plain(facts):
            late = [facts.due[name] > facts.deadline for name in self.names]
            due = np.flatnonzero(~np.array(late, dtype=bool))
        sizes, room = facts.whole.numbers[able[due]], floor(facts.capacity * facts.scale)
        self.rows["capacity"] = Row.at_most(due, sizes, room)
        if "count" in asked:
            some = (sizes > 0).astype(np.int64)
            self.rows["count"] = Row.at_most(due, some, _most(sizes[some == 1], room))
        for key, window in windows(facts, asked, "capacity from "):
            inside = {name: facts.demand[name] for name in window.jobs}
            self.write(key, inside, None, facts.rate * window.length)
        for position, rule in enumerate(constraints):
            if known(rule):
                for part in parts(rule, facts, asked):
                    self._state(label(rule, position), part)

    def _state(self, name: str, part: Part) -> None:
        """Write a part of a side constraint; one that can be lifted, with a column that does."""
        key = f"{name}: {part.what}"
        if part.unless_all and part.lower is not None:
            self.lifted(key, part.body, part.lower, [[job] for job in part.unless_all])
        else:
            self.write(key, part.body, part.lower, part.upper)


def whole(numbers: Sequence[int]) -> Whole:
    """Return whole numbers as an array that no sum of them overflows."""
    if sum(map(abs, numbers)) < ROOMY:
        return np.array(numbers, dtype=np.int64)
    array = np.empty(len(numbers), dtype=object)
    array[:] = numbers
    return array


def held(numbers: Whole) -> Whole:
    """Return whole numbers, 0 or more, as an array that no sum of them overflows."""
    few = numbers.dtype != object and int(numbers.max(initial=0)) * len(numbers) < ROOMY
    return numbers if few else whole(numbers.tolist())


def _most(sizes: Whole, room: int) -> int:
    """Return how many jobs fit: as many as of the lightest."""
    return int(np.searchsorted(np.cumsum(np.sort(held(sizes))), room, side="right"))


__all__ = ["FREE", "Night", "Program", "Row", "Whole", "held", "plain", "selectable", "whole"]
