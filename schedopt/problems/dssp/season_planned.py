"""The plan of a season: on which night each job runs, when, and why the others do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import UNSET

from schedopt.formats import counted
from schedopt.instances.dssp import (
    Instance,
    Scheduled,
    ScheduledNights,
    Selected,
    SelectedNights,
    one_night,
)
from schedopt.instances.errors import InputError
from schedopt.problems.dssp.planning import columns, dispatched, lateness
from schedopt.problems.dssp.reasons import reasons
from schedopt.problems.planned import Column, Plan
from schedopt.solvers.result import Result

if TYPE_CHECKING:
    from schedopt.instances.constraints import Constraint

NIGHT = "night"


def dispatched_nights(season: Instance, result: Result[SelectedNights]) -> Result | None:
    """Return a result that says when: each night as the best dispatcher runs it.

    Parameters
    ----------
    season : Instance
    result : Result

    Returns
    -------
    Result or None
        None where there is no selection, or where a job has no tasks.
    """
    found = result.solution
    if not isinstance(found, SelectedNights) or any(job.stages is None for job in season.jobs):
        return None
    rules: Sequence[Constraint] = (*season.constraints, *result.constraints)
    earned, late, schedules, names = 0.0, 0, list[Scheduled](), list[str]()
    for night in found.nights:
        if not night.selected:
            schedules.append(_nothing(found.capacity))
            continue
        alone = one_night(season, night.selected, rules)
        chosen = Selected(
            selected=night.selected, demand=night.demand, capacity=found.capacity, shares={}
        )
        asked: Result[Selected] = msgspec.structs.replace(
            cast("Result[Any]", result), solution=chosen, constraints=()
        )
        run = dispatched(alone, asked)
        if run is None or not isinstance(run.solution, Scheduled):
            raise InputError("a dispatcher", found="none")
        schedules.append(run.solution)
        names.append(str(run.policy).rpartition("+")[2])
        earned += float(run.objective or 0.0)
        late += sum(by > 0 for by in lateness(alone, run.solution).values())
    done, total = len(found.selected) - late, len(found.selected)
    by = ", ".join(dict.fromkeys(names)) or "nobody"
    return msgspec.structs.replace(
        result,
        formulation=UNSET,
        solver=UNSET,
        policy=f"{result.policy or result.formulation}+dispatched",
        termination="completed",
        solution_status="feasible",
        objective=earned,
        bound=None,
        gap=None,
        certificate=UNSET,
        message=f"dispatched night by night, by {by}: {done:,} of {counted(total, 'job')} in time",
        solution=ScheduledNights(
            nights=found.nights, capacity=found.capacity, schedules=tuple(schedules)
        ),
    )


def _nothing(capacity: float) -> Scheduled:
    return Scheduled(
        selected=(), demand=0.0, capacity=capacity, shares={},
        tasks=(), completion={}, makespan=0.0, utilization=0.0,
    )  # fmt: skip


def plan(
    season: Instance, result: Result[SelectedNights], run: Result[ScheduledNights] | None
) -> Plan:
    """Return the plan of a season, a row for each job in the file's order.

    Parameters
    ----------
    season : Instance
    result : Result
        What is chosen.
    run : Result or None
        The same as it is run: see `dispatched_nights`. Times are from each night's start.

    Raises
    ------
    InputError
        If the result has no selection of nights.
    """
    found = result.solution
    if not isinstance(found, SelectedNights):
        raise InputError("a result with the jobs of several nights", found="none to plan from")
    on = {name: n for n, night in enumerate(found.nights, start=1) for name in night.selected}
    schedules = () if run is None or run.solution is None else run.solution.schedules
    night = Column(NIGHT, int, [on.get(job.name) for job in season.jobs])
    return columns(season, on, reasons(season, result), schedules, night)
