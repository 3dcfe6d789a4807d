"""The plan of a night: which jobs run, when, on how many processors, and why the others do not.

A selection says what is run, not when. Where every job has tasks, the plan dispatches it by the
best of all dispatchers (but the random one): the one that earns the most, then with the fewest late
jobs, then done the earliest, then the first in the list.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec import UNSET

from schedopt.instances.constraints import Seats, label
from schedopt.instances.dssp import Instance, Scheduled, Selected
from schedopt.instances.errors import InputError
from schedopt.problems.dssp.reasons import reasons
from schedopt.problems.planned import Column, Plan, groupings
from schedopt.solvers.result import Result

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedopt.policies.dssp.dispatch import Played

PLAINLY = 3_000
"""Tasks up to which the plain simulator is done before the compiled one is loaded."""

HOPE = " (--formulation schedule looks for a choice that can be)"
"""What may be done about late jobs."""

ON_TIME = 1 + 1e-11
"""A completion that is later than the deadline by less than this factor is rounded."""


def lateness(night: Instance, solution: Scheduled) -> dict[str, float]:
    """Return by how much each job that is run is late; 0 for those in time."""
    late = {}
    for name, end in solution.completion.items():
        deadline = float(night.deadlines[night.index[name]])
        late[name] = 0.0 if end <= deadline * ON_TIME else end - deadline
    return late


def dispatched(night: Instance, result: Result[Selected], most: int | None = None) -> Result | None:
    """Return a result that says when: itself, or its selection as the best dispatcher runs it.

    Parameters
    ----------
    night : Instance
    result : Result
    most : int, optional
        Tasks up to which it is done; any number where not given.

    Returns
    -------
    Result or None
        None where nothing is selected at all, or where a job has no tasks.
    """
    found = result.solution
    if isinstance(found, Scheduled):
        return result
    if not isinstance(found, Selected) or any(job.stages is None for job in night.jobs):
        return None
    if most is not None and len(night.tasks.lengths) > most:
        return None
    held = _with_seats(night, result)
    name, schedule = _best(held, found)
    late = sum(by > 0 for by in lateness(night, schedule).values())
    done, total = len(schedule.completion) - late, len(schedule.completion)
    return msgspec.structs.replace(
        result,
        formulation=UNSET,
        solver=UNSET,
        policy=f"{result.policy or result.formulation}+{name}",
        termination="completed",
        solution_status="feasible",
        objective=night.objective_of(schedule),
        bound=None,
        gap=None,
        certificate=UNSET,
        message=f"dispatched by {name}: {done:,} of {total:,} jobs in time{HOPE if late else ''}",
        solution=schedule,
    )


def _with_seats(night: Instance, result: Result[Selected]) -> Instance:
    """Return the night with the seats that stand beside it: dispatchers know its own alone."""
    rules = enumerate(result.constraints, start=len(night.constraints))
    added = [
        msgspec.structs.replace(rule, name=label(rule, i))
        for i, rule in rules
        if isinstance(rule, Seats)
    ]
    if not added:
        return night
    return msgspec.structs.replace(night, constraints=(*night.constraints, *added))


def _best(night: Instance, found: Selected) -> tuple[str, Scheduled]:
    """Return the best dispatcher of a selection, and its schedule."""
    from schedopt.policies.dssp.dispatch import Held, schedule_of
    from schedopt.policies.dssp.dispatchers import DRAWN, KEYS, positions, simulated
    from schedopt.policies.dssp.plain import play_plainly

    jobs = Held.of(night).able(positions(night, list(found.selected)))
    plainly = len(night.tasks.lengths) <= PLAINLY
    best: tuple[tuple[float, int, float], str, Played] | None = None
    for name in KEYS:
        if name in DRAWN:
            continue
        key: Any = KEYS[name]
        played = (
            play_plainly(night, jobs, keys=key(night)) if plainly else simulated(night, name, jobs)
        )
        worth = _worth(night, jobs, played.completion)
        if best is None or worth > best[0]:
            best = worth, name, played
    if best is None:
        raise InputError("a dispatcher", found="none")
    fill = found.capacity / night.capacity()
    return best[1], schedule_of(night, jobs, best[2], fill)


def _worth(
    night: Instance, jobs: NDArray[np.int64], completion: NDArray[np.float64]
) -> tuple[float, int, float]:
    """Return what a dispatcher earns, the late jobs and the end, the last two counted down."""
    ends = completion[jobs]
    paid = [night.worth(int(j), float(end)) for j, end in zip(jobs, ends, strict=True)]
    late = int((ends > night.deadlines[jobs] * ON_TIME).sum())
    return float(np.dot(night.rewards[jobs], paid)), -late, -float(ends.max(initial=0.0))


def plan(night: Instance, result: Result[Selected], run: Result[Scheduled] | None) -> Plan:
    """Return the plan of a night, a row for each job in the file's order.

    Parameters
    ----------
    night : Instance
    result : Result
        What is chosen.
    run : Result or None
        The same as it is run: see `dispatched`. Where there is none, nothing is said of times.

    Raises
    ------
    InputError
        If the result has no selection of one night.
    """
    found = result.solution
    if not isinstance(found, Selected):
        raise InputError("a result with the jobs of one night", found="none to plan from")
    schedules = () if run is None or run.solution is None else (run.solution,)
    return columns(night, set(found.selected), reasons(night, result), schedules)


def columns(
    instance: Instance,
    chosen: Container[str],
    why: Mapping[str, object],
    schedules: Iterable[Scheduled],
    *further: Column,
) -> Plan:
    """Return the columns of a plan, a row for each job in the file's order.

    Parameters
    ----------
    instance : Instance
        A night, or a season.
    chosen : container of str
        The jobs that run.
    why : mapping
        For each job that does not, the reason.
    schedules : iterable of Scheduled
        What says when; each job is in one at most.
    *further : Column
        What stands before the times.
    """
    starts: dict[str, float] = {}
    widths: dict[str, int] = {}
    ends: dict[str, float] = {}
    late: dict[str, float] = {}
    for schedule in schedules:
        began, wide = spans(schedule)
        starts |= began
        widths |= wide
        ends |= schedule.completion
        late |= lateness(instance, schedule)
    names = [job.name for job in instance.jobs]
    titles = groupings([*instance.groups], [column.title for column in further])
    return (
        Column("job", str, names),
        Column("run", bool, [name in chosen for name in names]),
        Column("reason", str, [str(why.get(name, "")) for name in names]),
        Column("reward", float, [job.reward for job in instance.jobs]),
        *(
            Column(title, str, [job.groups.get(by) for job in instance.jobs])
            for by, title in zip(instance.groups, titles, strict=True)
        ),
        *further,
        Column("processors", int, [widths.get(name) for name in names]),
        Column("start", float, [starts.get(name) for name in names]),
        Column("end", float, [ends.get(name) for name in names]),
        Column("late", float, [late.get(name) for name in names]),
    )


def spans(schedule: Scheduled) -> tuple[dict[str, float], dict[str, int]]:
    """Return when each job starts, and the most processors that it holds at once."""
    moments: dict[str, list[tuple[float, int]]] = {}
    for task in schedule.tasks:
        moments.setdefault(task.job, []).extend(((task.start, 1), (task.end, -1)))
    starts, widths = {}, {}
    for job, changes in moments.items():
        changes.sort()  # what ends at an instant ends before anything starts at it
        starts[job] = changes[0][0]
        widths[job] = max(_running(changes))
    return starts, widths


def _running(changes: Sequence[tuple[float, int]]) -> list[int]:
    running, found = 0, [1]
    for _, change in changes:
        running += change
        found.append(running)
    return found
