"""Side constraints over several nights as rows over x_{j,n}: job j runs on night n."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, singledispatch
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.dssp.rows import Number, Row, asked_by_floor, past_excess, rows
from schedopt.instances import constraints as kinds
from schedopt.instances import dssp
from schedopt.instances.decimals import Whole, as_written
from schedopt.instances.errors import InputError, listing
from schedopt.instances.fair_share import weight
from schedopt.instances.naming import split


@dataclass(frozen=True, eq=False)
class Calendar:
    """Which jobs can run on which nights; each such pair is a column.

    ``capacity``: r·P·D of a night; ``own``: of those on other machines, all jobs on that of each,
    and r·P·D; ``jobs``, ``nights``: the job of each column, by position, and its night from 1;
    ``first``: the first column of each job, and how many columns there are.
    """

    season: dssp.Instance
    capacity: Fraction
    own: Mapping[int, tuple[dssp.Instance, Fraction]]
    jobs: NDArray[np.intp]
    nights: NDArray[np.intp]
    first: NDArray[np.intp]

    @classmethod
    def of(cls, season: dssp.Instance, fill: float) -> Calendar:
        """Return the columns of a season, job by job."""
        begin = np.array([job.first_night for job in season.jobs], dtype=np.intp)
        end = np.array([job.last_night or season.nights for job in season.jobs], dtype=np.intp)
        many = np.maximum(end - begin + 1, 0)
        first = np.concatenate(([0], np.cumsum(many)))
        jobs = np.repeat(np.arange(begin.size), many)
        nights = np.arange(jobs.size) - first[jobs] + begin[jobs]
        apart = dssp.nights_apart(season)
        own = {n: (night, night.exact_capacity(fill)) for n, night in apart.items()}
        return cls(season, season.exact_capacity(fill), own, jobs, nights, first)

    @cached_property
    def columns(self) -> list[tuple[int, int]]:
        """The job, and the night, of each column."""
        return list(zip(self.jobs.tolist(), self.nights.tolist(), strict=True))

    @cached_property
    def of_job(self) -> list[Mapping[int, int]]:
        """For each job, its column on each of its nights."""
        columns, nights = range(self.jobs.size), self.nights.tolist()
        return [
            dict(zip(nights[first:after], columns[first:after], strict=True))
            for first, after in pairwise(self.first.tolist())
        ]

    def room(self, nights: Mapping[int, Fraction]) -> Fraction:
        """Return r·P·D of some nights together, each by its weight."""
        rooms = (self.own[n][1] if n in self.own else self.capacity for n in nights)
        return sum((c * room for c, room in zip(nights.values(), rooms, strict=True)), Fraction(0))

    def floor_asks_for(self, j: int, nights: Iterable[int]) -> bool:
        """Tell whether a floor over some nights asks for a job: it might be in time on one."""
        return any(self._jobs_of_floor.get(n, self._jobs_of_floor[0])[j] for n in nights)

    @cached_property
    def _jobs_of_floor(self) -> dict[int, NDArray[np.bool_]]:
        """Which jobs a floor asks for on a night of its own, or, under 0, on any other."""
        every = {0: (self.season, self.capacity), **self.own}
        return {n: asked_by_floor(night, capacity) for n, (night, capacity) in every.items()}

    def on_night(self, row: Row, n: int) -> Row:
        """Return a row over jobs as one over the columns of a night."""
        pairs = [
            (self.of_job[j][n], c)
            for j, c in zip(row.jobs, row.coefficients, strict=True)
            if n in self.of_job[j]
        ]
        return _map_columns(row, f"{row.what}, night {n}", pairs)

    def nightly(self, row: Row) -> Iterator[Row]:
        """Yield a row over jobs as one over the columns of each night."""
        if isinstance(row.coefficients, Whole):
            at = np.full(self.first.size - 1, -1)
            at[row.jobs] = np.arange(len(row.jobs))
            inside = np.flatnonzero(at[self.jobs] >= 0)
            tonight = split(self.nights[inside] - 1, self.season.nights)
            for n, places in enumerate(tonight, start=1):
                columns = inside[places]
                demand = row.coefficients.take(at[self.jobs[columns]])
                what = f"{row.what}, night {n}"
                yield Row(what, columns.tolist(), demand, row.lower, row.upper)
            return
        here: list[list[tuple[int, Number]]] = [[] for _ in range(self.season.nights)]
        for j, c in zip(row.jobs, row.coefficients, strict=True):
            for n, x in self.of_job[j].items():
                here[n - 1].append((x, c))
        for n, pairs in enumerate(here, start=1):
            yield _map_columns(row, f"{row.what}, night {n}", pairs)

    def throughout(self, row: Row) -> Row:
        """Return a row over jobs as one over all their nights."""
        pairs = zip(row.jobs, row.coefficients, strict=True)
        return _map_columns(
            row, row.what, [(x, c) for j, c in pairs for x in self.of_job[j].values()]
        )


def _map_columns(row: Row, what: str, pairs: Sequence[tuple[int, Number]]) -> Row:
    """Return a row over other columns."""
    return Row(what, [x for x, _ in pairs], [c for _, c in pairs], row.lower, row.upper)


def nights_of(
    solution: dssp.Selected | dssp.SelectedNights,
) -> Sequence[dssp.Selected | dssp.SelectedNight]:
    """Return the nights of a solution: of a selection it is the only one."""
    return (solution,) if isinstance(solution, dssp.Selected) else solution.nights


class Period(NamedTuple):
    """The nights of a fair share, each with its weight, and the weight of the past."""

    what: str
    nights: Mapping[int, Fraction]
    past: Fraction


def periods(rule: kinds.FairShare, nights: int) -> Iterator[Period]:
    """Yield the periods of a fair share: see `FairShare`."""
    if rule.half_life is not None:
        for n in range(1, nights + 1):
            aged = {m: weight(n - m, rule.half_life) for m in range(1, n + 1)}
            kept = {m: counts for m, counts in aged.items() if counts}
            yield Period(f"up to night {n}", kept, weight(n, rule.half_life))
        return
    window = 1 if rule.window is None else rule.window
    past = bool(rule.past) or rule.past_total is not None
    one = Fraction(1)
    for n in range(1, nights + 1):
        first = max(1, n - window + 1)
        reaches_back = past and (n < window or (n == 1 and rule.window is None))
        if n >= window or reaches_back or n == nights:
            what = f"night {n}" if first == n else f"nights {first} to {n}"
            yield Period(what, dict.fromkeys(range(first, n + 1), one), one * reaches_back)


@singledispatch
def season_rows(constraint: kinds.Constraint, calendar: Calendar) -> Iterator[Row]:
    """Yield the rows of a side constraint over all nights, in terms of columns.

    Raises `InputError` if the kind says nothing about seasons.
    """
    supported = sorted(kind.kind() for kind in season_rows.registry if kind is not object)
    raise InputError(
        f"a kind that a season can take{listing(supported)}", found=repr(constraint.kind())
    )


@season_rows.register(kinds.Require)
@season_rows.register(kinds.Forbid)
@season_rows.register(kinds.Imply)
@season_rows.register(kinds.Together)
@season_rows.register(kinds.Apart)
@season_rows.register(kinds.AtMost)
@season_rows.register(kinds.AtLeast)
def _(constraint: kinds.Constraint, calendar: Calendar) -> Iterator[Row]:
    # Of whether jobs are run at all, on whichever night.
    for row in rows(constraint, calendar.season, calendar.capacity):
        yield calendar.throughout(row)


@season_rows.register(kinds.Resource)
@season_rows.register(kinds.Seats)
def _(constraint: kinds.Constraint, calendar: Calendar) -> Iterator[Row]:
    # Each night has all of it.
    for row in rows(constraint, calendar.season, calendar.capacity):
        yield from calendar.nightly(row)


@season_rows.register
def _(constraint: kinds.FairShare, calendar: Calendar) -> Iterator[Row]:
    groups = calendar.season.groups.get(constraint.by, {})
    for period in periods(constraint, calendar.season.nights):
        for group, share in constraint.caps(groups).items():
            yield _bounds(constraint, calendar, period, group, share, floor=False)
        for group, share in constraint.floors(groups).items():
            yield _bounds(constraint, calendar, period, group, share, floor=True)


def _bounds(
    rule: kinds.FairShare,
    calendar: Calendar,
    period: Period,
    group: str,
    share: float,
    *,
    floor: bool,
) -> Row:
    """Write a cap, or a floor, which requires a share or all jobs that could run."""
    what = f"{rule.by} {group} at {'least' if floor else 'most'}, {period.what}"
    possible = _possible_columns(rule, calendar, period, group) if floor else []
    if floor and not possible:
        return Row(what, [], [], lower=0.0)
    part = as_written(share)
    body = _relative_use(rule, calendar, period, group, part)
    bound = -period.past * past_excess(rule, group, part)
    if rule.of == "capacity":
        bound += part * calendar.room(period.nights)
    if not floor:
        return Row(what, list(body), list(body.values()), upper=bound)
    run = [tuple(calendar.of_job[j].values()) for j in possible]
    return Row(what, list(body), list(body.values()), lower=bound, unless_each=run)


def _relative_use(
    rule: kinds.FairShare, calendar: Calendar, period: Period, group: str, share: Fraction
) -> dict[int, Fraction]:
    """Return each column's use by a group, less the group's share of the selection."""
    members = calendar.season.groups.get(rule.by, {}).get(group, ())
    mine = set(members)
    demand = calendar.season.planned.demands.fractions
    body: dict[int, Fraction] = {}
    for j in members if rule.of == "capacity" else range(len(calendar.of_job)):
        part = Fraction(j in mine) - (share if rule.of == "selected" else 0)
        for n, x in calendar.of_job[j].items() if demand[j] else ():
            if counts := period.nights.get(n):
                body[x] = part * counts * demand[j]
    return body


def _possible_columns(
    rule: kinds.FairShare, calendar: Calendar, period: Period, group: str
) -> Sequence[int]:
    season = calendar.season
    demand = season.planned.demands.fractions
    return [
        j
        for j in season.groups.get(rule.by, {}).get(group, ())
        if demand[j] > 0
        and calendar.floor_asks_for(j, period.nights.keys() & calendar.of_job[j].keys())
    ]
