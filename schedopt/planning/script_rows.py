"""Rows for the script of a plan: submissions of tasks, and drops of capacity."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import ceil, floor
from typing import NamedTuple

from schedopt.instances.constraints import Constraint
from schedopt.instances.dssp import Instance, PlacedTask, Scheduled
from schedopt.planning.moments import clock, seconds
from schedopt.planning.observed import Observed
from schedopt.planning.release import (
    NEAR,
    Drop,
    Release,
    Span,
    TaskKey,
    drops,
    most_at_once,
    planned_spans,
    releases,
    seats_of,
)
from schedopt.problems.summary import PlanRow


@dataclass(frozen=True)
class Queue:
    """Slurm's queue when a plan changes.

    Attributes
    ----------
    begun : set of TaskKey
        The tasks that run or are done.
    attempts : mapping
        The attempts of each task in Slurm's accounting.
    planned : mapping
        The start and end of each task in the plan before.
    """

    begun: Collection[TaskKey] = ()
    attempts: Mapping[TaskKey, Observed] = field(default_factory=dict)
    planned: Mapping[TaskKey, Span] = field(default_factory=dict)

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
    """Return the rows of the blocks ``release``, ``drop`` and ``change``.

    Parameters
    ----------
    rows : sequence of PlanRow
        The rows of the plan. Of the jobs that run, tasks that have not begun are released.
    queue : Queue
        The present queue. Jobs whose waiting tasks are planned as before stay in it.
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
    given = releases(night, changing, rules)
    away = drops(night, max((one.end for one in given), default=0.0))
    minute = seconds(night, 60)  # in the night's unit
    seats = {name for _, name in seats_of(night, rules)}
    stages = sorted({key[:2] for key in queue.planned if key not in queue.begun})
    changed = [
        jobs[job] | {"stage": stage + 1} for job, stage in stages if job not in kept and job in jobs
    ]
    found: dict[str, list[PlanRow]] = {"release": [], "drop": [], "change": changed}
    for one in given:
        job = night.jobs[night.index[one.job]]
        due = night.delay + (night.deadline if job.deadline is None else job.deadline)
        before = [f"$id_{order}" for order in one.after] + _ids_before(one, night, queue, kept)
        minutes = _time_limit(one, away, night.overhead, minute)
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
        found["release"].append(row | clock(night, **times))
    limits = {
        one.order: row["minutes"] * minute for one, row in zip(given, found["release"], strict=True)
    }
    runs = [
        _Run(start, end, start + night.overhead + limits[one.order], one.width, one.pool)
        for one in given
        for start, end in planned_spans(one)
    ]
    new = [] if queue.planned else away  # the script of the first plan has reserved them
    for number, drop in enumerate((d for d in new if not _delays_a_task(night, d, runs)), start=1):
        times = {"start_time": drop.start, "end_time": drop.end}
        row = {"number": number, "processors": drop.processors, "pool": drop.pool}
        row |= {"start": drop.start, "end": drop.end}
        found["drop"].append(row | clock(night, **times))
    return found


def _ids_before(one: Release, night: Instance, queue: Queue, kept: Collection[str]) -> list[str]:
    """Return the ids of queued predecessors of a release."""
    if one.stage:
        return queue.unfinished(one.job, one.stage - 1, waiting=False)
    before = night.jobs[night.index[one.job]].after
    stages = [(name, len(night.jobs[night.index[name]].stages or ()) - 1) for name in before]
    found = [queue.unfinished(*stage, waiting=stage[0] in kept) for stage in stages]
    return [*chain.from_iterable(found)]


class _Run(NamedTuple):
    """A planned task, with the time up to which Slurm expects it to run."""

    start: float
    end: float
    until: float
    width: int
    pool: str


def _delays_a_task(night: Instance, drop: Drop, runs: Iterable[_Run]) -> bool:
    """Return whether a reservation for a drop might delay a planned task.

    A reservation chooses its processors in advance. A task whose limit reaches into it needs one of
    the others, and finds none if tasks that end before it have taken too many of them. Slurm fills
    the reserved ones first: no task has another as long as no more run than are reserved.
    """
    before = [run for run in runs if run.pool == drop.pool and run.start < drop.start]
    reach = drop.start * (1 + NEAR)
    across = [run for run in before if run.until > reach]
    if not across:
        return False
    others = [run for run in before if run.until <= reach]
    first = min(run.start for run in across)
    since = min([first, *(run.start for run in others if run.end > first * (1 + NEAR))])
    most = int(night.machine.pools[drop.pool].most)
    return most_at_once(
        (run.start, run.end, run.width) for run in across
    ) > most - drop.processors or (
        most_at_once(
            (max(run.start, since), run.end, run.width) for run in others if run.end > since
        )
        > drop.processors
    )


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


def _time_limit(
    one: Release,
    away: Sequence[Drop],
    overhead: float,
    minute: float,
    *,
    # The part of its planned length by which a task may be longer before its time limit ends it
    spare: float = 0.25,
) -> int:
    """Return the time limit of each task in whole minutes.

    It is longer than planned by a margin, but does not reach into a drop of capacity before which
    the task ends as planned: a reservation would keep the task from starting.
    """
    longest = max(one.lengths)
    limit = ceil(longest * (1 + spare) / minute * (1 - NEAR))
    for drop in away:
        spans = [span for span in planned_spans(one) if span[1] <= drop.start * (1 + NEAR)]
        room = min((drop.start - start - overhead for start, _ in spans), default=limit * minute)
        minutes = floor(room / minute * (1 + NEAR))
        if minutes * minute >= (longest - overhead) * (1 - NEAR):
            limit = min(limit, minutes)
    return max(1, limit)
