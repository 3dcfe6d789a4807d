"""Plan the rest of a night again, near what was planned.

First the best reward is found, or proven; then how many of the jobs that were to run can run
within the part of that reward that stability may cost; then the best reward with so many of them.
The tasks run in the old order where that costs nothing, and else as the best dispatcher has them.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf, nextafter
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from schedopt.formulations.dssp.rows import Row
from schedopt.instances.constraints import AtLeast, Constraint, label
from schedopt.instances.decimals import as_written, total
from schedopt.instances.dssp import Instance, Scheduled, refuse_nights
from schedopt.instances.dssp.planned import Floats
from schedopt.instances.encoding import to_json
from schedopt.instances.errors import InputError, shown
from schedopt.instances.protocol import identity
from schedopt.instances.tables import Source
from schedopt.problems.dssp import planning
from schedopt.problems.dssp.observed_state import (
    PlannedNight,
    Progress,
    State,
    Task,
    observed,
    pool_of,
    read_state,
    read_time,
)
from schedopt.problems.dssp.reasons import moment, reasons
from schedopt.problems.dssp.remaining_night import RemainingNight, remaining_night
from schedopt.problems.summary import Change, Column, Plan, Replanned, changes, same
from schedopt.solvers.result import Result
from schedopt.solvers.stopping import stopped

BEGUN = "begun"  # the column of a plan that says of each job what had begun when it was made
STAY = "stay"  # what the rule is called that keeps what was planned
FEW = ("cpa", "least-slack")
"""Dispatchers that are tried where there are many tasks and the old order makes some jobs late."""

Solve = Callable[..., Result]  # takes an instance, and rules
PlanRow = dict[str, Any]


class Worth(Constraint, frozen=True, kw_only=True, tag="worth"):
    """A rule: the selection is worth at least so much."""

    rewards: dict[str, float]
    at_least: float

    def rows(self, night: Instance, _: float) -> Iterator[Row]:
        """Yield the sum of the rewards."""
        index = [night.index[name] for name in self.rewards]
        yield Row("worth", index, [*self.rewards.values()], lower=as_written(self.at_least))

    def broken(self, _: Instance, chosen: frozenset[str]) -> Iterator[str]:
        """Yield a violation if it is worth less."""
        worth = total(reward for name, reward in self.rewards.items() if name in chosen)
        if worth < as_written(self.at_least):
            yield f"{float(worth):g} of {self.at_least:g}"


def replan(
    night: Instance,
    planned: PlannedNight | Result | Sequence[PlanRow],
    at: str | float,
    state: Source | None,
    solve: Solve,
    *,
    stay: float,
    constraints: Sequence[Constraint],
    how: Sequence[object] = (),
) -> Replanned:
    """Solve the rest of a night.

    A plan that answers this very question, asked in the same way, stays.
    """
    refuse_nights(night, "replan")
    now = read_time(night, str(at), "at")
    old = planned if isinstance(planned, PlannedNight) else planned_night(night, planned)
    if now < old.at:
        expected = f"a time from {moment(night, old.at)} on, when it was planned again"
        raise InputError(expected, found=moment(night, now), place="at")
    reported = read_state(night, state, now)
    progress, notes = observed(night, old, reported, now)
    whole = replace(night, constraints=(*night.constraints, *constraints))
    rest = remaining_night(whole, progress, now, reported.levels)
    question = (identity(rest.instance).digest, stay, *how)
    if old.answer is not None and old.answer[0] == question:
        _, rest, result, run, left_out = old.answer
    else:
        rest, result, left_out = _solved(rest, {*old.spans} - rest.settled, solve, stay)
        run = None if result.solution is None else _dispatched(rest, old, result)
    notes = [*notes, *rest.notes, *(f"{name} cannot be kept: left out" for name in left_out)]
    if result.solution is None:
        return Replanned(result, rest.instance, rest.night, notes=tuple(notes))
    answer = (question, rest, result, run, left_out) if result.termination == "optimal" else None
    made = _whole_night(rest, old, reported, result, run)
    return dataclasses.replace(
        made, notes=tuple(notes), old=dataclasses.replace(made.old, answer=answer)
    )


# --- the old plan -----------------------------------------------------------------------------


def planned_night(night: Instance, result: Result | Sequence[PlanRow]) -> PlannedNight:
    """Return the plan of a result, dispatched where it has no times; or of a plan's rows."""
    if not isinstance(result, Result):
        progress = {row["job"]: _begun(row) for row in result if row.get(BEGUN)}
        return _planned({row["job"]: row for row in result}, progress=progress)
    run = planning.dispatched(night, result)
    if not (schedules := planning.schedules_of(run)):
        names = result.solution.selected if result.solution is not None else ()
        return PlannedNight(dict.fromkeys(names))
    tasks: dict[str, list[Task]] = {}
    for task in schedules[0].tasks:
        pool = pool_of(night, task.processor)
        tasks.setdefault(task.job, []).append(
            Task(task.stage, task.task, task.start, task.end, pool)
        )
    return _planned(_rows(planning.plan(night, result, run)), tasks)


def _planned(
    rows: Mapping[str, PlanRow],
    tasks: Mapping[str, Sequence[Task]] | None = None,
    progress: Mapping[str, Progress] | None = None,
) -> PlannedNight:
    """Return the plan that a row for each job says; widths where they are known."""
    runs = {name: row for name, row in rows.items() if row["run"]}
    spans = {
        name: None if row["start"] is None or row["end"] is None else (row["start"], row["end"])
        for name, row in runs.items()
    }
    widths = {name: row["processors"] for name, row in runs.items() if row["processors"]}
    known = {name: tasks[name] for name in runs if tasks.get(name)} if tasks else {}
    return PlannedNight(spans, widths, known, progress or {})


def _begun(row: PlanRow) -> Progress:
    """Return what a plan's cell says of a job that had begun."""
    try:
        return msgspec.json.decode(row[BEGUN], type=Progress)
    except msgspec.MsgspecError:
        expected = f"what `replan` wrote of {shown(row['job'])}"
        raise InputError(expected, found=shown(row[BEGUN]), place=BEGUN) from None


def _begun_cell(progress: Progress) -> str:
    """Return what a table says of a job that has begun or failed, for the next replanning."""
    if not (progress.past or progress.lost):
        return ""
    if progress.status == "done" and progress.end <= progress.at:  # only its use still matters
        once = Task(0, 0, progress.start, progress.end)
        lost = progress.used() - progress.width * (once.end - once.start)
        progress = dataclasses.replace(progress, past=[once], lost=lost)
    return to_json(progress).decode()


def _rows(columns: Plan) -> dict[str, PlanRow]:
    titles = [column.title for column in columns]
    cells = zip(*(column.cells for column in columns), strict=True)
    return {str(row[0]): dict(zip(titles, row, strict=True)) for row in cells}


# --- the choice -------------------------------------------------------------------------------


def _solved(
    rest: RemainingNight, was: set[str], solve: Solve, stay: float
) -> tuple[RemainingNight, Result, list[str]]:
    """Return the result nearest to the plan, on what rest, and the rules that no plan can keep."""
    night, dropped = rest.instance, list[str]()
    own = {label(rule, i) for i, rule in enumerate(rest.night.constraints)}
    while True:
        best = solve(night)
        lost = {*best.conflict} & own
        if best.termination != "infeasible" or not lost or stopped():
            break
        dropped += sorted(map(str, lost))
        rules = tuple(rule for rule in night.constraints if rule.name not in lost)
        night = replace(night, constraints=rules)
    rest = dataclasses.replace(rest, instance=night)
    if best.solution is None or was <= {*best.solution.selected} or stopped():
        return rest, best, dropped
    chosen, free = {*best.solution.selected}, {*night.index} - rest.settled
    rewards = {job.name: job.reward for job in night.jobs if job.name in free}
    worth = total(rewards[name] for name in chosen & free) * (1 - as_written(stay))
    least = float(worth)
    while as_written(least) > worth:
        least = nextafter(least, 0.0)
    names = tuple(name for name in rewards if name in was)
    counted = tuple(replace(job, reward=float(job.name in names)) for job in night.jobs)
    floor = Worth(name=STAY, rewards=rewards, at_least=least)
    near = solve(replace(night, jobs=counted, objectives=()), [floor])
    count = 0 if near.solution is None else len({*names} & {*near.solution.selected})
    if count <= len({*names} & chosen) or stopped():
        return rest, best, dropped
    final = solve(night, [AtLeast(name=STAY, jobs=names, count=count)])
    return rest, (best if final.solution is None else final), dropped


# --- the times --------------------------------------------------------------------------------


def _dispatched(rest: RemainingNight, old: PlannedNight, result: Result) -> Result | None:
    """Return a result dispatched in the old order where that loses nothing."""
    from schedopt.policies.dssp.dispatch import schedule_of, simulate
    from schedopt.policies.dssp.dispatchers import positions

    night, chosen = rest.instance, result.solution
    bare = any(job.stages is None for job in night.jobs)
    if bare or chosen is None or isinstance(chosen, Scheduled):
        return planning.dispatched(night, result)
    jobs = positions(night, chosen.selected)
    played = simulate(night, jobs, keys=_old_starts(rest, old))
    made = schedule_of(night, jobs, played, chosen.capacity / night.capacity())
    earned = night.objective_of(made)
    paid = [night.worth(night.index[name], end) for name, end in made.completion.items()]
    if len(paid) < len(jobs) or not all(same(worth, 1.0) for worth in paid):
        many = len(night.tasks.lengths) > planning.PLAINLY
        other = planning.dispatched(night, result, among=FEW if many else None)
        if other is not None and (other.objective or 0.0) > earned:
            return other
    done = f"in the old order: {paid.count(1.0):,} of {len(paid):,} jobs in time"
    return planning.as_dispatched(result, "old-order", earned, made, done)


def _old_starts(rest: RemainingNight, old: PlannedNight) -> Floats:
    """Return when each task of the rest was to start; of jobs that were not to run, never."""
    found: list[float] = []
    for job in rest.instance.jobs:
        name, places = rest.tasks[job.name]
        starts = {task[:2]: task.start for task in old.tasks.get(name, ())}
        if places and starts:
            found += [starts[place] for stage in places for place in stage]
        else:
            span = old.spans.get(name)
            found += [inf if span is None else span[0]] * sum(map(len, job.stages or ()))
    return np.array(found)


# --- the plan of the whole night --------------------------------------------------------------


def _whole_night(
    rest: RemainingNight, old: PlannedNight, state: State, result: Result, run: Result | None
) -> Replanned:
    """Return the plan of a whole night: what has begun, and what is planned of the rest."""
    night, columns = rest.night, planning.plan(rest.instance, result, run)
    rows = _rows(columns)
    tasks = {name: [*begun.past] for name, begun in zip(night.index, rest.progress, strict=True)}
    for schedule in planning.schedules_of(run):
        for task in schedule.tasks:
            name, places = rest.tasks[task.job]
            if places and rows[name]["run"]:
                pool = pool_of(rest.instance, task.processor)
                place = places[task.stage][task.task]
                tasks[name].append(Task(*place, task.start, task.end, pool))
    for j, progress in enumerate(rest.progress):
        _add_past(rest, old, j, progress, rows)
    ranked = [row for row in rows.values() if row["rank"] is not None]
    for rank, row in enumerate(sorted(ranked, key=lambda row: row["rank"]), start=1):
        row["rank"] = rank
    begun = {
        name: progress
        for name, progress in zip(night.index, rest.progress, strict=True)
        if progress.past or progress.lost
    }
    new = _planned({name: rows[name] for name in night.index}, tasks, begun)
    change = changes(old.spans, new.spans)
    why = {name: reason.words for name, reason in reasons(rest.instance, result).items()}
    told = []
    for name in (name for name in night.index if name in change):
        was, now = (plan.spans.get(name) for plan in (old, new))
        before, after = (span[0] if span else None for span in (was, now))
        by_clock = [
            str(column.cells[0] or "") for column in planning.clock(night, [before], [after])
        ]
        because = _why(name, change, rows, why, state)
        told.append(Change(name, change[name], before, after, because, *by_clock))
    wide = _columns(rest, old, columns, rows, change)
    return Replanned(result, rest.instance, night, tuple(told), old=new, columns=wide)


def _add_past(
    rest: RemainingNight, old: PlannedNight, j: int, progress: Progress, rows: dict[str, PlanRow]
) -> None:
    """Add to the row of a job what of it has begun, and the rest of its present stage."""
    job = rest.night.jobs[j]
    row, first = rows[job.name], rows.pop(rest.parts.get(job.name, ""), None)
    row["reward"] = job.reward
    if progress.status == "waiting":
        return
    row["rank"] = None  # nobody has to release it
    if not row["run"]:
        return
    widths = [row["processors"] or 0, first["processors"] or 0 if first else 0, progress.widest]
    row |= {"start": progress.start, "late": row["late"] or 0.0, "processors": max(widths)}
    if job.name in rest.settled:
        due = rest.night.deadline if job.deadline is None else job.deadline
        row |= {"end": progress.end, "late": max(0.0, progress.end - due)}
        row["processors"] = old.widths.get(job.name) or progress.widest


def _columns(
    rest: RemainingNight,
    old: PlannedNight,
    columns: Plan,
    rows: Mapping[str, PlanRow],
    change: Mapping[str, str],
) -> Plan:
    """Return the columns of the plan, with what was planned, what changed, and what has begun."""
    jobs = [*rest.night.index]
    starts, ends = ([rows[name][key] for name in jobs] for key in ("start", "end"))
    was = [span[0] if (span := old.spans.get(name)) else None for name in jobs]
    return (
        *(
            Column(column.title, column.kind, [rows[name][column.title] for name in jobs])
            for column in columns
            if column.title not in ("start_time", "end_time")
        ),
        *planning.clock(rest.night, starts, ends),
        Column("was", float, was),
        Column("change", str, [change.get(name, "") for name in jobs]),
        Column(BEGUN, str, [_begun_cell(progress) for progress in rest.progress]),
    )


def _why(
    name: str,
    change: Mapping[str, str],
    rows: Mapping[str, PlanRow],
    why: Mapping[str, str],
    state: State,
) -> str:
    """Say why a job is planned otherwise than before: what was reported, and what follows."""
    said = state.jobs[name].status if name in state.jobs else ""
    if change[name] == "dropped":
        late = rows[name]["reason"] == planning.LATE
        reason = "ends too late" if late else why.get(name, "")
        return "; ".join(part for part in (said, reason) if part)
    if said == "failed":
        return "failed: begins anew"
    if change[name] == "added":
        return said or "there is room for it now"
    return said if change[name] == "moved" else ""
