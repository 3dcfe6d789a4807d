"""Feasibility of side constraints: whether some shares complete every job."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from itertools import count, islice
from typing import NamedTuple

import numpy as np

from schedopt.formulations.hesrpt import Allocation
from schedopt.formulations.hesrpt.epochs import Bound, Timeline
from schedopt.instances.hesrpt import Instance
from schedopt.solvers.hesrpt.dominance import limits_by_job

LEAST_SHARE = Fraction(1, 10**30)
"""The smallest share with which a job counts as served."""
ROUNDING = 1e-9
"""Relative slack of earliest completion times against rounding."""
INFEASIBLE = 2
"""scipy's status of a linear program without a solution."""
Limits = dict[tuple[int, ...], tuple[Fraction, Fraction]]
"""The least and the largest total share of some jobs."""


def satisfiable(program: Allocation, asked: Collection[str]) -> bool:
    """Return False if the named side constraints are proven infeasible.

    The proof: all jobs are present at first, so some job must be served while all are present, and
    the others in turn. True means that this proof fails. The constraints are then feasible, unless
    the minimum share of a team is more than the last of its jobs may have.
    """
    bounds = [bound for bound in program.rules.bounds if bound.name in asked]
    jobs = list(range(len(program.instance.jobs)))
    softer = [b._replace(at_least=0.0) if len(b.jobs) > 1 else b for b in bounds]
    groups: dict[tuple[object, ...], list[int]] = {}
    for j, asks in enumerate(limits_by_job(bounds, len(jobs))):
        groups.setdefault(asks, []).append(j)
    alike = list(groups.values())
    if program.instance.arrivals.any():  # a job may be alone when it is served
        return all(servable(softer, [some[0]], some[0]) for some in alike)
    if not any(servable(bounds, jobs, some[0]) for some in alike):
        return False
    return _served_in_turn(softer, alike)


class Propagation:
    """Propagate earliest times and jobs that can be served along a timeline.

    An epoch in which no shares satisfy the limits has length 0.
    """

    def __init__(self, instance: Instance, bounds: Sequence[Bound]) -> None:
        self.bounds, self.arrivals = bounds, instance.arrivals
        mosts = np.ones(len(instance.jobs))
        for bound in bounds:
            jobs = list(bound.jobs)
            mosts[jobs] = np.minimum(mosts[jobs], bound.at_most)
        rates = instance.each("at", np.arange(len(mosts)), mosts * instance.servers)
        with np.errstate(divide="ignore"):
            self._least = instance.arrivals + instance.sizes / rates * (1.0 - ROUNDING)
        self._kinds = [
            tuple(i for i, bound in enumerate(bounds) if j in bound.jobs)
            for j in range(len(instance.jobs))
        ]
        self._known: dict[tuple[Sequence[int], object], bool] = {}

    def servable_jobs(self, here: Sequence[int], before: frozenset[int]) -> frozenset[int] | None:
        """Return the present jobs that were or can be served, or None if the rules cannot hold."""
        key = tuple(here)
        if here and not self._servable(key, None):
            return None
        return frozenset(j for j in here if j in before or self._servable(key, j))

    def _servable(self, here: tuple[int, ...], job: int | None) -> bool:
        """Return `servable`, computed once for jobs with the same limits."""
        key = here, None if job is None else self._kinds[job]
        if key not in self._known:
            self._known[key] = servable(self.bounds, here, job)
        return self._known[key]

    def after(
        self, state: TimelineState, here: Sequence[int], what: str, job: int
    ) -> TimelineState | None:
        """Return the state after an epoch that ends with an event, or None if it is impossible."""
        now = self.servable_jobs(here, state.served)
        served = state.served | (now or frozenset())
        passed = state.passed or now is not None
        if what == "completion":
            earliest = max(state.earliest, float(self._least[job]))
            return TimelineState(state.start, earliest, passed, served) if job in served else None
        until = float(self.arrivals[job])
        if state.earliest > until or (until > state.start and not passed):
            return None
        served = served if until > state.start else state.served
        return TimelineState(until, until, False, served)


class TimelineState(NamedTuple):
    """The state of a timeline."""

    start: float = 0.0  # the last arrival
    earliest: float = 0.0  # the earliest possible time of the last event
    passed: bool = False  # whether an epoch since the last arrival can have a positive length
    served: frozenset[int] = frozenset()  # jobs that could be served so far


def is_possible(program: Allocation, asked: Collection[str]) -> bool:
    """Return whether the jobs can complete in a program's order under the named rules.

    The answer is exact without arrivals. With arrivals True means that it may be possible: the work
    that must be done before an arrival may still be too much.
    """
    bounds = [bound for bound in program.rules.bounds if bound.name in asked]
    course = Propagation(program.instance, bounds)
    state: TimelineState | None = TimelineState()
    for here, (what, job) in zip(*program.epochs, strict=True):
        state = None if state is None else course.after(state, here, what, job)
    return state is not None


def possible_timelines(
    program: Allocation, asked: Collection[str], most_epochs: int = 50_000
) -> Iterator[Timeline]:
    """Yield the timelines that are possible (see `is_possible`) under the named rules.

    Raises
    ------
    TimeoutError
        If there are too many.
    """
    instance = program.instance
    bounds = [bound for bound in program.rules.bounds if bound.name in asked]
    course, visited = Propagation(instance, bounds), count()
    waiting = sorted((float(r), j) for j, r in enumerate(instance.arrivals) if r > 0)
    come = [j for _, j in waiting]
    wanted = program.last_first[::-1].tolist() if program.given else None

    def extended_timelines(
        state: TimelineState, first: int, here: list[int], done: list[int], arrived: dict[str, int]
    ) -> Iterator[Timeline]:
        if next(visited) > most_epochs:
            raise TimeoutError("there are too many possible timelines")
        if first == len(come) and not here:
            yield done[::-1], arrived
        events = [("arrival", come[first])] if first < len(come) else []
        who = here if wanted is None else [j for j in here if j == wanted[len(done)]]
        events += [("completion", j) for j in who]
        for what, j in events:
            after = course.after(state, here, what, j)
            if after is None:
                continue
            if what == "arrival":
                also = {**arrived, instance.jobs[j].name: len(done)}
                yield from extended_timelines(after, first + 1, sorted([*here, j]), done, also)
            else:
                yield from extended_timelines(
                    after, first, [i for i in here if i != j], [*done, j], arrived
                )

    here = [j for j, r in enumerate(instance.arrivals) if r == 0]
    yield from extended_timelines(TimelineState(), 0, here, [], {})


def has_few_timelines(program: Allocation, most: int, most_jobs: int = 12) -> bool:
    """Return True if at most ``most`` timelines are possible.

    With more than ``most_jobs`` jobs they are not counted.
    """
    if len(program.instance.jobs) > most_jobs:
        return program.given and not program.instance.arrivals.any()
    try:
        timelines = possible_timelines(program, program.rules.names)
        return next(islice(timelines, most, None), None) is None
    except TimeoutError:
        return False


def _served_in_turn(bounds: Sequence[Bound], groups: list[list[int]]) -> bool:
    """Return True if all jobs complete when each servable group completes, again and again.

    The jobs of a group have the same limits. With fewer jobs present, a job that could be served
    still can, as long as no team has a minimum.
    """
    while groups:
        here = [j for group in groups for j in group]
        remaining = [group for group in groups if not servable(bounds, here, group[0])]
        if len(remaining) == len(groups):
            return False
        groups = remaining
    return True


def servable(bounds: Sequence[Bound], here: Sequence[int], job: int | None = None) -> bool:
    """Return True if shares exist for the present jobs, with a positive share for ``job``."""
    own = [] if job is None else [Bound("", (job,), float(LEAST_SHARE), 1.0)]
    alone, teams = _limits([*bounds, *own], here)
    in_teams = [j for team in teams for j in team]
    if len(set(in_teams)) < len(in_teams):
        return _program_is_feasible(alone, teams, here)
    needed = sum((low for (j,), (low, _) in alone.items() if j not in set(in_teams)), Fraction(0))
    for team, (low, high) in teams.items():
        floor = max(low, sum((alone[j,][0] for j in team), Fraction(0)))
        if floor > min(high, sum((alone[j,][1] for j in team), Fraction(0))):
            return False
        needed += floor
    return needed <= 1 and all(low <= high for low, high in alone.values())


def _limits(bounds: Sequence[Bound], here: Sequence[int]) -> tuple[Limits, Limits]:
    """Return the limits of each present job and of each team, as exact decimals."""
    alone: Limits = {(j,): (Fraction(0), Fraction(1)) for j in here}
    teams: Limits = {}
    for bound in bounds:
        members = tuple(sorted(j for j in bound.jobs if (j,) in alone))
        if not members:
            continue
        limits = alone if len(members) == 1 else teams
        low, high = limits.get(members, (Fraction(0), Fraction(1)))
        low = max(low, Fraction(str(bound.at_least)))
        limits[members] = low, min(high, Fraction(str(bound.at_most)))
    return alone, teams


def _program_is_feasible(alone: Limits, teams: Limits, here: Sequence[int]) -> bool:
    """Return whether shares exist, by a linear program, for teams that overlap."""
    from scipy.optimize import linprog

    if any(low > high for low, high in alone.values()):
        return False
    at = {j: i for i, j in enumerate(here)}
    rows, most = [np.ones(len(here))], [1.0]
    for team, (low, high) in teams.items():
        row = np.zeros(len(here))
        row[[at[j] for j in team]] = 1.0
        rows += [row, -row]
        most += [float(high), -float(low)]
    box = [(float(alone[j,][0]), float(alone[j,][1])) for j in here]
    outcome = linprog(np.zeros(len(here)), A_ub=np.array(rows), b_ub=most, bounds=box)
    return bool(outcome.status != INFEASIBLE)
