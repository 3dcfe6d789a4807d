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

from instances.constraints import Constraint, label
from instances.decimals import as_written, lowest
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
        numbers, scale = lowest(list(kept.values()))
        return cls(
            np.array(list(kept), dtype=np.intp),
            whole(numbers),
            None if lower is None else ceil(lower * scale),
            None if upper is None else floor(upper * scale),
        )

    def reduced(self, values: NDArray[np.int8]) -> Row:
        """Return the row over the free columns alone, in lowest terms again."""
        held = values[self.columns]
        free = held == FREE
        if free.all():
            return self
        used = sum(self.coefficients[held == 1].tolist())
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
    earned : list of str
        The job that each of them earns the reward of.
    facts : Facts
        Of the raw instance.

    Attributes
    ----------
    names : list of str
        The columns, then what lifts rows.
    rewards : ndarray of object, shape (columns,)
        Whole, in units of 1/`scale`: the largest of which the rewards of all jobs are multiples.
    scale : Fraction
    rows : dict of str to Row
        By key.
    """

    def __init__(self, names: list[str], earned: list[str], facts: Facts) -> None:
        self.names = names
        self.rows: dict[str, Row] = {}
        self._index = {name: j for j, name in enumerate(names)}
        reward = {job.name: as_written(job.reward) for job in facts.night.jobs}
        numbers, self.scale = lowest(list(reward.values()))
        units = dict(zip(reward, numbers, strict=True))
        self._earned = [units[job] for job in earned]

    @cached_property
    def rewards(self) -> Whole:
        """What each column earns, in units."""
        return whole(self._earned + [0] * (len(self.names) - len(self._earned))).astype(object)

    def column(self, name: str) -> int | None:
        """Return the place of a column, None where there is none of that name."""
        return self._index.get(name)

    def lifted(
        self, key: str, body: Mapping[str, Fraction], lower: Fraction, sets: Iterable[list[str]]
    ) -> None:
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
        body: Mapping[str, Fraction],
        lower: Fraction | None,
        upper: Fraction | None,
    ) -> None:
        """Write a row, of columns that are 0 for sure nothing."""
        if key not in self.rows:  # a second of one key is left out
            known = {self._index[name]: c for name, c in body.items() if name in self._index}
            self.rows[key] = Row.of(known, lower, upper)


def selectable(facts: Facts) -> list[str]:
    """Return the jobs that can be selected at all."""
    night = facts.night
    plain = not facts.windowed and facts.deadline == as_written(night.deadline)
    if plain and all(job.critical_path is not None for job in night.jobs):
        room = floor(facts.capacity * facts.scale)  # doubles are in the order of their decimals
        in_time = (job for job in night.jobs if (job.critical_path or 0.0) <= night.deadline)
        return [job.name for job in in_time if facts.units[job.name] <= room]
    return [
        name
        for name, demand in facts.demand.items()
        if facts.fits(name)
        and demand <= facts.rate * (facts.due[name] - facts.release[name])
        and (demand <= facts.capacity or facts.due[name] > facts.deadline)
    ]


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
        names = selectable(facts)
        super().__init__(names, names.copy(), facts)
        demand = {name: facts.demand[name] for name in self.names}
        due = {n: d for n, d in demand.items() if d and facts.due[n] <= facts.deadline}
        self.write("capacity", due, None, facts.capacity)
        self.write("count", dict.fromkeys(due, Fraction(1)), None, _most(due, facts))
        for key, window in windows(facts, asked, "capacity from "):
            inside = {name: demand[name] for name in window.jobs if name in demand}
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


def _most(demand: Mapping[str, Fraction], facts: Facts) -> Fraction:
    """Return how many jobs fit: as many as of the lightest."""
    used, count, room = 0, 0, floor(facts.capacity * facts.scale)
    for size in sorted(facts.units[name] for name in demand):
        used += size
        if used > room:
            break
        count += 1
    return Fraction(count)


__all__ = ["FREE", "Night", "Program", "Row", "Whole", "selectable", "whole"]
