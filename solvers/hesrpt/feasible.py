"""Whether side constraints leave shares under which every job is served sooner or later."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction

import numpy as np

from schedopt.formulations.hesrpt import Allocation
from schedopt.formulations.hesrpt.rules import Bound

SERVED = Fraction(1, 10**30)
"""The share from which on a job counts as served."""
INFEASIBLE = 2
"""The status of a linear program that has no solution."""
Limits = dict[tuple[int, ...], tuple[Fraction, Fraction]]
"""The least and the most that jobs may have together."""


def satisfiable(program: Allocation, asked: Collection[str]) -> bool:
    """Tell whether some of the side constraints, by name, can hold while all jobs get work done.

    False is proven: all jobs are there at first, and of jobs none of which can be served while all
    of them are there, none completes first. True means that this proof fails; it is right unless
    a team must have more than the last of its jobs may.
    """
    bounds = [bound for bound in program.rules.bounds if bound.name in asked]
    jobs = list(range(len(program.instance.jobs)))
    if program.instance.arrivals.any():  # a job may be alone when it is served
        return all(_servable([b for b in bounds if b.jobs == (j,)], [j], j) for j in jobs)
    if not any(_servable(bounds, jobs, j) for j in jobs):
        return False
    softer = [b._replace(at_least=0.0) if len(b.jobs) > 1 else b for b in bounds]
    return _served_in_turn(softer, jobs)


def possible(program: Allocation, asked: Collection[str]) -> bool:
    """Tell whether jobs can complete in a program's order under some of the rules, by name.

    False is proven; so is True, unless jobs arrive: what is asked before an arrival may then be too
    much work. An epoch in which no shares keep the rules lasts no time at all.
    """
    bounds = [bound for bound in program.rules.bounds if bound.name in asked]
    unserved, passed = set(range(len(program.instance.jobs))), False
    start = 0.0
    for here, (what, job) in zip(*program.epochs, strict=True):
        consistent = not here or _servable(bounds, here, None)
        unserved -= {j for j in unserved.intersection(here) if _servable(bounds, here, j)}
        passed = passed or consistent
        if what == "arrival":
            until = float(program.instance.arrivals[job])
            if until > start and not passed:
                return False
            start, passed = until, False
    return not unserved


def _served_in_turn(bounds: Sequence[Bound], jobs: Sequence[int]) -> bool:
    """Tell whether all jobs are served if those that can be complete, then those that now can be.

    Whom fewer others must leave servers to can be served as well, as long as no team must have any.
    """
    here = list(jobs)
    while here:
        left = [j for j in here if not _servable(bounds, here, j)]
        if len(left) == len(here):
            return False
        here = left
    return True


def _servable(bounds: Sequence[Bound], here: Sequence[int], job: int | None) -> bool:
    """Tell whether a job can have servers beside those that are here too; None: whether all can."""
    own = [] if job is None else [Bound("", (job,), float(SERVED), 1.0)]
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
    """Return what each of those here, and each team of them, may have, in decimals as written."""
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
    """Tell whether shares exist by a linear program, for teams that overlap."""
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
    found = linprog(np.zeros(len(here)), A_ub=np.array(rows), b_ub=most, bounds=box)
    return bool(found.status != INFEASIBLE)
