"""Plan the rest of a night again.

The plan in hand, continued, is the first incumbent, so the new plan is never worse. Without news it
is the new plan. Otherwise the schedule search improves it. Of the plans with enough reward, the one
with the fewest changes is selected; ties prefer early ends of jobs that have started.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from msgspec import UNSET
from msgspec.structs import replace

from schedopt.instances.constraints import Constraint, FairShare
from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Instance, Scheduled
from schedopt.instances.dssp.machine import Down
from schedopt.instances.errors import InputError, at_place
from schedopt.planning.document import PlanInHand
from schedopt.planning.farm import Settings
from schedopt.planning.history import (
    Event,
    Failed,
    NightState,
    Observed,
    ReplannedAt,
    Started,
    machine_as_known,
    moment,
    seconds,
)
from schedopt.planning.observed import observe
from schedopt.planning.plan_rows import paid_jobs
from schedopt.planning.release import Span, tasks_in_order
from schedopt.planning.remaining import RemainingNight, points_of, whole_schedule
from schedopt.planning.state import read_jobs, read_state, read_time
from schedopt.problems.summary import Solve, same_time
from schedopt.solvers.clock import now as seconds_now
from schedopt.solvers.question import LazyQuestion
from schedopt.solvers.result import Result, gap
from schedopt.solvers.stopping import stopped
from schedopt.validation.dssp.facts import Facts
from schedopt.validation.dssp.schedule import violations_of

if TYPE_CHECKING:
    from schedopt.instances.tables import Source

SAME = 1 - 1e-12
"""Rewards that differ by less than this factor are the same."""


@dataclass(frozen=True, eq=False)
class Replanning:
    """The new plan of the rest of a night."""

    night: Instance  # with added jobs and the machine as reported
    result: Result  # the schedule of the whole night, with the bound and the proof of its rest
    rest: RemainingNight
    was: Mapping[str, Span]  # the start and the end of each job in the plan before
    reports: Sequence[Observed] = ()
    notes: Sequence[str] = ()  # assumptions, and rules that were left out


def replan(
    plan: PlanInHand,
    at: str | float,
    solve: Solve,
    *,
    state: Source | None = None,
    add: Source | None = None,
    table: Settings | None = None,
    stay: float = 0.0,
    constraints: Sequence[Constraint] = (),
    time_limit: float | None = None,
) -> Replanning:
    """Plan the rest of a night again: see `schedopt.verbs.replan.replan`."""
    until = inf if time_limit is None else seconds_now() + time_limit
    before = plan.night_state()
    now = read_time(plan.night, str(at))
    _expect_time_left(before, now)
    reports, processors = read_state(before, state, now, plan.tasks())
    added = read_jobs(before, add, now, table or {})
    night_state = NightState.of(plan.night, (*plan.history, *added))
    machine = machine_as_known(before).machine
    with at_place(file=str(state) if isinstance(state, str | Path) else None):
        events, notes = observe(night_state, plan.tasks(), now, reports, machine=machine)
    so_far = [*plan.history, *added, *events, *processors]
    old = list(plan.result.constraints)
    rules = [*old, *(rule for rule in constraints if rule not in old)]

    def rest_without(names: Sequence[str]) -> RemainingNight:
        history = (*so_far, ReplannedAt(at=now, without=tuple(names)))
        return RemainingNight(NightState.of(plan.night, history), now, rules)

    if processors:
        so_far += _lost_tasks(rest_without(before.without), notes)
    rest = rest_without(before.without)
    _expect_room(rest)
    kept = _unchanged_schedule(plan, rest)
    if kept is not None and not (added or processors or len(rules) > len(old)):
        result = _as_schedule(plan.result, kept)
    else:
        replanner = _Replanner(plan, rest_without, solve, stay, until)
        result, rest = replanner.run()
        broken = [f"rule {name} can no longer hold, and is ignored" for name in rest.without]
        notes += [*rest.notes, *broken]
    shared = {rule.by for rule in rules if isinstance(rule, FairShare)}
    notes += [
        f"the added jobs have no column {by!r}; caps and floors of its groups do not count them"
        for by in sorted(shared)
        if any(by not in one.job.groups for one in added)
    ]
    history = (*so_far, *_processor_events(rest), ReplannedAt(at=now, without=rest.without))
    return Replanning(
        rest.night,
        _of_whole_night(plan, rest, result, rules, history),
        rest,
        was=spans(before.night, plan.result.solution),
        reports=reports,
        notes=notes,
    )


def _lost_tasks(rest: RemainingNight, notes: list[str]) -> list[Event]:
    """Return failures of running tasks that exceed the reported processors.

    No report says which tasks ran on the processors that are gone. The tasks that started last are
    assumed to have failed, which loses the least work.
    """
    failed: list[Event] = []
    for pool, there in rest.night.machine.pools.items():
        most = there.at(as_written(rest.at))
        on_pool = rest.running_on[pool]
        runs = sorted(((-run.start, job.name, key) for job, key, run in on_pool), reverse=True)
        wide = {job.name: job.processors for job in rest.night.jobs}
        used, lost = sum(wide[name] for _, name, _ in runs), Counter[str]()
        while used > most:
            _, name, (stage, task) = runs.pop()
            used -= wide[name]
            lost[name] += 1
            failed.append(Failed(at=rest.at, job=name, stage=stage, task=task))
        if lost:
            of = f" of {pool}" if pool else ""
            tasks = ", ".join(f"{count} of {name}" for name, count in lost.items())
            notes.append(
                f"{float(most):g} processors{of} are left, and no report says which tasks failed; "
                f"the tasks that started last are assumed to start again: {tasks}"
            )
    return failed


def _processor_events(rest: RemainingNight) -> Iterator[Event]:
    numbers = rest.night.machine.numbers
    for (name, stage, task), on in rest.on.items():
        run = rest.progress[name].runs[stage, task]
        pool = rest.pool_of(run)
        if tuple(numbers[pool].start + k for k in run.processors) != on:
            yield Started(
                at=run.start,
                job=name,
                stage=stage,
                task=task,
                until=run.end,
                pool=pool,
                processors=on,
            )


def _expect_time_left(before: NightState, now: float) -> None:
    """Raise `InputError` unless a time is between the last replanning and the deadline."""
    night = before.night
    if before.at <= now < night.deadline:
        return
    after = "the last replanning" if before.at else "the start of the night"
    begin, end = moment(night, before.at), moment(night, night.deadline)
    expected = f"a time from {begin} ({after}) to before {end}"
    raise InputError(expected, found=moment(night, now), parameter="at")


def _expect_room(rest: RemainingNight) -> None:
    """Raise `InputError` if more tasks run than there have been processors."""
    for pool, there in rest.night.machine.pools.items():
        runs = [(job.name, job.processors, run.start) for job, _, run in rest.running_on[pool]]
        used, since = sum(wide for _, wide, _ in runs), min((run[2] for run in runs), default=0.0)
        times = [time for time in there.times if as_written(since) < time < as_written(rest.at)]
        most = max(there.at(time) for time in (as_written(since), *times, as_written(rest.at)))
        if used > most:
            of, counts = f" of {pool}" if pool else "", Counter[str]()
            for name, wide, _ in runs:
                counts[name] += wide
            expected = f"at most {float(most):g} processors{of} in use; report what failed or waits"
            works = ", ".join(f"{name} on {count}" for name, count in counts.items())
            raise InputError(expected, found=f"{used} in use ({works})", parameter="state")


# --- changes of a plan ------------------------------------------------------------------------

Kind = Literal["", "kept", "earlier", "later", "added", "dropped"]


def spans(night: Instance, solution: Scheduled | None) -> dict[str, Span]:
    """Return the start and the end of each job that runs and earns a reward."""
    found: dict[str, Span] = {}
    paid = set[str]() if solution is None else {*paid_jobs(night, solution)}
    for task in () if solution is None else solution.tasks:
        if task.job in paid:
            start, end = found.get(task.job, (task.start, task.end))
            found[task.job] = min(start, task.start), max(end, task.end)
    return found


def time_tolerance(night: Instance) -> float:
    """Return the difference up to which two times of a plan count as equal.

    It is a minute if the night has a start by the clock, else a rounding error.
    """
    return 1e-9 * (1 + night.horizon) if night.start is None else seconds(night, 60)


def change(was: Span | None, now: Span | None, near: float) -> Kind:
    """Return the change of a job between two plans; empty if it runs in neither."""
    if was is None or now is None:
        return "added" if now is not None else "dropped" if was is not None else ""
    start, end = now[0] - was[0], now[1] - was[1]
    if abs(start) < near and abs(end) < near:
        return "kept"
    return "later" if end >= near or (start >= near and end > -near) else "earlier"


def _objective_values(night: Instance, schedule: Scheduled) -> tuple[float, ...]:
    return schedule.objectives or (night.objective_of(schedule),)


# --- the plan in hand, continued --------------------------------------------------------------


def _unchanged_schedule(plan: PlanInHand, rest: RemainingNight) -> Scheduled | None:
    """Return the current plan as a schedule of the rest of the night; None if infeasible."""
    places = plan.by_place()
    for name, progress in rest.progress.items():
        for key, run in progress.runs.items():
            task = places.get((name, *key))
            if task is None or not (
                same_time(task.start, run.start) and same_time(task.end, run.end)
            ):
                return None
    try:
        schedule = rest.from_night({*plan.result.solution.selected} - rest.settled, places)  # type: ignore[union-attr]
    except KeyError:
        return None
    return schedule if not violations_of(rest.instance, schedule) else None


class _Replanner:
    """Solves the rest of a night, and selects the best plan with the fewest changes."""

    def __init__(
        self,
        plan: PlanInHand,
        rest_without: Callable[[Sequence[str]], RemainingNight],
        solve: Solve,
        stay: float,
        until: float,
    ) -> None:
        self.plan, self.rest_without, self.solve = plan, rest_without, solve
        self.stay, self.until = stay, until
        self.was = spans(plan.night_state().night, plan.result.solution)

    def _seconds_left(self) -> float | None:
        return None if self.until == inf else max(0.0, self.until - seconds_now())

    def run(self) -> tuple[Result, RemainingNight]:
        """Return the new plan of the rest, and the rest; rules that cannot hold are left out."""
        without: tuple[str, ...] = ()
        while True:
            rest = self.rest_without(without)
            solution = self.plan.result.solution
            planned = solution.selected if solution else ()
            start = _unchanged_schedule(self.plan, rest) or self._continued(rest, planned)
            best = self.solve(
                rest.instance,
                formulation="schedule",
                start=start,
                time_limit=self._seconds_left(),
            )
            lost = [name for name in best.conflict if not rest.keeps_begun(name)]
            if best.termination != "infeasible" or not lost or stopped():
                break
            without = (*without, *sorted(lost))
        if best.solution is None or stopped():
            return best, rest
        return self._nearest(rest, best, start), rest

    def _continued(self, rest: RemainingNight, names: Iterable[str]) -> Scheduled | None:
        """Return a schedule of some jobs close to the plan; None if it is infeasible.

        Jobs whose planned times are still ahead keep them. A dispatcher starts the other jobs in
        the gaps, unless no time is left or that earns less.
        """
        night, was = rest.instance, self.plan.by_place()
        wanted = [name for name in names if name not in rest.settled]
        ahead: dict[str, float] = {}  # the planned start
        for name in wanted:
            left = rest.places_left(name)
            if left and all(place in was and was[place].start >= rest.at for place in left):
                ahead[name] = min(was[place].start for place in left)
        kept = _with_predecessors(rest, ahead)
        if violations_of(night, rest.from_night(kept, was)):
            free = tuple(replace(job, after=()) for job in night.jobs)
            bare = replace(night, jobs=free, constraints=())
            facts = Facts(bare, 1.0)
            alone = (n for n in ahead if not violations_of(bare, rest.from_night({n}, was), facts))
            kept = _with_predecessors(rest, alone)
        found = [rest.from_night(kept, was)]
        if self._seconds_left() != 0:
            found.append(self._dispatched(rest, wanted, ahead, kept))
        feasible = [schedule for schedule in found if not violations_of(night, schedule)]
        return max(feasible, key=partial(_objective_values, night), default=None)

    def _dispatched(
        self,
        rest: RemainingNight,
        wanted: Sequence[str],
        ahead: Mapping[str, float],
        kept: Collection[str],
    ) -> Scheduled:
        """Return a schedule of jobs by a dispatcher, without jobs that earn nothing.

        The kept jobs have their planned times, and the others start in the gaps between them.
        """
        from schedopt.policies.dssp.dispatch import schedule_of, simulate

        night, was = rest.instance, self.plan.by_place()
        planned = rest.from_night(kept, was)
        starts = {rest.parts.get(name, name): start for name, start in ahead.items()}
        parts = {name: [*rest.parts_of(name)] for name in wanted if name not in kept}
        jobs = tuple(
            replace(
                job,
                release=max(
                    [
                        job.release,
                        starts.get(job.name, 0.0),
                        *(planned.completion.get(name, 0.0) for name in job.after),
                    ]
                ),
                after=tuple(name for name in job.after if name not in planned.completion),
            )
            for job in night.jobs
        )
        try:
            gaps = _without_tasks(replace(night, jobs=jobs), planned)
        except InputError:  # an instance has an idle processor
            return planned
        chosen = np.array([night.index[part] for own in parts.values() for part in own], np.int64)
        keys = np.array([starts.get(job.name, inf) for job in jobs])
        ran = simulate(gaps, chosen, keys=keys)
        paid = [
            name
            for name in parts
            if night.worth(night.index[name], ran.completion[night.index[name]])
        ]
        run = [night.index[part] for name in paid for part in parts[name]]
        others = schedule_of(gaps, np.array(run, np.int64), ran)
        return rest.from_night([*kept, *paid], {**was, **rest.to_night(others)})

    def _nearest(self, rest: RemainingNight, best: Result, start: Scheduled | None) -> Result:
        """Return the plan with the fewest changes among those with enough reward."""
        night = rest.instance
        found: Scheduled = best.solution  # type: ignore[assignment]
        if start is not None and _objective_values(night, start) > _objective_values(night, found):
            found = start  # time ran out before the search knew it
        top = _objective_values(night, found)
        sure = sum(night.jobs[night.index[name]].reward for name in rest.settled)
        least = (top[0] - self.stay * (top[0] - sure), *(() if self.stay else top[1:]))
        key, enough = partial(self._changes, rest), [found]
        if start is not None and _reaches(_objective_values(night, start), least):
            enough.append(start)
        chosen = min(enough, key=key)
        if key(chosen)[0] and chosen is not start and self._seconds_left() != 0:
            near = self._continued(rest, [n for n in found.selected if n in rest.night.index])
            if near is not None and _reaches(_objective_values(night, near), least):
                chosen = min((chosen, near), key=key)
        if chosen is best.solution or violations_of(rest.instance, chosen):
            return best
        value = night.objective_of(chosen)
        proven = best.proven and _reaches(_objective_values(night, chosen), top)
        given_up = best.proven and not proven
        return replace(
            best,
            solution=chosen,
            objective=value,
            gap=gap(value, best.bound),
            termination="completed" if given_up else best.termination,
            solution_status="optimal" if proven else "feasible",
        )

    def _changes(self, rest: RemainingNight, schedule: Scheduled) -> tuple[int, float, float]:
        """Return the number of changes, the sum of ends of begun jobs, and minus the reward."""
        night = rest.night
        chosen = {*schedule.selected} & {*night.index}
        now = spans(night, whole_schedule(night, chosen, rest.to_night(schedule)))
        near, free = time_tolerance(night), [n for n in night.index if n not in rest.settled]
        kinds = [change(self.was.get(name), now.get(name), near) for name in free]
        ends = sum(now[name][1] for name in free if rest.progress[name].runs and name in now)
        changed = sum(kind not in ("", "kept") for kind in kinds)
        return changed, round(ends, 6), -rest.instance.objective_of(schedule)


def _with_predecessors(rest: RemainingNight, names: Iterable[str]) -> set[str]:
    found, index = {*names}, rest.instance.index
    while True:
        parts = {part for name in found for part in rest.parts_of(name)} | rest.settled
        lost = {
            name
            for name in found
            for part in rest.parts_of(name)
            if not parts.issuperset(rest.instance.jobs[index[part]].after)
        }
        if not lost:
            return found
        found -= lost


def _without_tasks(night: Instance, planned: Scheduled) -> Instance:
    """Return an instance in which planned tasks hold their processors and resources."""
    tasks = [task for task in planned.tasks if task.start < task.end]
    down = tuple(Down(start=task.start, end=task.end, numbers=task.on) for task in tasks)
    holds, resources = {job.name: job.holds for job in night.jobs}, {}
    for name, there in night.machine.resources.items():
        held = [(holds[task.job].get(name, 0.0), task.start, task.end) for task in tasks]
        resources[name] = points_of(there.less([one for one in held if one[0]]))
    return replace(night, down=(*night.down, *down), resources=resources)


def _reaches(worth: tuple[float, ...], least: tuple[float, ...]) -> bool:
    """Return whether a value reaches a lower limit, in the order of the objectives."""
    first = max(worth[0], least[0]) if worth[0] >= least[0] * SAME else worth[0]
    return (first, *worth[1 : len(least)]) >= least


# --- the plan of the whole night --------------------------------------------------------------


def _as_schedule(result: Result[Scheduled], kept: Scheduled) -> Result[Scheduled]:
    bound = result.bound if result.formulation == "schedule" else None
    distance = gap(result.objective, bound)
    proven = distance is not None and distance <= 1e-9
    return replace(
        result,
        formulation="schedule",
        solver=result.solver or "search",
        policy=UNSET,
        termination="optimal" if proven else "completed",
        solution_status="optimal" if proven else "feasible",
        bound=bound,
        gap=distance,
        options={} if bound is None else result.options,
        solution=kept,
    )


def _of_whole_night(
    plan: PlanInHand,
    rest: RemainingNight,
    result: Result,
    rules: Sequence[Constraint],
    history: Sequence[Event],
) -> Result:
    solution = result.solution
    if solution is not None:
        selected = {*solution.selected} & {*rest.night.index}
        solution = whole_schedule(rest.night, selected, rest.to_night(solution))
        begun = {(name, *key) for name, one in rest.progress.items() for key in one.runs}
        tasks = tasks_in_order(rest.night, solution.tasks, begun)
        solution = replace(solution, tasks=tuple(tasks))
    return replace(
        result,
        instance=plan.night.name,
        asked=LazyQuestion(plan.night, "schedule", {}, tuple(rules), tuple(history)),
        constraints=tuple(rules),
        solution=solution,
    )
