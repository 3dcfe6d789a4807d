"""The smallest change that would let a job run: a later deadline, more processors, and others.

A lever changes the night in steps. Let V(c) be the value of the best plan after c steps, and W(c)
that of the best plan with the job. The job runs in a best plan if W(c) >= V(c). Both are found by
solving. They do not decrease in c, unless more processors raise a minimum share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, inf

from msgspec.structs import replace as with_fields

from schedopt.formats import number
from schedopt.formulations.dssp.grid import Grid
from schedopt.instances.constraints import Constraint, FairShare, Require
from schedopt.instances.decimals import Whole, as_written
from schedopt.instances.dssp import Instance, Scheduled
from schedopt.instances.dssp.worth import UNPAID, level_of
from schedopt.planning.history import time_of_day
from schedopt.problems.summary import SmallestChange, Solve
from schedopt.solvers.clock import now
from schedopt.solvers.result import Result
from schedopt.solvers.stopping import stopped

Question = tuple[Instance, Sequence[Constraint]]


class OutOfTimeError(Exception):
    """The time limit of the search was reached."""


@dataclass(frozen=True)
class Lever:
    """A way to change a night in up to ``most`` steps.

    ``change`` returns the night, and the side constraints beyond its own, after a number of steps;
    ``value`` returns the value then, in words and as a number.
    """

    name: str
    today: str
    most: int
    change: Callable[[int], Question]
    value: Callable[[int], tuple[str, float]]
    is_own: bool = False  # whether plans without the job remain as they are
    is_bonus: bool = False  # whether all plans with the job gain the same value
    # Whether each step allows all plans of the step before, and no value between two steps is
    # enough if the lower step is not.
    is_exact: bool = True


def smallest_changes(
    night: Instance,
    rules: Sequence[Constraint],
    name: str,
    plan: Result,
    *,
    solve: Solve,
    seconds: float | None = None,
) -> list[SmallestChange]:
    """Return, for each lever, the smallest change with which a job runs in a best plan.

    ``plan`` is the best plan that is known, which does not run the job. Without ``seconds``, the
    time for all levers together, every solve runs to its proof. The only entry has ``change``
    "none" if a best plan runs the job without a change.
    """
    began = now()
    found: list[SmallestChange] = []
    levers = list(levers_of(night, rules, night.index[name]))
    known: dict[int, Result] = {}
    for k, lever in enumerate(levers):
        left = None if seconds is None else max(0.0, began + seconds - now()) / (len(levers) - k)
        search = _Search(lever, name, plan, known=known, solve=solve, seconds=left)
        change = search.run()
        if change.change == "none":
            return [change]
        found.append(change)
        known = {0: search.with_job[0]} if 0 in search.with_job else {}
    return found


class _Search:
    """Searches for the smallest number of steps of a lever."""

    def __init__(
        self,
        lever: Lever,
        name: str,
        plan: Result,
        *,
        known: dict[int, Result],
        solve: Solve,
        seconds: float | None,
    ) -> None:
        self.lever, self.name, self._solve_night = lever, name, solve
        self.best, self.with_job = {0: plan}, known
        self.seconds, self._began = seconds, now()
        self.is_proven = lever.is_exact and plan.proven
        self.enough: int | None = None

    def run(self) -> SmallestChange:
        """Return the smallest change, and whether it is proven."""
        hint = ""
        try:
            self.enough = self._smallest()
        except (OutOfTimeError, KeyboardInterrupt) as ended:
            if isinstance(ended, KeyboardInterrupt) and not stopped():
                raise
            self.is_proven, hint = False, "; try a longer time limit"
        lever, c = self.lever, self.enough
        needed = value = None
        if c == 0:
            words = "an equally good plan runs it: request it with must"
        elif c is not None:
            needed, value = lever.value(c)
            words = "" if self.is_proven else f"enough, but not proven to be the smallest{hint}"
        elif self.is_proven:
            words = "no such change is enough on its own"
        else:
            words = f"none found within the time limit{hint}" if hint else "none found"
        return SmallestChange(
            job=self.name,
            change="none" if c == 0 else lever.name,
            today="" if c == 0 else lever.today,
            needed=needed,
            value=value,
            proven=self.is_proven,
            words=words,
        )

    def _smallest(self) -> int | None:
        low, target = 0, self.best[0]
        while (c := self._first(low, target)) is not None:
            if self.lever.is_own or c == 0:
                return c
            target = self._best_after(c)
            if self._reaches(c, target):
                return c
            low = c + 1  # the best plan has gained more than the best plan with the job
        return None

    def _first(self, low: int, target: Result) -> int | None:
        """Return the first number of steps whose plans reach a target; None if none does."""
        most = self.lever.most
        if not self.lever.is_bonus and not self._reaches(most, target):
            return None
        below, high, step = low - 1, low, 1  # a small change is usually enough
        while not self._reaches(high, target):
            if high >= most:
                return None
            below, high, step = high, min(most, high + step), 2 * step
        while high - below > 1:
            middle = (below + high) // 2
            if self._reaches(middle, target):
                high = middle
            else:
                below = middle
        return high

    def _reaches(self, c: int, target: Result) -> bool:
        """Return whether a plan with the job is as good as the target after c steps."""
        night, found = self.lever.change(c)[0], self._with_job_after(c)
        if found.solution is None:
            self.is_proven &= found.termination == "infeasible"
            return False
        reached = _value(night, found.solution) >= _value(night, target.solution)
        if not reached:
            self.is_proven &= found.proven
        elif self.lever.is_own:
            self.enough = c if self.enough is None else min(c, self.enough)
        return reached

    def _best_after(self, c: int) -> Result:
        if c not in self.best:
            self.best[c] = self._solve(c)
            self.is_proven &= self.best[c].proven
            solution = self.best[c].solution
            if solution is not None and self.name in solution.completion:
                self.with_job[c] = self.best[c]
        return self.best[c]

    def _with_job_after(self, c: int) -> Result:
        c = 0 if self.lever.is_bonus else c
        if c not in self.with_job:
            self.with_job[c] = self._solve(c, Require(name=f"why {self.name}", jobs=(self.name,)))
        return self.with_job[c]

    def _solve(self, c: int, *more: Constraint) -> Result:
        left = inf if self.seconds is None else self.seconds - (now() - self._began)
        if left <= 0 or stopped():
            raise OutOfTimeError
        limit = None
        if self.seconds is not None:  # most depends on the first solve
            limit = min(left, max(0.5, self.seconds / (6 if c else 2)))
        night, rules = self.lever.change(c)
        every = [*rules, *more]
        how = {"formulation": "schedule", "time_limit": limit, "watch": None}
        return self._solve_night(night, constraints=every, **how)


def _value(night: Instance, solution: Scheduled | None) -> tuple[Fraction, ...]:
    """Return the exact value of a schedule for each objective; () without a schedule."""
    if solution is None:
        return ()
    if night.late:
        return (as_written(night.objective_of(solution)),)
    at = night.positions(solution)
    names = night.objectives or ("reward",)
    return tuple(sum(map(as_written, night.worths(n)[at].tolist()), Fraction(0)) for n in names)


# --- levers -------------------------------------------------------------------------------------


def levers_of(night: Instance, rules: Sequence[Constraint], j: int) -> Iterator[Lever]:
    """Yield the levers of a night for a job."""
    machine, job = night.machine, night.jobs[j]
    if any(machine.pools[name].most >= job.processors for name in machine.of_job(job)):
        yield _later_deadline(night, rules, j)
    yield from _more_processors(night, rules, j)
    yield from _higher_caps(night, rules, j)
    if not night.late and not any(map(level_of, night.jobs)):
        yield _higher_reward(night, rules, j)


def _with_job(night: Instance, j: int, **fields: object) -> Instance:
    jobs = [*night.jobs]
    jobs[j] = with_fields(jobs[j], **fields)
    return with_fields(night, jobs=tuple(jobs))


def _later_deadline(night: Instance, rules: Sequence[Constraint], j: int) -> Lever:
    """Return the lever of a later deadline; other jobs keep the end of the night."""
    grid, job = Grid.of(night), night.jobs[j]
    unit = Fraction(max(grid.step, 1)) / Fraction(grid.scale)  # divides all starts and ends
    today = as_written(float(night.deadlines[j]))
    if night.end is not None:
        today = min(today, as_written(night.end))
    first = floor(today / unit)
    steps = [*night.machine.pools.values(), *night.machine.resources.values()]
    times = [time for one in steps for time in one.times]
    latest = max([*map(as_written, night.deadlines.tolist()), as_written(job.release), *times])
    work = sum((as_written(length) for stage in job.stages or () for length in stage), Fraction(0))

    def due(c: int) -> float:
        return float((first + c) * unit)

    def change(c: int) -> Question:
        if c == 0:
            return night, rules
        changed, end = night, night.end
        if end is not None and due(c) > end:
            jobs = (
                with_fields(other, deadline=end) if night.deadlines[i] > end else other
                for i, other in enumerate(night.jobs)
            )
            changed = with_fields(night, jobs=tuple(jobs), end=due(c))
        return _with_job(changed, j, deadline=due(c)), rules

    return Lever(
        "deadline",
        time_of_day(night, float(today)),
        max(1, ceil((latest + work) / unit) - first + 1),
        change,
        lambda c: (time_of_day(night, due(c)), due(c)),
        is_own=not night.late,
        is_exact=grid.exact,
    )


def _more_processors(night: Instance, rules: Sequence[Constraint], j: int) -> Iterator[Lever]:
    shares = [rule for rule in (*night.constraints, *rules) if isinstance(rule, FairShare)]
    floors = any(rule.floors(night.groups.get(rule.by, {})) for rule in shares)
    most = sum(job.processors * max(map(len, job.stages or ((),))) for job in night.jobs)
    caps = [s for rule in shares for s in rule.caps(night.groups.get(rule.by, {})).values() if s]
    if caps:
        most += ceil(float(night.demands.sum()) / night.deadline / min(caps))
    for pool in night.machine.of_job(night.jobs[j]) if night.pools else [""]:
        yield _more_in_pool(night, rules, pool, most, is_exact=not floors)


def _more_in_pool(
    night: Instance, rules: Sequence[Constraint], pool: str, most: int, *, is_exact: bool
) -> Lever:
    size = night.pools[pool] if pool else night.changes or night.processors

    def change(c: int) -> Question:
        more = size + c if isinstance(size, int) else tuple((time, n + c) for time, n in size)
        if pool:
            return with_fields(night, pools=night.pools | {pool: more}), rules
        changes = () if isinstance(more, int) else more
        return with_fields(night, processors=night.processors + c, changes=changes), rules

    def value(c: int) -> tuple[str, float]:
        if isinstance(size, int):
            return f"{size + c} ({c} more)", float(size + c)
        return f"{c} more at all times", float(c)

    name = f"processors of {pool}" if pool else "processors"
    today = f"{size}" if isinstance(size, int) else ""
    return Lever(name, today, most, change, value, is_exact=is_exact)


def _higher_caps(night: Instance, rules: Sequence[Constraint], j: int) -> Iterator[Lever]:
    every = [*night.constraints, *rules]
    for i, rule in enumerate(every):
        if isinstance(rule, FairShare):
            group = night.jobs[j].groups.get(rule.by, "")
            share = rule.caps(night.groups.get(rule.by, {})).get(group, 1.0)
            if floor(100 * as_written(share)) < 100:
                yield _higher_cap(night, every, i, group, share)


def _higher_cap(
    night: Instance, every: Sequence[Constraint], i: int, group: str, share: float
) -> Lever:
    rule, own, first = every[i], len(night.constraints), floor(100 * as_written(share))
    assert isinstance(rule, FairShare)  # noqa: S101
    least = rule.floors([group]).get(group)
    floors = rule.at_least if least is None else {**rule.at_least, group: least}

    def change(c: int) -> Question:
        rules = [*every]
        if c:
            caps = {**rule.at_most, group: (first + c) / 100}
            rules[i] = with_fields(rule, at_most=caps, at_least=floors)
        return with_fields(night, constraints=tuple(rules[:own])), rules[own:]

    return Lever(
        f"cap {rule.by} {group}",
        f"{number(100 * share)}%",
        100 - first,
        change,
        lambda c: (f"{first + c}%", (first + c) / 100),
    )


def _higher_reward(night: Instance, rules: Sequence[Constraint], j: int) -> Lever:
    """Return the lever of a higher reward, in steps of the last digit of all rewards."""
    whole, job = Whole.of(night.rewards), night.jobs[j]

    def reward(c: int) -> float:
        return float(as_written(job.reward) + Fraction(c, whole.scale))

    def change(c: int) -> Question:
        values = job.values | ({UNPAID: 0.0} if c and UNPAID in job.values else {})
        return _with_job(night, j, reward=reward(c), values=values), rules

    return Lever(
        "reward",
        number(job.reward),
        whole.total + 1,
        change,
        lambda c: (number(reward(c)), reward(c)),
        is_own=True,
        is_bonus=True,
    )
