"""Plans: which jobs run, on which night, when, on how many processors, and why the others do not.

A selection says what is run, not when. Where every job has tasks, the plan dispatches each night by
the best of all dispatchers (but the random one): the one that earns the most, then with the fewest
late jobs, then done the earliest, then the first in the list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec import UNSET

from schedopt.formats import counted
from schedopt.formulations.dssp.nights import nights_of
from schedopt.instances.constraints import Seats, label
from schedopt.instances.dssp import (
    Instance,
    Scheduled,
    ScheduledNights,
    Selected,
    SelectedNight,
    SelectedNights,
    one_night,
)
from schedopt.instances.dssp.clock import dates_of
from schedopt.instances.dssp.machine import in_order
from schedopt.instances.errors import InputError
from schedopt.problems.dssp.reasons import reasons
from schedopt.problems.summary import Column, Plan, groupings
from schedopt.solvers.result import Result

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedopt.policies.dssp.dispatch import Simulated

Chosen = Selected | SelectedNights

PLAINLY = 3_000  # tasks up to which simulating takes less time than loading a compiler
HOPE = " (--formulation schedule looks for a choice that can be)"  # advice about late jobs
LATE = "late"  # the reason for a chosen job that is not run: it would end too late to earn anything
ON_TIME = 1 + 1e-11
"""A completion that is later than the deadline by less than this factor is rounded."""


def has_several_nights(result: Result) -> bool:
    """Tell whether a result is one of several nights."""
    if result.solution is None:
        return result.formulation == "season"
    return isinstance(result.solution, SelectedNights)


def schedules_of(run: Result[Scheduled | ScheduledNights] | None) -> Sequence[Scheduled]:
    """Return the schedule of each night; none where nothing is said of times."""
    if run is None or run.solution is None:
        return ()
    solution = run.solution
    return (solution,) if isinstance(solution, Scheduled) else solution.schedules


def lateness(instance: Instance, solution: Scheduled) -> dict[str, float]:
    """Return by how much each job that is run is late; 0 for those in time."""
    late = {}
    for name, end in solution.completion.items():
        deadline = float(instance.deadlines[instance.index[name]])
        late[name] = 0.0 if end <= deadline * ON_TIME else end - deadline
    return late


def unpaid_jobs(instance: Instance, solution: Scheduled) -> list[str]:
    """Return the jobs that are run and end so late that they earn nothing, the latest first."""
    late = lateness(instance, solution)
    ends, index = solution.completion, instance.index
    lost = [name for name in late if late[name] and not instance.worth(index[name], ends[name])]
    return sorted(lost, key=late.__getitem__, reverse=True)


def in_time(instance: Instance, solution: Scheduled) -> str:
    """Say how many jobs are in time, and what ends after the file's deadline by one of its own."""
    late, deadline = lateness(instance, solution), instance.deadline
    done = [name for name, by in late.items() if not by]
    after = sum(solution.completion[name] > deadline * ON_TIME for name in done)
    its = "its" if after == 1 else "their"
    own = f" ({after:,} after the file's deadline, by one of {its} own)" if after else ""
    return f"{len(done):,} of {counted(len(late), 'job')} in time{own}"


def dispatched(
    instance: Instance,
    result: Result[Chosen],
    most: int | None = None,
    among: Sequence[str] | None = None,
) -> Result[Any] | None:
    """Return a result with times: itself, or as the best dispatcher runs it; or None."""
    chosen = result.solution
    if isinstance(chosen, Scheduled):
        return result
    if chosen is None or any(job.stages is None for job in instance.jobs):
        return None
    if most is not None and len(instance.tasks.lengths) > most:
        return None
    earned, late, schedules, names = 0.0, 0, list[Scheduled](), list[str]()
    for alone, night in _each_night(instance, result, chosen):
        if alone is None:
            schedules.append(_empty_schedule(chosen.capacity))
            continue
        seed = result.seed if "risk" in result.options else None
        filled = chosen.capacity / instance.capacity()
        name, schedule = _best(alone, night.selected, filled, seed, among)
        schedules.append(schedule)
        names.append(name)
        earned += alone.objective_of(schedule)
        late += sum(by > 0 for by in lateness(alone, schedule).values())
    by = ", ".join(dict.fromkeys(names)) or "nobody"
    solution: Scheduled | ScheduledNights
    if isinstance(chosen, Selected):
        solution, how, total = schedules[0], by, len(schedules[0].completion)
        done = f"by {by}: {total - late:,} of {total:,} jobs in time{HOPE if late else ''}"
    else:
        solution = ScheduledNights(
            nights=chosen.nights, capacity=chosen.capacity, schedules=tuple(schedules)
        )
        how, total = "dispatched", len(chosen.selected)
        done = f"night by night, by {by}: {total - late:,} of {counted(total, 'job')} in time"
    return as_dispatched(result, how, earned, solution, done)


def as_dispatched(
    result: Result, how: str, earned: float, solution: Scheduled | ScheduledNights, done: str
) -> Result:
    """Return a result as it is dispatched, of which nothing is proven."""
    run: Result = msgspec.structs.replace(
        result,
        formulation=UNSET,
        solver=UNSET,
        policy=f"{result.policy or result.formulation}+{how}",
        termination="completed",
        solution_status="feasible",
        objective=earned,
        bound=None,
        gap=None,
        certificate=UNSET,
        risk=UNSET,
        message=f"dispatched {done}",
        solution=solution,
    )
    return run


def _each_night(
    instance: Instance, result: Result[Chosen], chosen: Chosen
) -> Iterator[tuple[Instance | None, Selected | SelectedNight]]:
    """Yield each night as dispatchers take it, with its own seats; None where nothing runs."""
    if isinstance(chosen, Selected):
        rules = enumerate(result.constraints, start=len(instance.constraints))
        seats = [
            msgspec.structs.replace(rule, name=label(rule, i))
            for i, rule in rules
            if isinstance(rule, Seats)
        ]
        whole = (*instance.constraints, *seats)
        yield msgspec.structs.replace(instance, constraints=whole) if seats else instance, chosen
        return
    every = (*instance.constraints, *result.constraints)
    for n, night in enumerate(chosen.nights, start=1):
        yield one_night(instance, night.selected, every, n) if night.selected else None, night


def _empty_schedule(capacity: float) -> Scheduled:
    return Scheduled(
        selected=(),
        demand=0.0,
        capacity=capacity,
        shares={},
        tasks=(),
        completion={},
        makespan=0.0,
        utilization=0.0,
    )


def _best(
    night: Instance,
    names: Sequence[str],
    fill: float,
    seed: int | None,
    among: Sequence[str] | None,
) -> tuple[str, Scheduled]:
    """Return the best dispatcher for some jobs, on average of a seed's scenarios, and its plan."""
    from schedopt.policies.dssp.dispatch import schedule_of
    from schedopt.policies.dssp.dispatchers import DRAWN, KEYS, positions, simulate_dispatcher
    from schedopt.policies.registry import is_own

    jobs = positions(night, list(names))
    if seed is not None:
        from schedopt.problems.dssp.chances import steadiest_dispatcher

        name = steadiest_dispatcher(night, jobs, seed)
        return name, schedule_of(night, jobs, simulate_dispatcher(night, name, jobs), fill)
    best: tuple[tuple[float, int, float], str, Simulated] | None = None
    for name in among or KEYS:
        if name in DRAWN or not is_own("dssp", name):
            continue
        played = simulate_dispatcher(night, name, jobs)
        worth = _worth(night, jobs, played.completion)
        if best is None or worth > best[0]:
            best = worth, name, played
    if best is None:
        raise InputError("a dispatcher", found="none")
    return best[1], schedule_of(night, jobs, best[2], fill)


def _worth(
    night: Instance, jobs: NDArray[np.int64], completion: NDArray[np.float64]
) -> tuple[float, int, float]:
    """Return a dispatcher's score: the reward, then the fewest late jobs, then the earliest end."""
    waiting = np.isnan(completion[jobs])  # on a machine that changes some may never complete
    never, jobs = int(waiting.sum()), jobs[~waiting]
    ends = completion[jobs]
    paid = [night.worth(int(j), float(end)) for j, end in zip(jobs, ends, strict=True)]
    late = never + int((ends > night.deadlines[jobs] * ON_TIME).sum())
    return float(np.dot(night.rewards[jobs], paid)), -late, -float(ends.max(initial=0.0))


def plan(
    instance: Instance, result: Result[Chosen], run: Result[Scheduled | ScheduledNights] | None
) -> Plan:
    """Return a row for each job; jobs that earn nothing are not run; no times without ``run``."""
    chosen = result.solution
    if chosen is None:
        several = "several nights" if has_several_nights(result) else "one night"
        raise InputError(f"a result with the jobs of {several}", found="none to plan from")
    why: dict[str, Any] = {**reasons(instance, result)}
    on = {name: n for n, night in enumerate(nights_of(chosen), 1) for name in night.selected}
    starts: dict[str, float] = {}
    widths: dict[str, int] = {}
    ends: dict[str, float] = {}
    late: dict[str, float] = {}
    for schedule in schedules_of(run):
        why |= dict.fromkeys(unpaid_jobs(instance, schedule), LATE)
        began, wide = _starts_and_widths(schedule)
        starts |= began
        widths |= wide
        ends |= schedule.completion
        late |= lateness(instance, schedule)
    if run is not None:
        why |= dict.fromkeys((name for name in on if name not in ends), LATE)
    if instance.beyond:
        for name in _predecessors(instance, [name for name in on if name not in why]):
            why.pop(name, None)  # though it earns nothing
    names = [job.name for job in instance.jobs]
    ranks = _ranks(instance, {name: n for name, n in on.items() if name not in why}, starts)
    night = [Column("night", int, list(map(on.get, names)))] if has_several_nights(result) else []
    titles = groupings([*instance.groups], [column.title for column in night])
    return (
        Column("job", str, names),
        Column("run", bool, [name in on and name not in why for name in names]),
        Column("reason", str, [str(why.get(name, "")) for name in names]),
        Column("reward", float, [job.reward for job in instance.jobs]),
        *(
            Column(title, str, [job.groups.get(by) for job in instance.jobs])
            for by, title in zip(instance.groups, titles, strict=True)
        ),
        *night,
        Column("processors", int, list(map(widths.get, names))),
        Column("start", float, list(map(starts.get, names))),
        Column("end", float, list(map(ends.get, names))),
        Column("late", float, list(map(late.get, names))),
        Column("rank", int, list(map(ranks.get, names))),
        *_chances(instance, result, run),
        *clock(instance, list(map(starts.get, names)), list(map(ends.get, names))),
    )


def _chances(
    instance: Instance, result: Result[Chosen], run: Result[Scheduled | ScheduledNights] | None
) -> Iterator[Column]:
    """Yield how likely each job is to be in time, where run times are said to be uncertain."""
    if run is None or not isinstance(run.solution, Scheduled) or result.solution is None:
        return
    from schedopt.problems.dssp.chances import chances

    night = next(_each_night(instance, result, result.solution))[0] or instance
    found = chances(night, run.solution, str(run.policy or ""), result.seed)
    if found:
        yield Column("chance", float, [found.get(job.name) for job in instance.jobs])


def _predecessors(instance: Instance, names: Sequence[str]) -> set[str]:
    """Return the jobs that must complete before some others."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        before = instance.jobs[instance.index[waiting.pop()]].after
        waiting += [name for name in before if name not in found]
        found.update(before)
    return found


def _ranks(
    instance: Instance, on: Mapping[str, int], starts: Mapping[str, float]
) -> dict[str, int]:
    """Return the order of release: by night, then start, after predecessors."""
    order = in_order(instance.jobs, instance.index)[0] if "after" in instance.beyond else None
    place = {j: at for at, j in enumerate(order or range(len(instance.jobs)))}
    by = sorted(on, key=lambda n: (on[n], starts.get(n, 0.0), place[instance.index[n]]))
    return {name: rank for rank, name in enumerate(by, start=1)}


def clock(
    instance: Instance, starts: Sequence[float | None], ends: Sequence[float | None]
) -> Iterator[Column]:
    """Yield starts and ends as times with their zone, where it is known when time 0 is."""
    if instance.start is None or instance.nights > 1:
        return
    dates = dates_of(instance.start, instance.unit)
    for title, times in (("start_time", starts), ("end_time", ends)):
        yield Column(title, str, [None if time is None else dates.told(time) for time in times])


def _starts_and_widths(schedule: Scheduled) -> tuple[dict[str, float], dict[str, int]]:
    """Return when each job starts, and the most processors that it holds at once."""
    moments: dict[str, list[tuple[float, int]]] = {}
    for task in schedule.tasks:
        wide = len(task.on)
        moments.setdefault(task.job, []).extend(((task.start, wide), (task.end, -wide)))
    starts, widths = {}, {}
    for job, changes in moments.items():
        changes.sort()  # what ends at an instant ends before anything starts at it
        starts[job] = changes[0][0]
        widths[job] = max(1, *accumulate(change for _, change in changes))
    return starts, widths
