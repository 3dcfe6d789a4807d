"""The rows of a plan: which jobs run, when, and why others do not.

A selection has no start times. If all jobs have tasks, the plan of a night dispatches them by the
best deterministic dispatcher: by reward, then by the number of late jobs, then by makespan. A plan
of several nights has no times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec import UNSET

from schedopt.formats import count_of
from schedopt.instances.dssp import (
    Instance,
    Scheduled,
    Selected,
    SelectedNight,
    SelectedNights,
)
from schedopt.instances.dssp.machine import in_order
from schedopt.instances.errors import InputError
from schedopt.planning.cloud import BILL, hidden, twins_of
from schedopt.planning.history import ON_TIME, clock
from schedopt.planning.reasons import reasons
from schedopt.planning.release import script_rows, with_seats
from schedopt.problems.summary import FIXED, KINDS, Plan, PlanRow
from schedopt.solvers.result import Result

if TYPE_CHECKING:
    from numpy.typing import NDArray


Chosen = Selected | SelectedNights
Run = Result[Scheduled]

PLAINLY = 3_000  # tasks up to which simulating takes less time than loading a compiler
HOPE = "; the formulation schedule selects jobs that are all on time"  # advice about late jobs
LATE = "late"  # the reason for a chosen job that is not run: it would end too late to earn anything


def has_several_nights(result: Result) -> bool:
    """Return whether a result has several nights."""
    if result.solution is None:
        return result.formulation == "season"
    return isinstance(result.solution, SelectedNights)


def lateness(instance: Instance, solution: Scheduled) -> dict[str, float]:
    """Return the lateness of each job that runs; 0 if it is on time."""
    late = {}
    for name, end in solution.completion.items():
        deadline = float(instance.deadlines[instance.index[name]])
        late[name] = 0.0 if end <= deadline * ON_TIME else end - deadline
    return late


def unpaid_jobs(instance: Instance, solution: Scheduled) -> list[str]:
    """Return the jobs that run but complete too late to earn anything."""
    ends, index = solution.completion, instance.index
    late = lateness(instance, solution)
    return [name for name in late if late[name] and not instance.worth(index[name], ends[name])]


def paid_jobs(instance: Instance, solution: Scheduled) -> list[str]:
    """Return the jobs that earn a reward, and their predecessors."""
    unpaid = {*unpaid_jobs(instance, solution)}
    paid = [name for name in solution.completion if name not in unpaid]
    if unpaid and instance.features:
        waited = _predecessors(instance, paid)
        paid = [name for name in solution.completion if name not in unpaid - waited]
    return paid


def in_time(instance: Instance, solution: Scheduled) -> str:
    """Return in words how many jobs are on time."""
    late = lateness(instance, solution)
    done = sum(not by for by in late.values())
    return f"{done:,} of {count_of(len(late), 'job')} on time"


# Dispatching the selected jobs.


def dispatch_result(
    instance: Instance, result: Result[Chosen], most: int | None = None
) -> Result[Any] | None:
    """Return a result with times: itself, or the best dispatcher's; None without tasks."""
    chosen = result.solution
    if isinstance(chosen, Scheduled):
        return result
    if not isinstance(chosen, Selected) or any(job.stages is None for job in instance.jobs):
        return None
    if most is not None and len(instance.tasks.lengths) > most:
        return None
    night = with_seats(instance, result.constraints)
    by, schedule = _best(night, chosen.selected, chosen.capacity / instance.capacity())
    total = len(schedule.completion)
    late = sum(delay > 0 for delay in lateness(night, schedule).values())
    done = f"by {by}: {total - late:,} of {total:,} jobs on time{HOPE if late else ''}"
    return as_dispatched(result, by, night.objective_of(schedule), schedule, done)


def as_dispatched(
    result: Result, how: str, earned: float, solution: Scheduled, done: str
) -> Result:
    """Return a result with the solution of a dispatcher; nothing is proven about it."""
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
        message=f"dispatched {done}",
        solution=solution,
    )
    return run.with_details(certificate=UNSET, risk=UNSET)


def _best(night: Instance, names: Sequence[str], fill: float) -> tuple[str, Scheduled]:
    """Return the best built-in deterministic dispatcher for some jobs, and its schedule."""
    from schedopt.policies.dssp.dispatch import schedule_of
    from schedopt.policies.dssp.dispatchers import DRAWN, KEYS, positions, simulate_dispatcher
    from schedopt.policies.registry import is_own

    jobs = positions(night, list(names))
    compared = [name for name in KEYS if name not in DRAWN and is_own("dssp", name)]
    ran = {name: simulate_dispatcher(night, name, jobs) for name in compared}
    best = max(ran, key=lambda name: _score(night, jobs, ran[name].completion))
    return best, schedule_of(night, jobs, ran[best], fill)


def _score(
    night: Instance, jobs: NDArray[np.int64], completion: NDArray[np.float64]
) -> tuple[float, int, float]:
    """Return the score of a dispatcher: reward, then few late jobs, then an early end."""
    waiting = np.isnan(completion[jobs])  # on a machine that changes some may never complete
    never, jobs = int(waiting.sum()), jobs[~waiting]
    ends = completion[jobs]
    paid = [night.worth(int(j), float(end)) for j, end in zip(jobs, ends, strict=True)]
    late = never + int((ends > night.deadlines[jobs] * ON_TIME).sum())
    return float(np.dot(night.rewards[jobs], paid)), -late, -float(ends.max(initial=0.0))


# The plan.


def plan(instance: Instance, result: Result[Chosen], run: Run | None) -> Plan:
    """Return the plan with a row for each job; without times if there is no ``run``."""
    chosen, several = result.solution, has_several_nights(result)
    if chosen is None:
        which = "several nights" if several else "one night"
        raise InputError(f"a result that selects jobs of {which}", found="no solution")
    why = {name: str(reason) for name, reason in reasons(instance, result).items()}
    nights: Sequence[Selected | SelectedNight] = chosen.nights
    on = {name: n for n, night in enumerate(nights, 1) for name in night.selected}
    schedule = None if run is None else run.solution
    times: dict[str, PlanRow] = {}
    if schedule is not None:
        why |= dict.fromkeys(unpaid_jobs(instance, schedule), LATE)
        late, ends = lateness(instance, schedule), schedule.completion
        for name, (start, width) in _starts_and_widths(schedule).items():
            if name not in ends:  # it was dropped while it ran
                continue
            row = {"processors": width, "start": start, "end": ends[name], "late": late[name]}
            times[name] = row | clock(instance, start_time=start, end_time=ends[name])
    if run is not None:
        why |= dict.fromkeys((name for name in on if name not in times), LATE)
    if instance.features:
        for name in _predecessors(instance, [name for name in on if name not in why]):
            why.pop(name, None)  # though it earns nothing
    runs = {name: n for name, n in on.items() if name not in why}
    ranks = _ranks(instance, runs, {name: row["start"] for name, row in times.items()})
    groups = {_title(by, "grouping"): by for by in instance.groups}
    labels = {_title(of, "label"): of for job in instance.jobs for of in job.labels}
    night = ["night"] if several else []
    twins = twins_of(instance)
    absent = hidden(instance, runs)
    more = [*(["bill"] if twins else []), "rank"]
    times_of_day = clock(instance, start_time=None, end_time=None)
    titles = [
        *dict.fromkeys((*FIXED[:4], *times_of_day, *labels, *groups, *night, *FIXED[4:], *more))
    ]
    rows = [
        {
            **dict.fromkeys(titles),
            "job": job.name,
            "run": job.name in runs,
            "reason": why.get(job.name, ""),
            "reward": job.reward,
            **{title: job.labels.get(of) for title, of in labels.items()},
            **{title: job.groups.get(by) for title, by in groups.items()},
            **({"night": on.get(job.name)} if several else {}),
            **times.get(job.name, {}),
            "rank": ranks.get(job.name),
            **({"bill": job.values.get(BILL) if job.name in runs else None} if twins else {}),
        }
        for job in instance.jobs
        if job.name not in absent
    ]
    if schedule is None:
        return Plan(titles, rows)
    return Plan(titles, rows, partial(script_rows, instance, result.constraints, schedule, rows))


def _predecessors(instance: Instance, names: Sequence[str]) -> set[str]:
    ancestors: set[str] = set()
    waiting = list(names)
    while waiting:
        before = instance.jobs[instance.index[waiting.pop()]].after
        waiting += [name for name in before if name not in ancestors]
        ancestors.update(before)
    return ancestors


def _ranks(
    instance: Instance, on: Mapping[str, int], starts: Mapping[str, float]
) -> dict[str, int]:
    order = in_order(instance.jobs, instance.index)[0] if "after" in instance.features else None
    place = {j: at for at, j in enumerate(order or range(len(instance.jobs)))}
    by = sorted(on, key=lambda n: (on[n], starts.get(n, 0.0), place[instance.index[n]]))
    return {name: rank for rank, name in enumerate(by, start=1)}


def _starts_and_widths(schedule: Scheduled) -> dict[str, tuple[float, int]]:
    """Return the start of each job, and the most processors that it uses at a time."""
    moments: dict[str, list[tuple[float, int]]] = {}
    for task in schedule.tasks:
        wide = len(task.on)
        moments.setdefault(task.job, []).extend(((task.start, wide), (task.end, -wide)))
    placed = {}
    for job, changes in moments.items():
        changes.sort()  # what ends at an instant ends before anything starts at it
        placed[job] = changes[0][0], max(1, *accumulate(change for _, change in changes))
    return placed


def _title(name: str, what: str) -> str:
    """Return the title of a column, made distinct from the fixed titles."""
    return f"{what} {name}" if name in KINDS else name
