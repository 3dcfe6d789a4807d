"""Selections as integer rows, written independently from the instance for re-proving bounds.

A column is a job, or a job on a night. What is not known here is left out: then more selections are
allowed, and a bound on them bounds the others too. Each row is in lowest terms, its bounds rounded
inwards, as sums of whole numbers allow.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, gcd
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.constraints import Constraint, FairShare, Resource, Seats, label
from schedopt.instances.decimals import Whole as Decimals
from schedopt.instances.decimals import as_written, lowest, total
from schedopt.instances.dssp import Instance, Job
from schedopt.validation.dssp.constraints import bounds_by_group, fair_share_periods, past_excess
from schedopt.validation.dssp.facts import Facts, nights_of, room_of
from schedopt.validation.dssp.parts import JobRow, has_rows, machine_rows, rows_of, windows

Whole = NDArray[Any]  # integers: of 64 bits where sums fit, else Python's own
Body = Mapping[str, Fraction] | Mapping[str, int] | Mapping[str, Fraction | int]
"""The coefficients of a row by column."""
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

    The rows of a selection are ``capacity``; ``count``, which follows from it; ``capacity from A to
    B``, of jobs that live between the two; and the name of a side constraint, a colon, and the part
    of it. A season has them for each night n, with ``, night n``, or for the nights that a fair
    share is taken over; what is said of all nights has no such end. And it has ``once: JOB``.

    ``facts`` of a season are as if all jobs were of one night, and ``own`` those of nights that
    have machines of their own; of the many windows only the rows ``asked`` for, by their keys, are
    written; ``worths`` are those of jobs where these are not their rewards. ``names`` are the
    columns, then what lifts rows; ``rewards`` are whole, in units of 1/``scale``.
    """

    def __init__(
        self,
        facts: Facts,
        constraints: Sequence[Constraint],
        asked: Sequence[str],
        season: Instance | None = None,
        worths: Mapping[str, float] | None = None,
        *,
        own: Mapping[int, Facts] | None = None,
    ) -> None:
        jobs, self._own = facts.night.jobs, own or {}
        self.facts, self._asked, self._season = facts, asked, season
        self._open = {n: frozenset(selectable_jobs(one).tolist()) for n, one in self._own.items()}
        self._usually = selectable_jobs(facts)
        able = np.array(
            sorted(frozenset(self._usually.tolist()).union(*self._open.values())), dtype=np.intp
        )
        self._nights = range(1, 2) if season is None else range(1, season.nights + 1)
        self._of_job = {} if season is None else nights_of(season)
        self.rows: dict[str, LinearRow] = {}
        self._able = [jobs[j].name for j in able.tolist()]
        given = [job.reward for job in jobs] if worths is None else list(worths.values())
        rewards = Decimals.of(np.array(given, dtype=np.float64))
        common = int(np.gcd.reduce(rewards.numbers)) or 1
        self.scale = Fraction(rewards.scale, common)
        self.names, job = self._able.copy(), np.arange(len(able))
        night = np.ones(len(able), dtype=np.intp)
        if season is not None:
            self.names = [x for name in self._able for x in self._columns[name].values()]
            pairs = [(i, n) for i, name in enumerate(self._able) for n in self._columns[name]]
            job, night = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        self._earned = rewards.numbers[able[job]] // common
        for n in self._nights:
            self._capacity(n, np.flatnonzero(night == n), able[job])
        for name in self._able if season is not None else ():
            once = JobRow(f"once: {name}", {name: Fraction(1)}, None, Fraction(1))
            self._throughout("", once)
        for position, rule in enumerate(constraints):
            if has_rows(rule):
                self._state(label(rule, position), rule)

    def hold(self, name: str, worths: Mapping[str, float], chosen: Collection[str]) -> None:
        """Add a row: an objective is at least its value for some jobs."""
        body = {job: as_written(worth) for job, worth in worths.items() if worth}
        self._write(f"objective: {name}", body, total(worths[job] for job in chosen), None)

    def _capacity(self, n: int, columns: NDArray[np.intp], earned: NDArray[np.intp]) -> None:
        """Write the capacity of a night, given its columns and their jobs."""
        facts = self._on_night(n)
        if not is_unwindowed(facts):
            jobs = facts.night.jobs
            due = [facts.due[jobs[j].name] <= facts.deadline for j in earned[columns].tolist()]
            columns = columns[np.array(due, dtype=bool)]
        sizes, room = facts.whole.numbers[earned[columns]], floor(facts.capacity * facts.scale)
        self.rows[f"capacity{self._end(n)}"] = LinearRow.at_most(columns, sizes, room)
        if "count" in self._asked and self._season is None:
            some = (sizes > 0).astype(np.int64)
            self.rows["count"] = LinearRow.at_most(
                columns, some, _most_jobs(sizes[some == 1], room)
            )
        for key, window in windows(facts, self._asked_on(n), "capacity from "):
            inside = {name: facts.demand[name] for name in window.jobs}
            there = room_of(facts.rates, window.start, window.end)
            self._on(n, "", JobRow(key, inside, None, there))
        for part in machine_rows(facts, self._asked_on(n)) if facts.night.beyond else ():
            self._on(n, "", part)

    def _on_night(self, n: int) -> Facts:
        return self._own.get(n, self.facts)

    def _end(self, n: int) -> str:
        return "" if self._season is None else f", night {n}"

    def _asked_on(self, n: int) -> list[str]:
        end = self._end(n)
        return [key.removesuffix(end) for key in self._asked if key.endswith(end)]

    @cached_property
    def _columns(self) -> Mapping[str, Mapping[int, str]]:
        """The column of each job that can be selected, on each of its nights."""
        if self._season is None:
            return {name: {1: name} for name in self._able}
        usually, index = frozenset(self._usually.tolist()), self.facts.night.index
        return {
            name: {
                n: f"{name}, night {n}"
                for n in self._of_job[name]
                if index[name] in self._open.get(n, usually)
            }
            for name in self._able
        }

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: j for j, name in enumerate(self.names)}

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

    def _lifted(self, key: str, body: Body, lower: Fraction, sets: Iterable[Sequence[str]]) -> None:
        """Write a row that is waived where each of some sets has a column that is 1."""
        groups = [[name for name in columns if name in self._index] for columns in sets]
        open_, body = [c for name, c in body.items() if name in self._index], dict(body)
        if all(groups) and key not in self._index and key not in self.rows:
            self._index[key] = len(self.names)
            self.names.append(key)
            for columns in groups:
                one_of = {key: Fraction(1)} | dict.fromkeys(columns, Fraction(-1))
                self._write(f"{key}: {columns[0]}", one_of, None, Fraction(0))
            body[key] = max(Fraction(0), lower - sum((c for c in open_ if c < 0), Fraction(0)))
            self._write(key, body, lower, None)
        elif not all(groups):
            self._write(key, body, lower, None)

    def _write(
        self,
        key: str,
        body: Body,
        lower: Fraction | None,
        upper: Fraction | None,
    ) -> None:
        """Write a row, leaving out columns fixed at 0."""
        if key not in self.rows:  # a second of one key is left out
            known = {self._index[name]: c for name, c in body.items() if name in self._index}
            self.rows[key] = LinearRow.of(known, lower, upper)

    def _state(self, name: str, rule: Constraint) -> None:
        if isinstance(rule, FairShare) and self._season is not None:
            self._share(name, rule)
        elif isinstance(rule, Resource | Seats):  # each night has all of it
            for n in self._nights:
                for part in rows_of(rule, self.facts, self._asked_on(n)):
                    self._on(n, f"{name}: ", part)
        else:  # of whether jobs are run at all
            for part in rows_of(rule, self.facts, self._asked):
                self._throughout(f"{name}: ", part)

    def _on(self, n: int, start: str, part: JobRow) -> None:
        """Write a row over jobs as one over the columns of a night."""
        here = {self._columns.get(job, {}).get(n, ""): c for job, c in part.body.items()}
        self._write(f"{start}{part.what}{self._end(n)}", here, part.lower, part.upper)

    def _throughout(self, start: str, part: JobRow) -> None:
        """Write a row over jobs as one over all their columns."""
        key, here = f"{start}{part.what}", {x: c for j, c in part.body.items() for x in self._of(j)}
        if part.unless_all and part.lower is not None:
            self._lifted(key, here, part.lower, map(self._of, part.unless_all))
        else:
            self._write(key, here, part.lower, part.upper)

    def _of(self, job: str) -> list[str]:
        return list(self._columns.get(job, {}).values())

    def _share(self, name: str, rule: FairShare) -> None:
        """Write the caps and floors of a fair share over the nights that it is taken over."""
        for _, every, before in fair_share_periods(rule, len(self._nights)):
            counted = {n: counts for n, counts in every.items() if counts}
            for group, bounds in bounds_by_group(rule, self.facts).items():
                for share, side in zip(bounds, ("most", "least"), strict=True):
                    if share is None:
                        continue
                    key = f"{name}: {rule.by} {group} at {side}, {_nights_key(rule, counted)}"
                    part = as_written(share)
                    bound = -before * past_excess(rule, group, part)
                    if rule.of == "capacity":
                        there = (c * self._on_night(n).capacity for n, c in counted.items())
                        bound += part * sum(there)
                    body = dict(self._used(rule, group, part, counted))
                    if side == "most":
                        self._write(key, body, None, bound)
                    elif waiting := self._waiting(rule, group, counted):
                        self._lifted(key, body, bound, map(self._of, waiting))

    def _waiting(self, rule: FairShare, group: str, counted: Mapping[int, Fraction]) -> list[str]:
        """Return the jobs that waive a floor when all of them run."""
        facts = self.facts
        return [
            job
            for job in facts.members(rule.by, group)
            if facts.demand[job] > 0
            and any(n in self._of_job[job] and self._on_night(n).asked(job) for n in counted)
        ]

    def _used(
        self, rule: FairShare, group: str, share: Fraction, counted: Mapping[int, Fraction]
    ) -> Iterator[tuple[str, Fraction]]:
        """Yield each column's use by a group, less the group's share of the selection."""
        mine = set(self.facts.members(rule.by, group))
        for job, columns in self._columns.items():
            part = Fraction(job in mine) - (share if rule.of == "selected" else 0)
            for n, name in columns.items():
                if n in counted and part:
                    yield name, part * counted[n] * self.facts.demand[job]


def selectable_jobs(facts: Facts) -> NDArray[np.intp]:
    """Return the positions of the jobs that can be selected at all."""
    jobs = facts.night.jobs
    paths = [job.critical_path for job in jobs if job.critical_path is not None]
    if is_unwindowed(facts) and len(paths) == len(jobs) and not facts.night.beyond:
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
    return facts.fill * room_of(facts.there.together(facts.there.allowed(job)), *window)


def is_unwindowed(facts: Facts) -> bool:
    """Tell whether all jobs may run from 0 to the file's deadline."""
    return not facts.windowed and facts.deadline == as_written(facts.night.deadline)


def _nights_key(rule: FairShare, counted: Mapping[int, Fraction]) -> str:
    """Return the key of the nights that a fair share covers."""
    first, last = min(counted), max(counted)
    if rule.half_life is not None:
        return f"up to night {last}"
    return f"night {last}" if first == last else f"nights {first} to {last}"


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


__all__ = [
    "FREE",
    "LinearRow",
    "Program",
    "Whole",
    "exact_array",
    "is_unwindowed",
    "nonnegative_array",
    "selectable_jobs",
]
