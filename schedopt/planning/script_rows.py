"""Rows of a script beside a plan's jobs: submissions of tasks, and drops of capacity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor

from schedopt.instances.constraints import Constraint
from schedopt.instances.dssp import Instance, Scheduled
from schedopt.instances.dssp.clock import dates_of
from schedopt.instances.times import SECONDS, SPELLED
from schedopt.planning.release import NEAR, Drop, Release, drops, releases, seats_of
from schedopt.problems.summary import PlanRow

MARGIN = 0.25
"""The part of its planned length by which a task may be longer before its time limit ends it."""


def script_rows(
    night: Instance, rules: Sequence[Constraint], schedule: Scheduled, rows: Sequence[PlanRow]
) -> dict[str, list[PlanRow]]:
    """Return the rows of the blocks ``release`` and ``drop``.

    Parameters
    ----------
    rows : sequence of PlanRow
        The plan's: jobs that run and have a rank are released.
    """
    jobs = {row["job"]: row for row in rows if row["run"] and row["rank"] is not None}
    given = releases(night, [task for task in schedule.tasks if task.job in jobs], rules)
    away = drops(night, max((one.end for one in given), default=0.0))
    minute = 60 / float(SECONDS[SPELLED[night.unit]])  # in the night's unit
    seats = {name for _, name in seats_of(night, rules)}
    found: dict[str, list[PlanRow]] = {"release": [], "drop": []}
    for one in given:
        job = night.jobs[night.index[one.job]]
        due = night.deadline if job.deadline is None else job.deadline
        minutes = _time_limit(one, away, minute)
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
            "after": ":".join(f"$id_{order}" for order in one.after),
            "licences": ",".join(f"{name}:{amount:g}" for name, amount in held.items()),
            "pool": one.pool,
        }
        times = {"start_time": one.begin, "end_time": one.end, "due_time": due + minutes * minute}
        found["release"].append(row | _clock(night, times))
    for number, drop in enumerate(away, start=1):
        times = {"start_time": drop.start, "end_time": drop.end}
        row = {"number": number, "processors": drop.processors, "pool": drop.pool}
        row |= {"start": drop.start, "end": drop.end}
        row["minutes"] = ceil((drop.end - drop.start) / minute)
        found["drop"].append(row | _clock(night, times))
    return found


def _clock(night: Instance, times: Mapping[str, float]) -> dict[str, str]:
    """Return times with their zone, where it is known when time 0 is."""
    if night.start is None:
        return {}
    dates = dates_of(night.start, night.unit)
    return {name: dates.clock(time) for name, time in times.items()}


def _array(one: Release) -> str:
    """Return the numbers of tasks, from 1, as Slurm has them: ``1-8,11%4``."""
    parts: list[list[int]] = []
    for task in one.tasks:
        if parts and parts[-1][1] == task:
            parts[-1][1] = task + 1
        else:
            parts.append([task + 1, task + 1])
    ranges = ",".join(f"{a}-{b}" if a < b else f"{a}" for a, b in parts)
    return ranges + (f"%{one.at_once}" if one.at_once < len(one.tasks) else "")


def _time_limit(one: Release, away: Sequence[Drop], minute: float) -> int:
    """Return a limit for each task, in whole minutes, as Slurm has them.

    It is longer than planned by a margin, but does not reach into a drop of capacity before which
    the task ends as planned: a reservation would keep the task from starting.
    """
    limit = _whole(max(one.lengths) * (1 + MARGIN) / minute)
    free, ends = [one.begin] * one.at_once, []
    for length in one.lengths:
        free.sort()
        ends.append((free[0], free[0] + length))
        free[0] += length
    for drop in away:
        room = [drop.start - start for start, end in ends if end <= drop.start * (1 + NEAR)]
        if room and floor(min(room) / minute + NEAR) >= max(one.lengths) / minute - NEAR:
            limit = min(limit, floor(min(room) / minute + NEAR))
    return max(1, limit)


def _whole(amount: float) -> int:
    return ceil(amount * (1 - NEAR))
