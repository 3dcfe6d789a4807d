"""Releases: a schedule as submissions for a cluster manager.

For each submission, a cluster manager such as Slurm knows its begin time, its predecessors, the
most tasks that run at once, and its priority. It starts the first eligible submission that fits,
and it counts processors: any free one will do. A `Release` is a set of tasks of one stage that are
planned as a list schedule: in their own order on ``at_once`` processors, from ``begin`` on. Then a
task that is shorter than planned cannot delay another (the theorem in
``docs/problems/dssp-release.md``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import accumulate, chain
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace as with_fields

from schedopt.formats import count_of
from schedopt.instances.constraints import Constraint, Seats, label
from schedopt.instances.dssp import Instance, PlacedTask, Scheduled
from schedopt.instances.dssp.machine import in_order
from schedopt.planning.moments import ON_TIME

if TYPE_CHECKING:
    from schedopt.solvers.result import Result

NEAR = 1e-9  # the relative difference of times that are equal up to rounding
Span = tuple[float, float]
TaskKey = tuple[str, int, int]  # job, stage and task, each from 0
Chain = list[tuple[float, float, int]]  # tasks: start, end, and place in the stage


@dataclass(frozen=True)
class Release:
    """Tasks of one stage of a job that are submitted together.

    Attributes
    ----------
    order : int
        Its rank among the submissions of a night, from 1.
    job : str
    stage : int
        From 0.
    tasks : tuple of int
        Positions in the stage, from 0, in the order in which the tasks start.
    width : int
        Processors of each task.
    at_once : int
        The most tasks that may run at a time.
    begin, end : float
        The earliest start and the planned end, in the night's unit.
    lengths : tuple of float
        The planned length of each task, with the overhead of starting it.
    after : tuple of int
        The orders of the releases that have to end first.
    holds : mapping of str to float
        Seats and resources of each task, by name.
    pool : str
        The pool of its processors; empty without pools.
    """

    order: int
    job: str
    stage: int
    tasks: tuple[int, ...]
    width: int
    at_once: int
    begin: float
    end: float
    lengths: tuple[float, ...]
    after: tuple[int, ...] = ()
    holds: Mapping[str, float] = field(default_factory=dict)
    pool: str = ""


@dataclass(frozen=True)
class Drop:
    """An interval in which a pool has fewer processors than at its maximum."""

    start: float
    end: float
    processors: int  # the missing ones
    pool: str = ""


def releases(
    night: Instance,
    tasks: Iterable[PlacedTask],
    rules: Sequence[Constraint] = (),
    fixed: Collection[TaskKey] = (),
) -> list[Release]:
    """Return the releases of a schedule, as few as are found.

    Parameters
    ----------
    night : Instance
    tasks : iterable of PlacedTask
        The tasks to release. Equal tasks of a stage may be exchanged.
    rules : sequence of Constraint
        Side constraints in addition to those of the instance; tasks hold the seats among them.
    fixed : collection of TaskKey
        Tasks that have started, and are not exchanged.
    """
    placed: dict[tuple[str, int, str], Chain] = defaultdict(list)
    for task in tasks_in_order(night, tasks, fixed):
        home = night.machine.pool_of(task.processor)
        placed[task.job, task.stage, home].append((task.start, task.end, task.task))
    held = _holds(night, rules)
    found: list[Release] = []
    for (name, stage, home), own in placed.items():
        for group, at_once in _groups(own):
            group.sort(key=itemgetter(2))
            found.append(
                Release(
                    order=0,
                    job=name,
                    stage=stage,
                    tasks=tuple(number for _, _, number in group),
                    width=night.jobs[night.index[name]].processors,
                    at_once=at_once,
                    begin=min(start for start, _, _ in group),
                    end=max(end for _, end, _ in group),
                    lengths=tuple(end - start for start, end, _ in group),
                    holds=held.get(name, {}),
                    pool=home,
                )
            )
    return _in_order(night, found)


def _holds(night: Instance, rules: Sequence[Constraint]) -> dict[str, dict[str, float]]:
    """Return the seats and resources that each task holds, by job."""
    held: dict[str, dict[str, float]] = {job.name: dict(job.holds) for job in night.jobs}
    for seats, name in seats_of(night, rules):
        for job, count in seats.use.items():
            if count and job in held:
                held[job][name] = float(count)
    return held


def seats_of(night: Instance, rules: Sequence[Constraint]) -> list[tuple[Seats, str]]:
    """Return all rules of seats with their names."""
    every = [*night.constraints, *(rule for rule in rules if rule not in night.constraints)]
    return [(rule, label(rule, i)) for i, rule in enumerate(every) if isinstance(rule, Seats)]


def tasks_in_order(
    night: Instance, tasks: Iterable[PlacedTask], fixed: Collection[TaskKey] = ()
) -> list[PlacedTask]:
    """Return tasks renumbered so that equal tasks of a stage start in order of number.

    ``fixed`` tasks keep their numbers. Job arrays start their tasks in this order.
    """
    alike: dict[tuple[str, int, float], list[PlacedTask]] = defaultdict(list)
    ordered = []
    for task in tasks:
        if (task.job, task.stage, task.task) in fixed:
            ordered.append(task)
            continue
        length = (night.jobs[night.index[task.job]].stages or ())[task.stage][task.task]
        alike[task.job, task.stage, length].append(task)
    for group in alike.values():
        numbers = sorted(task.task for task in group)
        group.sort(key=lambda task: (task.start, task.task))
        ordered += [
            task if task.task == number else with_fields(task, task=number)
            for task, number in zip(group, numbers, strict=True)
        ]
    ordered.sort(key=lambda task: (night.index[task.job], task.stage, task.task))
    return ordered


# --- groups of tasks that are released together ------------------------------------------------


def _groups(tasks: Chain) -> list[tuple[Chain, int]]:
    """Return tasks of a stage and pool in groups, each with its number of concurrent tasks."""
    chains: list[Chain] = []
    ended: dict[float, list[int]] = defaultdict(list)  # chains by the time of their last end
    for task in sorted(tasks):
        waiting = ended[round(task[0], 9)]
        if waiting:
            number = heappop(waiting)
            chains[number].append(task)
        else:
            number = len(chains)
            chains.append([task])
        heappush(ended[round(task[1], 9)], number)
    by_begin: dict[float, list[Chain]] = defaultdict(list)
    for one in chains:
        by_begin[round(one[0][0], 9)].append(one)
    return [*chain.from_iterable(_merged(group) for group in by_begin.values())]


def _merged(chains: list[Chain]) -> list[tuple[Chain, int]]:
    """Merge chains that begin together into few groups that are list schedules."""
    tasks = [*chain.from_iterable(chains)]
    if len(chains) == 1 or _is_list_schedule(tasks, len(chains)):
        return [(tasks, len(chains))]
    chains = sorted(chains, key=lambda own: (round(own[-1][1], 9), len(own)))
    half = len(chains) // 2
    return [*_merged(chains[:half]), *_merged(chains[half:])]


def _is_list_schedule(tasks: Chain, wide: int) -> bool:
    """Return whether tasks have the starts and ends of their own list schedule."""
    ordered = sorted(tasks, key=itemgetter(2))
    begin = min(start for start, _, _ in tasks)
    spans = list_schedule(begin, [end - start for start, end, _ in ordered], wide)
    return all(
        same(one, other)
        for end in (0, 1)
        for one, other in zip(
            sorted(span[end] for span in spans), sorted(task[end] for task in tasks), strict=True
        )
    )


def list_schedule(begin: float, lengths: Iterable[float], wide: int) -> list[Span]:
    """Return the list schedule of tasks on some processors from a time on."""
    free, spans = [begin] * wide, []
    for length in lengths:
        start = heappop(free)
        spans.append((start, start + length))
        heappush(free, start + length)
    return spans


def most_at_once(spans: Iterable[tuple[float, float, int]]) -> int:
    """Return the largest total width of spans at a time; each has a start, an end and a width."""
    changes = [(time, step) for a, b, wide in spans for time, step in ((a, wide), (b, -wide))]
    return max(accumulate(step for _, step in sorted(changes)), default=0)


def planned_spans(one: Release) -> list[Span]:
    """Return the planned start and end of each task of a release."""
    return list_schedule(one.begin, one.lengths, one.at_once)


def same(one: float, other: float) -> bool:
    """Return whether two times differ by rounding only."""
    return abs(one - other) <= NEAR * max(1.0, abs(one), abs(other))


def _in_order(night: Instance, found: Iterable[Release]) -> list[Release]:
    """Return releases numbered by their begin, each with its predecessors."""
    places = in_order(night.jobs, night.index)[0]
    place = {night.jobs[j].name: at for at, j in enumerate(places)}
    ordered = sorted(found, key=lambda r: (r.begin, place[r.job], r.stage, r.tasks))
    last: dict[str, int] = {}
    own: dict[tuple[str, int], list[int]] = defaultdict(list)
    for order, release in enumerate(ordered, start=1):
        own[release.job, release.stage].append(order)
        last[release.job] = max(release.stage, last.get(release.job, 0))
    numbered = []
    for order, release in enumerate(ordered, start=1):
        stages = [s for name, s in own if name == release.job and s < release.stage]
        before = own[release.job, max(stages)] if stages else []
        if not stages:
            jobs = night.jobs[night.index[release.job]].after
            before = [n for name in jobs if name in last for n in own[name, last[name]]]
        numbered.append(replace(release, order=order, after=tuple(sorted(before))))
    return numbered


# --- what a farm manager does with them --------------------------------------------------------


def late_by_priority(
    night: Instance, plan: Scheduled, rules: Sequence[Constraint] = ()
) -> list[str]:
    """Return the jobs that are late if their stages are submitted without start times.

    The manager starts the first eligible task that fits, in the order of the planned starts of
    stages, as a dispatcher does.
    """
    from schedopt.policies.dssp.dispatch import simulate
    from schedopt.solvers.dssp.schedule.solving import starts_of_tasks

    stages = np.minimum.reduceat(starts_of_tasks(night, plan), night.tasks.first_task[:-1])
    keys = stages[night.tasks.stage_of]
    jobs = night.positions(plan)
    completion = simulate(with_seats(night, rules), jobs, keys=keys).completion
    on_time = completion <= night.deadlines * ON_TIME
    return [night.jobs[j].name for j in jobs.tolist() if not on_time[j]]


def with_seats(night: Instance, rules: Sequence[Constraint]) -> Instance:
    """Return a night with the seats among further rules."""
    seats = [with_fields(rule, name=name) for rule, name in seats_of(night, rules)]
    others = [rule for rule in night.constraints if not isinstance(rule, Seats)]
    return with_fields(night, constraints=(*others, *seats)) if seats else night


def released(night: Instance, run: Result, *, most: int = 3_000) -> str:
    """Return the number of late jobs of a plan in words, by priority alone and with start times.

    With start times no task is later than planned, by the theorem. Empty without tasks, and for
    more than ``most`` tasks.
    """
    solution = run.solution
    if solution is None or not 0 < len(solution.tasks) <= most:
        return ""
    due = {name: night.deadlines[night.index[name]] * ON_TIME for name in solution.completion}
    late = sum(end > due[name] for name, end in solution.completion.items())
    alone = len(late_by_priority(night, solution, run.constraints))
    count = len(releases(night, solution.tasks, run.constraints))
    return (
        f"late if submitted by priority alone: {alone} of {count_of(len(due), 'job')}; "
        f"with planned start times: {late} ({count_of(count, 'submission')})"
    )


def drops(night: Instance, until: float) -> list[Drop]:
    """Return the drops of all pools up to a time."""
    found = []
    for pool, there in night.machine.pools.items():
        for span in there.spans():
            end = until if span.end is None else min(float(span.end), until)
            missing = int(there.most - span.amount)
            if missing and float(span.start) < end:
                found.append(Drop(float(span.start), end, missing, pool))
    return sorted(found, key=lambda drop: drop.start)
