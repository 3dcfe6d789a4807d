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
from math import ceil
from operator import itemgetter

from msgspec.structs import replace as with_fields

from schedopt.instances.constraints import Constraint, Seats, label
from schedopt.instances.dssp import Instance, PlacedTask, Scheduled
from schedopt.instances.dssp.machine import in_order
from schedopt.planning.history import Observed, clock, seconds
from schedopt.problems.summary import PlanRow

NEAR = 1e-9  # the relative difference of times that are equal up to rounding
SPARE = 1.25  # the time limit of a task, as a multiple of its planned length
Span = tuple[float, float]
TaskKey = tuple[str, int, int]  # job, stage and task, each from 0
Chain = list[tuple[float, float, int]]  # tasks: start, end, and place in the stage


@dataclass(frozen=True)
class Release:
    """Tasks of one stage of a job that are submitted together."""

    order: int  # rank among the submissions of a night, from 1
    job: str
    stage: int  # from 0
    tasks: tuple[int, ...]  # positions in the stage, from 0, in the order of their starts
    width: int  # processors of each task
    at_once: int  # the most tasks that may run at a time
    begin: float  # the earliest start
    end: float  # the planned end
    lengths: tuple[float, ...]  # of each task, with the overhead of starting it
    after: tuple[int, ...] = ()  # the orders of the releases that have to end first
    holds: Mapping[str, float] = field(default_factory=dict)  # seats and resources of each task
    pool: str = ""  # empty without pools


def releases(
    night: Instance,
    tasks: Iterable[PlacedTask],
    rules: Sequence[Constraint] = (),
    fixed: Collection[TaskKey] = (),
) -> list[Release]:
    """Return the releases of some tasks, as few as are found.

    Equal tasks of a stage may be exchanged, except the ``fixed`` ones, which have started. Tasks
    hold the seats among the ``rules``, too.
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


def with_seats(night: Instance, rules: Sequence[Constraint]) -> Instance:
    """Return a night with the seats among further rules."""
    seats = [with_fields(rule, name=name) for rule, name in seats_of(night, rules)]
    others = [rule for rule in night.constraints if not isinstance(rule, Seats)]
    return with_fields(night, constraints=(*others, *seats)) if seats else night


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


def same(one: float, other: float) -> bool:
    """Return whether two times differ by rounding only."""
    return abs(one - other) <= NEAR * max(1.0, abs(one), abs(other))


def _in_order(night: Instance, found: Iterable[Release]) -> list[Release]:
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


# --- rows of a script -------------------------------------------------------------------------


@dataclass(frozen=True)
class Queue:
    """Slurm's queue when a plan changes."""

    begun: Collection[TaskKey] = ()  # tasks that run or are done
    attempts: Mapping[TaskKey, Observed] = field(default_factory=dict)  # in Slurm's accounting
    planned: Mapping[TaskKey, Span] = field(default_factory=dict)  # in the plan before

    def keeps(self, night: Instance, job: str, waiting: Mapping[TaskKey, Span]) -> bool:
        """Return whether the waiting tasks of a job can stay in the queue."""
        known = {key: one for key, one in self.attempts.items() if key[0] == job}
        if any(one.status == "failed" for one in known.values()):
            return False
        queued = {key for key, one in known.items() if one.status == "waiting" and one.submission}
        was = {key: self.planned[key] for key in queued & {*self.planned}}
        if not queued == {*waiting} == {*was}:
            return False
        near = seconds(night, 1)  # equal tasks may have changed places
        one, other = (
            sorted((stage, *span) for (_, stage, _), span in spans.items())
            for spans in (was, waiting)
        )
        pairs = zip(chain(*one), chain(*other), strict=True)
        return all(abs(before - now) <= near for before, now in pairs)

    def unfinished(self, job: str, stage: int, *, waiting: bool) -> list[str]:
        """Return the ids of the running, and perhaps the waiting, tasks of a stage."""
        return [
            f"{one.submission}_{key[2] + 1}"
            for key, one in self.attempts.items()
            if key[:2] == (job, stage)
            and one.submission
            and (one.status == "running" or (waiting and one.status == "waiting"))
        ]


NOTHING_QUEUED = Queue()


def script_rows(
    night: Instance,
    rules: Sequence[Constraint],
    schedule: Scheduled,
    rows: Sequence[PlanRow],
    queue: Queue = NOTHING_QUEUED,
) -> dict[str, list[PlanRow]]:
    """Return the rows of the blocks ``release`` and ``change``.

    The tasks of the plan that have not begun are released. Jobs whose waiting tasks are planned as
    before stay in the queue.
    """
    jobs = {row["job"]: row for row in rows}
    tasks: dict[str, list[PlacedTask]] = {row["job"]: [] for row in rows if row["run"]}
    for task in schedule.tasks:
        if task.job in tasks and (task.job, task.stage, task.task) not in queue.begun:
            tasks[task.job].append(task)
    kept = {
        job
        for job, own in tasks.items()
        if queue.keeps(night, job, {(job, t.stage, t.task): (t.start, t.end) for t in own})
    }
    changing = [task for job, own in tasks.items() if job not in kept for task in own]
    minute = seconds(night, 60)  # in the night's unit
    seats = {name for _, name in seats_of(night, rules)}
    stages = sorted({key[:2] for key in queue.planned if key not in queue.begun})
    changed = [
        jobs[job] | {"stage": stage + 1} for job, stage in stages if job not in kept and job in jobs
    ]
    submitted = []
    for one in releases(night, changing, rules):
        job = night.jobs[night.index[one.job]]
        due = night.delay + (night.deadline if job.deadline is None else job.deadline)
        before = [f"$id_{order}" for order in one.after] + _ids_before(one, night, queue, kept)
        minutes = max(1, ceil(max(one.lengths) * SPARE / minute * (1 - NEAR)))
        held = {name: amount for name, amount in one.holds.items() if name in seats}
        row = {
            **jobs[one.job],
            "order": one.order,
            "stage": one.stage + 1,
            "tasks": len(one.tasks),
            "array": _array(one),
            "at_once": one.at_once,
            "processors": one.width,
            "start": one.begin,
            "end": one.end,
            "minutes": minutes,
            "after": ":".join(before),
            "licences": ",".join(f"{name}:{amount:g}" for name, amount in held.items()),
            "pool": one.pool,
        }
        times = {"start_time": one.begin, "end_time": one.end, "due_time": due + minutes * minute}
        submitted.append(row | clock(night, **times))
    return {"release": submitted, "change": changed}


def _ids_before(one: Release, night: Instance, queue: Queue, kept: Collection[str]) -> list[str]:
    if one.stage:
        return queue.unfinished(one.job, one.stage - 1, waiting=False)
    before = night.jobs[night.index[one.job]].after
    stages = [(name, len(night.jobs[night.index[name]].stages or ()) - 1) for name in before]
    found = [queue.unfinished(*stage, waiting=stage[0] in kept) for stage in stages]
    return [*chain.from_iterable(found)]


def _array(one: Release) -> str:
    """Return task numbers from 1 in Slurm's notation: ``1-8,11%4``."""
    parts: list[list[int]] = []
    for task in one.tasks:
        if parts and parts[-1][1] == task:
            parts[-1][1] = task + 1
        else:
            parts.append([task + 1, task + 1])
    ranges = ",".join(f"{a}-{b}" if a < b else f"{a}" for a, b in parts)
    return ranges + (f"%{one.at_once}" if one.at_once < len(one.tasks) else "")
