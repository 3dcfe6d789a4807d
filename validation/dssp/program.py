"""Selections as integer rows, written independently from the instance for re-proving bounds.

A column is a job. What is not known here is left out: then more selections are
allowed, and a bound on them bounds the others too. Each row is in lowest terms, its bounds rounded
inwards, as sums of whole numbers allow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, singledispatch
from math import ceil, floor, gcd
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances import constraints as kinds
from schedopt.instances.constraints import Constraint, label
from schedopt.instances.decimals import Whole as Decimals
from schedopt.instances.decimals import as_written, lowest
from schedopt.instances.dssp import Job
from schedopt.validation.dssp.constraints import bounds_by_group, fair_share_periods, past_excess
from schedopt.validation.dssp.facts import Facts, room_of
from schedopt.validation.dssp.machine import integral

ENERGY = "energy from "


class JobRow(NamedTuple):
    """lower <= sum of coefficient·x <= upper over jobs by name; None where there is no bound.

    ``unless_all`` are jobs that lift the lower bound when all of them are selected.
    """

    what: str
    body: Mapping[str, Fraction] | Mapping[str, int]
    lower: Fraction | None
    upper: Fraction | None
    unless_all: Sequence[str] = ()


class Window(NamedTuple):
    """Jobs whose windows lie between two times."""

    start: Fraction
    end: Fraction
    jobs: list[str]


def windows(facts: Facts, asked: Sequence[str], start: str) -> Iterator[tuple[str, Window]]:
    """Yield the windows named by keys of the form ``PREFIX A to B``."""
    keys = [key for key in asked if key.startswith(start)]
    if not keys:
        return
    releases = {f"{float(time):.15g}": time for time in facts.release.values()}
    deadlines = {f"{float(time):.15g}": time for time in facts.due.values()}
    for key in keys:
        first, _, last = key.removeprefix(start).partition(" to ")
        if first in releases and last in deadlines and releases[first] <= deadlines[last]:
            a, b = releases[first], deadlines[last]
            inside = [n for n in facts.demand if facts.release[n] >= a and facts.due[n] <= b]
            yield key, Window(a, b, inside)


def has_rows(rule: kinds.Constraint) -> bool:
    """Tell whether a side constraint is of a kind that has rows here, and of no kind beyond it."""
    return type(rule) in rows_of.registry


@singledispatch
def rows_of(rule: kinds.Constraint, facts: Facts, asked: Sequence[str]) -> Iterator[JobRow]:
    """Yield a side constraint as rows; none for unknown kinds."""
    yield from ()


@rows_of.register
def _(rule: kinds.FairShare, facts: Facts, asked: Sequence[str]) -> Iterator[JobRow]:
    for group, bounds in bounds_by_group(rule, facts).items():
        for share, is_floor in zip(bounds, (False, True), strict=True):
            if share is not None:
                yield from _fair_share_rows(rule, facts, group, as_written(share), floor=is_floor)


def _fair_share_rows(
    rule: kinds.FairShare, facts: Facts, group: str, share: Fraction, *, floor: bool
) -> Iterator[JobRow]:
    """Yield a cap, or a floor, which requires no more than all jobs of the group that fit in time.

    What was used before counts as used tonight, of more that there was to use.
    """
    mine = set(facts.members(rule.by, group))
    possible = [
        n for n, size in facts.units.items() if n in mine and size and facts.floor_counts(n)
    ]
    what = f"{rule.by} {group} at {'least' if floor else 'most'}"
    if floor and not possible:
        return
    _, _, before = next(fair_share_periods(rule, 1))
    spent = before * past_excess(rule, group, share)
    if rule.of == "selected":  # in units of the demands, and of the share
        parts, whole = share.numerator, share.denominator
        body = {n: (whole - parts if n in mine else -parts) * d for n, d in facts.units.items()}
        bound = -spent * whole * facts.scale
        yield (
            JobRow(what, body, bound, None, possible) if floor else JobRow(what, body, None, bound)
        )
        return
    body = {name: facts.units[name] for name in possible}
    bound = (share * facts.capacity - spent) * facts.scale
    if floor:
        yield JobRow(what, body, min(bound, Fraction(sum(body.values()))), None)
    else:
        yield JobRow(what, body, None, bound)


@rows_of.register
def _(rule: kinds.Seats, facts: Facts, asked: Sequence[str]) -> Iterator[JobRow]:
    # What tasks hold, seats times time, fits between any two times.
    held = {job: use for job, use in rule.use.items() if use}
    for job, use in held.items():
        if use > rule.capacity:
            yield JobRow(job, _unit_coefficients([job]), None, Fraction(0))
    spans = dict.fromkeys(key[key.find(ENERGY) :] for key in asked if ENERGY in key)
    wide = {job.name: job.processors for job in facts.night.jobs}
    there = facts.machine.without_after_end([(Fraction(0), Fraction(rule.capacity))])
    for what, window in windows(facts, list(spans), ENERGY):
        body = {n: held[n] * facts.demand[n] / wide[n] for n in window.jobs if n in held}
        yield JobRow(what, body, None, integral(there, window.start, window.end))


def machine_rows(facts: Facts, asked: Sequence[str]) -> Iterator[JobRow]:
    """Yield the rows of a machine that changes: pools, resources, and precedence."""
    for what, taken, points in facts.machine.parts(facts.demand, facts.fill):
        for key, window in windows(facts, asked, f"{what} from "):
            body = {n: taken[n] * facts.demand[n] for n in window.jobs if n in taken}
            yield JobRow(key, body, None, integral(points, window.start, window.end))
    for job in facts.night.jobs:
        for other in job.after:
            order = {job.name: Fraction(1), other: Fraction(-1)}
            yield JobRow(f"after: {job.name}, {other}", order, None, Fraction(0))


def _unit_coefficients(jobs: Iterable[str]) -> dict[str, Fraction]:
    return dict.fromkeys(jobs, Fraction(1))


@rows_of.register
def _(rule: kinds.Require, facts: Facts, asked: Sequence[str]) -> Iterator[JobRow]:
    for job in rule.jobs:
        yield JobRow(job, _unit_coefficients([job]), Fraction(1), None)


@rows_of.register
def _(rule: kinds.Forbid, facts: Facts, asked: Sequence[str]) -> Iterator[JobRow]:
    for job in rule.jobs:
        yield JobRow(job, _unit_coefficients([job]), None, Fraction(0))


@rows_of.register
def _(rule: kinds.Imply, facts: Facts, asked: Sequence[str]) -> Iterator[JobRow]:
    if rule.if_ != rule.then:
        body = {rule.if_: Fraction(1), rule.then: Fraction(-1)}
        yield JobRow("implied", body, None, Fraction(0))


@rows_of.register
def _(rule: kinds.Together, facts: Facts, asked: Sequence[str]) -> Iterator[JobRow]:
    first, *others = dict.fromkeys(rule.jobs)
    for job in others:
        yield JobRow(job, {first: Fraction(1), job: Fraction(-1)}, Fraction(0), Fraction(0))


@rows_of.register
def _(rule: kinds.Apart, facts: Facts, asked: Sequence[str]) -> Iterator[JobRow]:
    yield JobRow("at most one", _unit_coefficients(rule.jobs), None, Fraction(1))


@rows_of.register
def _(rule: kinds.AtMost, facts: Facts, asked: Sequence[str]) -> Iterator[JobRow]:
    yield JobRow("count", _unit_coefficients(_members(rule, facts)), None, Fraction(rule.count))


@rows_of.register
def _(rule: kinds.AtLeast, facts: Facts, asked: Sequence[str]) -> Iterator[JobRow]:
    yield JobRow("count", _unit_coefficients(_members(rule, facts)), Fraction(rule.count), None)


def _members(rule: kinds.AtMost | kinds.AtLeast, facts: Facts) -> Iterable[str]:
    return rule.jobs if rule.jobs is not None else facts.members(rule.by, rule.group)


@rows_of.register
def _(rule: kinds.Resource, facts: Facts, asked: Sequence[str]) -> Iterator[JobRow]:
    # Amounts beyond the capacity all mean the same: that the job cannot be selected.
    room = as_written(rule.capacity)
    beyond = 2 * room or Fraction(1)
    use = {job: min(as_written(amount), beyond) for job, amount in rule.use.items()}
    yield JobRow("use", use, None, room)


Whole = NDArray[Any]  # integers: of 64 bits where sums fit, else Python's own
FREE: Final = -1
ROOMY: Final = 1 << 61


@dataclass(frozen=True, eq=False)
class LinearRow:
    """lower <= coefficients·x[columns] <= upper, all of it whole."""

    columns: NDArray[np.intp]
    coefficients: Whole
    lower: int | None
    upper: int | None

    @cached_property
    def reach(self) -> int:
        """Sum of the absolute values of coefficients and bounds."""
        return int(np.abs(self.coefficients).sum()) + abs(self.lower or 0) + abs(self.upper or 0)

    @classmethod
    def at_most(cls, columns: NDArray[np.intp], sizes: Whole, upper: int) -> LinearRow:
        """Write a row of integer sizes in lowest terms."""
        kept = (sizes != 0).astype(bool)
        common = int(np.gcd.reduce(sizes)) or 1
        return cls(columns[kept], nonnegative_array(sizes[kept] // common), None, upper // common)

    @classmethod
    def of(
        cls, body: Mapping[int, Fraction | int], lower: Fraction | None, upper: Fraction | None
    ) -> LinearRow:
        """Write a row in lowest terms."""
        kept = {j: c for j, c in body.items() if c}
        numbers, scale = lowest(list(kept.values()))
        return cls(
            np.array(list(kept), dtype=np.intp),
            exact_array(numbers),
            None if lower is None else ceil(lower * scale),
            None if upper is None else floor(upper * scale),
        )

    def reduced(self, values: NDArray[np.int8]) -> LinearRow:
        """Return the row over the free columns alone, in lowest terms again."""
        now = values[self.columns]
        free = now == FREE
        if free.all():
            return self
        used = int(self.coefficients[now == 1].sum())
        numbers = self.coefficients[free].tolist()
        common = gcd(*numbers) or 1
        return LinearRow(
            self.columns[free],
            exact_array([number // common for number in numbers]),
            None if self.lower is None else -((used - self.lower) // common),
            None if self.upper is None else (self.upper - used) // common,
        )


class Program:
    """Maximise rewards of columns that are 0 or 1 under rows.

    The rows are ``capacity``; ``count``, which follows from it; ``capacity from A to B``, of jobs
    that live between the two; those of a machine that changes; and the name of a side constraint, a
    colon, and the part of it. Of the many windows only the rows ``asked`` for, by their keys, are
    written. ``names`` are the columns: jobs, then what lifts rows; ``rewards`` are whole, in units
    of 1/``scale``.
    """

    def __init__(
        self, facts: Facts, constraints: Sequence[Constraint], asked: Sequence[str]
    ) -> None:
        jobs, able = facts.night.jobs, selectable_jobs(facts)
        self.rows: dict[str, LinearRow] = {}
        self.names = [jobs[j].name for j in able.tolist()]
        self._index = {name: j for j, name in enumerate(self.names)}
        rewards = Decimals.of(facts.night.column("reward"))
        common = int(np.gcd.reduce(rewards.numbers)) or 1
        self.scale = Fraction(rewards.scale, common)
        self._earned = rewards.numbers[able] // common
        self._write_capacity(facts, able, asked)
        for key, window in windows(facts, asked, "capacity from "):
            inside = {name: facts.demand[name] for name in window.jobs}
            self._write(JobRow(key, inside, None, room_of(facts.rates, window.start, window.end)))
        for part in machine_rows(facts, asked) if facts.night.features else ():
            self._write(part)
        for position, rule in enumerate(constraints):
            for part in rows_of(rule, facts, asked) if has_rows(rule) else ():
                self._write(part._replace(what=f"{label(rule, position)}: {part.what}"))

    def _write_capacity(self, facts: Facts, able: NDArray[np.intp], asked: Sequence[str]) -> None:
        jobs, columns = facts.night.jobs, np.arange(len(able))
        if not is_unwindowed(facts):
            due = [facts.due[jobs[j].name] <= facts.deadline for j in able.tolist()]
            columns = columns[np.array(due, dtype=bool)]
        sizes, room = facts.whole.numbers[able[columns]], floor(facts.capacity * facts.scale)
        self.rows["capacity"] = LinearRow.at_most(columns, sizes, room)
        if "count" in asked:
            some = (sizes > 0).astype(np.int64)
            most = _most_jobs(sizes[some == 1], room)
            self.rows["count"] = LinearRow.at_most(columns, some, most)

    def _write(self, part: JobRow) -> None:
        """Write a row over jobs; one with `unless_all` is waived where all of these are 1."""
        body = {self._index[n]: c for n, c in part.body.items() if n in self._index}
        key, lower = part.what, part.lower
        if key in self.rows:
            return  # a second of one key is left out
        if part.unless_all and lower is not None:
            if not all(name in self._index for name in part.unless_all):
                self.rows[key] = LinearRow.of(body, lower, None)
            elif key not in self._index:
                lift = self._index[key] = len(self.names)
                self.names.append(key)
                for name in part.unless_all:
                    waived = {lift: Fraction(1), self._index[name]: Fraction(-1)}
                    self.rows[f"{key}: {name}"] = LinearRow.of(waived, None, Fraction(0))
                negative = sum((c for c in body.values() if c < 0), Fraction(0))
                lifted = {**body, lift: max(Fraction(0), lower - negative)}
                self.rows[key] = LinearRow.of(lifted, lower, None)
        else:
            self.rows[key] = LinearRow.of(body, lower, part.upper)

    @cached_property
    def rewards(self) -> Whole:
        """What each column earns, in units."""
        lifts = np.zeros(len(self.names) - len(self._earned), dtype=np.int64)
        return nonnegative_array(np.concatenate((self._earned, lifts)))

    @cached_property
    def worth(self) -> int:
        """What all columns earn together, in units."""
        return int(self.rewards.sum())

    def column(self, name: str) -> int | None:
        """Return the place of a column, None where there is none of that name."""
        return self._index.get(name)


def selectable_jobs(facts: Facts) -> NDArray[np.intp]:
    """Return the positions of the jobs that can be selected at all."""
    jobs = facts.night.jobs
    paths = [job.critical_path for job in jobs if job.critical_path is not None]
    if is_unwindowed(facts) and len(paths) == len(jobs) and not facts.night.features:
        room = floor(facts.capacity * facts.scale)  # doubles are in the order of their decimals
        in_time = np.array(paths, dtype=np.float64) <= facts.night.deadline
        return np.flatnonzero(in_time & (facts.whole.numbers <= room).astype(bool))
    able = (
        j
        for j, (name, demand) in enumerate(facts.demand.items())
        if facts.fits(name)
        and demand <= _capacity_for(facts, jobs[j])
        and (demand <= facts.capacity or facts.due[name] > facts.deadline)
    )
    return np.fromiter(able, dtype=np.intp)


def _capacity_for(facts: Facts, job: Job) -> Fraction:
    """Return the capacity for a job from its release to its deadline, with r."""
    window = facts.release[job.name], facts.due[job.name]
    if not facts.night.pools:
        return room_of(facts.rates, *window)
    return facts.fill * room_of(facts.machine.together(facts.machine.allowed_pools(job)), *window)


def is_unwindowed(facts: Facts) -> bool:
    """Tell whether all jobs may run from 0 to the file's deadline."""
    return not facts.windowed and facts.deadline == as_written(facts.night.deadline)


def exact_array(numbers: Sequence[int]) -> Whole:
    """Return integers as an array whose sums cannot overflow."""
    if sum(map(abs, numbers)) < ROOMY:
        return np.array(numbers, dtype=np.int64)
    array = np.empty(len(numbers), dtype=object)
    array[:] = numbers
    return array


def nonnegative_array(numbers: Whole) -> Whole:
    """Return nonnegative integers as an array whose sums cannot overflow."""
    few = numbers.dtype != object and int(numbers.max(initial=0)) * len(numbers) < ROOMY
    return numbers if few else exact_array(numbers.tolist())


def _most_jobs(sizes: Whole, room: int) -> int:
    """Return the most jobs that fit: the lightest ones."""
    return int(np.searchsorted(np.cumsum(np.sort(nonnegative_array(sizes))), room, side="right"))
