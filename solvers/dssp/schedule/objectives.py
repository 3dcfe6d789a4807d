"""Solve a schedule for several objectives, one after another.

Objectives whose values are small are combined into one: a unit of an objective weighs more than all
values of the later objectives of its group together. Each group is solved by the other engines, and
the value that it has reached is a constraint on the next group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import floor
from typing import TYPE_CHECKING, Any

import msgspec

from schedopt.instances.constraints import Constraint
from schedopt.instances.decimals import Whole, as_written
from schedopt.instances.dssp.placing import worths
from schedopt.instances.dssp.records import LEAST
from schedopt.instances.rows import Columns, Row
from schedopt.solvers import portfolio
from schedopt.solvers.result import Result, Termination
from schedopt.solvers.running import Run, make_result, remaining_limits, version
from schedopt.solvers.stopping import Watch, stopped

if TYPE_CHECKING:
    from schedopt.formulations.dssp import Schedule
    from schedopt.instances.dssp import Instance, Scheduled
    from schedopt.solvers.engine import EngineTask

MOST_COMBINED = (1 << 30) - 1
"""Largest sum of combined weights: CP-SAT errs on coefficients beyond 2^31 (or-tools 5293)."""
MOST_REDUCED = 1 << 52
"""The same for a value that is minimized, which cannot be an objective by itself."""


@dataclass(frozen=True)
class Group:
    """Consecutive objectives that are solved as one.

    Attributes
    ----------
    names : tuple of str
        The objectives.
    weights : list of Fraction
        The value of each job; whole numbers where the group has several objectives.
    total : int
        The sum over the jobs that can be on time, in integer units.
    scale, step : int
        Units in 1 of the first objective, and the weight of such a unit in the group.
    reduction : int
        The largest reduction of a value of the group by objectives that are minimized.
    """

    names: tuple[str, ...]
    weights: list[Fraction]
    total: int
    scale: int
    step: int = 1
    reduction: int = 0

    def value_of(self, night: Instance, solution: Scheduled) -> Fraction:
        """Return the exact value of a schedule."""
        at = night.positions(solution).tolist()
        return sum((self.weights[j] for j in at), Fraction(0))

    def first_value(self, value: float) -> float:
        """Return the largest value of the first objective for a value of the group."""
        if len(self.names) == 1:
            return value
        return float(Fraction((floor(value + 1e-6) + self.reduction) // self.step, self.scale))


class Reached(Constraint, frozen=True, tag="reached"):
    """Select jobs whose values, given by position, sum to at least ``least``."""

    values: Any
    least: Any

    def rows(self, columns: Columns) -> Iterator[Row]:
        """Yield the row over all jobs of the instance."""
        yield Row("value", range(columns.jobs.size), self.values, lower=self.least)


def groups_of(night: Instance, most: int = MOST_COMBINED) -> list[Group]:
    """Return the objectives in groups whose combined weights sum to at most ``most``."""
    groups: list[Group] = []
    able = night.in_time.tolist()
    for name in night.objectives or ("reward",):
        worths = list(map(as_written, night.worths(name).tolist()))
        whole = Whole.of_fractions(worths)
        total = abs(sum(int(n) for n, fits in zip(whole.numbers, able, strict=True) if fits))
        last = groups[-1] if groups else None
        largest = MOST_REDUCED if name.startswith(LEAST) else most
        if last is None or last.total * (total + 1) + total > largest:
            groups.append(Group((name,), worths, total, whole.scale))
            continue
        before = last.weights if len(last.names) > 1 else [w * last.scale for w in last.weights]
        values = [  # jobs that cannot be on time have no weight, which could be too large
            w * (total + 1) + int(n) if fits else Fraction(0)
            for w, n, fits in zip(before, whole.numbers, able, strict=True)
        ]
        names, step = (*last.names, name), last.step * (total + 1)
        reduction = last.reduction * (total + 1) + (total if name.startswith(LEAST) else 0)
        total += last.total * (total + 1)
        groups[-1] = Group(names, values, total, last.scale, step, reduction)
    return groups


def solve(model: Schedule, task: EngineTask) -> Result:
    """Solve a schedule for each group of objectives, with the values of earlier groups as rows.

    The result is optimal if the schedule is proven optimal for every group. Its bound is that of
    the first objective.
    """
    night, run = model.instance, Run(task.limits)
    groups = groups_of(night)
    found: list[Result] = []
    best: Scheduled | None = None
    reached: list[Reached] = []
    for k, group in enumerate(groups):
        left = remaining_limits(task.limits, run.began)
        share = None if left.time_limit is None else left.time_limit / (len(groups) - k)
        watch = None if k else _watch(left.watch, group)
        part = type(model)(_with_weights(night, group)).add(*model.added, *reached)
        start = task.heuristic if best is None else partial(_same, best)
        limits = replace(left, time_limit=share, watch=watch)
        found.append(portfolio.solve(part, limits, start=start))
        candidates = [one for one in (best, found[-1].solution) if one is not None]
        if not candidates:
            break
        best = max(candidates, key=lambda one: [of.value_of(night, one) for of in groups])
        if stopped():
            break
        name = f"objective {', '.join(group.names)}"
        while name in model.rules:
            name += "'"
        least = group.value_of(night, best)
        reached.append(Reached(name=name, values=group.weights, least=least))
    first, bound = found[0], found[0].bound
    unproven = next((k for k, result in enumerate(found) if not result.proven), None)
    proven = unproven is None and len(found) == len(groups)
    ended: Termination = "optimal" if proven else found[unproven or 0].termination
    message = ""
    if best is not None and not proven:
        names = groups[len(found) - 1 if unproven is None else unproven].names
        message = f"not proven to be the best for: {', '.join(names)}"
    result = make_result(
        model,
        run,
        solver=task.name,
        version=version(),
        stopped=ended,
        solution=best if best is None else _with_values(night, best),
        bound=None if bound is None else groups[0].first_value(bound),
        message=message,
    )
    if not proven and result.proven:  # for the first objective alone
        result = msgspec.structs.replace(result, solution_status="feasible")
    return result.with_details(conflict=first.conflict)


def _with_weights(night: Instance, group: Group) -> Instance:
    """Return the instance whose rewards are the weights of a group."""
    pairs = zip(night.jobs, group.weights, strict=True)
    jobs = tuple(msgspec.structs.replace(job, reward=float(weight)) for job, weight in pairs)
    return msgspec.structs.replace(night, jobs=jobs, objectives=())


def _with_values(night: Instance, solution: Scheduled) -> Scheduled:
    """Return a schedule with its value for each objective."""
    values = worths(night, night.positions(solution).tolist())
    return msgspec.structs.replace(solution, objectives=values)


def _watch(watch: Watch | None, group: Group) -> Watch | None:
    """Return a watch that is called with values of the first objective of a group."""
    if watch is None or len(group.names) == 1:
        return watch

    def of_first(seconds: float, *values: float | None) -> None:
        incumbent, bound = (None if v is None else group.first_value(v) for v in values)
        watch(seconds, incumbent, bound)

    return of_first


def _same(solution: Scheduled) -> Scheduled:
    return solution
