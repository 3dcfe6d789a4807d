"""A selection as rows of whole numbers, written anew from the instance for re-proving bounds.

What is not known here is left out: then more selections are allowed, and a bound on them bounds the
others too. Each row is in lowest terms, its bounds rounded inwards, as sums of whole numbers allow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from math import ceil, floor, gcd, lcm
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from instances.constraints import (
    Apart,
    AtLeast,
    AtMost,
    Constraint,
    FairShare,
    Forbid,
    Imply,
    Require,
    Resource,
    Together,
    label,
)
from instances.decimals import as_written
from validation.dssp.facts import Facts

Whole = NDArray[Any]
"""Whole numbers: of 64 bits where sums have room there, else Python's own."""
FREE: Final = -1
ROOMY: Final = 1 << 61
FIELDS: Mapping[type[Constraint], frozenset[str]] = {
    FairShare: frozenset({"name", "by", "at_most", "at_least", "of"}),
    Require: frozenset({"name", "jobs"}),
    Forbid: frozenset({"name", "jobs"}),
    Imply: frozenset({"name", "if_", "then"}),
    Together: frozenset({"name", "jobs"}),
    Apart: frozenset({"name", "jobs"}),
    AtMost: frozenset({"name", "jobs", "by", "group", "count"}),
    AtLeast: frozenset({"name", "jobs", "by", "group", "count"}),
    Resource: frozenset({"name", "capacity", "use"}),
}
"""What is known of each kind; one that says more is left out."""


class Part(NamedTuple):
    """lower <= sum of coefficient·x <= upper over jobs by name; None where there is no bound.

    ``unless_all`` are jobs that lift the lower bound when all of them are selected.
    """

    what: str
    body: Mapping[str, Fraction]
    lower: Fraction | None
    upper: Fraction | None
    unless_all: Sequence[str] = ()


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

    Attributes
    ----------
    names : list of str
        The columns: the jobs that can be selected at all, then what lifts rows.
    rewards : ndarray of object, shape (columns,)
        Whole, in units of 1/`scale`: the largest of which the rewards of all jobs are multiples.
    scale : Fraction
    rows : dict of str to Row
        By key: ``capacity``; ``count``, which follows from it; and the name of a side constraint, a
        colon, and the part of it.
    """

    def __init__(self, facts: Facts, constraints: Sequence[Constraint]) -> None:
        self.names = [
            job.name
            for job in facts.night.jobs
            if facts.critical_path[job.name] <= facts.deadline
            and facts.demand[job.name] <= facts.capacity
        ]
        self._index = {name: j for j, name in enumerate(self.names)}
        jobs = len(self.names)
        self.rows: dict[str, Row] = {}
        demand = {name: facts.demand[name] for name in self.names}
        self._write("capacity", demand, None, facts.capacity)
        self._write("count", dict.fromkeys(self.names, Fraction(1)), None, _most(demand, facts))
        for position, rule in enumerate(constraints):
            if _known(rule):
                for part in parts(rule, facts):
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


def _known(rule: Constraint) -> bool:
    """Tell whether all that a side constraint says is known here."""
    fields = FIELDS.get(type(rule))
    return fields is not None and rule == type(rule)(**{f: getattr(rule, f) for f in fields})


def _most(demand: Mapping[str, Fraction], facts: Facts) -> Fraction:
    """Return how many jobs fit: as many as of the lightest."""
    used, count = Fraction(0), 0
    for size in sorted(demand.values()):
        used += size
        if used > facts.capacity:
            break
        count += 1
    return Fraction(count)


@singledispatch
def parts(rule: Constraint, facts: Facts) -> Iterator[Part]:
    """Yield what a side constraint asks of every selection, as rows; nothing of unknown kinds."""
    yield from ()


@parts.register
def _(rule: FairShare, facts: Facts) -> Iterator[Part]:
    for share, floors in ((rule.at_most, False), (rule.at_least, True)):
        for group, bound in share.items():
            yield from _share(rule, facts, group, as_written(bound), floor=floors)


def _share(
    rule: FairShare, facts: Facts, group: str, share: Fraction, *, floor: bool
) -> Iterator[Part]:
    """Yield a cap, or a floor: which asks for no more than all of the group that can be in time."""
    mine = set(facts.members(rule.by, group))
    possible = [
        name
        for name, path in facts.critical_path.items()
        if name in mine and path <= facts.deadline and facts.demand[name] > 0
    ]
    what = f"{rule.by} {group} at {'least' if floor else 'most'}"
    if not possible:
        return
    if rule.of == "selected":
        body = {n: (1 - share if n in mine else -share) * d for n, d in facts.demand.items()}
        zero = Fraction(0)
        yield Part(what, body, zero, None, possible) if floor else Part(what, body, None, zero)
        return
    body = {name: facts.demand[name] for name in possible}
    if floor:
        yield Part(what, body, min(share * facts.capacity, facts.total(possible)), None)
    else:
        yield Part(what, body, None, share * facts.capacity)


def _ones(jobs: Iterable[str]) -> dict[str, Fraction]:
    return dict.fromkeys(jobs, Fraction(1))


@parts.register
def _(rule: Require, facts: Facts) -> Iterator[Part]:
    for job in rule.jobs:
        yield Part(job, _ones([job]), Fraction(1), None)


@parts.register
def _(rule: Forbid, facts: Facts) -> Iterator[Part]:
    for job in rule.jobs:
        yield Part(job, _ones([job]), None, Fraction(0))


@parts.register
def _(rule: Imply, facts: Facts) -> Iterator[Part]:
    if rule.if_ != rule.then:
        body = {rule.if_: Fraction(1), rule.then: Fraction(-1)}
        yield Part("implied", body, None, Fraction(0))


@parts.register
def _(rule: Together, facts: Facts) -> Iterator[Part]:
    first, *others = dict.fromkeys(rule.jobs)
    for job in others:
        yield Part(job, {first: Fraction(1), job: Fraction(-1)}, Fraction(0), Fraction(0))


@parts.register
def _(rule: Apart, facts: Facts) -> Iterator[Part]:
    yield Part("at most one", _ones(rule.jobs), None, Fraction(1))


@parts.register
def _(rule: AtMost, facts: Facts) -> Iterator[Part]:
    yield Part("count", _ones(_counted(rule, facts)), None, Fraction(rule.count))


@parts.register
def _(rule: AtLeast, facts: Facts) -> Iterator[Part]:
    yield Part("count", _ones(_counted(rule, facts)), Fraction(rule.count), None)


def _counted(rule: AtMost | AtLeast, facts: Facts) -> Iterable[str]:
    return rule.jobs if rule.jobs is not None else facts.members(rule.by, rule.group)


@parts.register
def _(rule: Resource, facts: Facts) -> Iterator[Part]:
    # Amounts beyond the capacity all mean the same: that the job cannot be selected.
    room = as_written(rule.capacity)
    beyond = 2 * room or Fraction(1)
    use = {job: min(as_written(amount), beyond) for job, amount in rule.use.items()}
    yield Part("use", use, None, room)


__all__ = ["FREE", "Part", "Program", "Row", "Whole", "parts", "whole"]
