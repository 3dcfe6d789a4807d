"""Plan the rest of a night again, near what was planned.

First the best reward is found, or proven; then how many of the jobs that were to run can run
within the part of that reward that stability may cost; then the best reward with so many of them.
The tasks run in the old order where that costs nothing, and else as the best dispatcher has them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf, nextafter

import msgspec
import numpy as np
from msgspec.structs import replace as with_fields

from schedopt.formulations.dssp.rows import Row
from schedopt.instances.constraints import AtLeast, Constraint, label
from schedopt.instances.decimals import as_written, total
from schedopt.instances.dssp import Instance, Scheduled, refuse_nights
from schedopt.instances.dssp.planned import Floats
from schedopt.instances.encoding import to_json
from schedopt.instances.errors import InputError, quote
from schedopt.instances.tables import Source
from schedopt.planning import plan_rows
from schedopt.planning.reasons import moment, reasons
from schedopt.planning.remaining import RemainingNight
from schedopt.planning.state import (
    PlannedNight,
    Progress,
    State,
    Task,
    observe_progress,
    pool_of,
    read_state,
    read_time,
)
from schedopt.problems.summary import Change, Plan, PlanRow, Replanned, same_time
from schedopt.solvers.result import Result
from schedopt.solvers.stopping import stopped

BEGUN = "begun"  # the column of a plan that says of each job what had begun when it was made
STAY = "stay"  # what the rule is called that keeps what was planned

Solve = Callable[..., Result]  # takes an instance, and rules


class RewardFloor(Constraint, frozen=True, kw_only=True, tag="worth"):
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
) -> Replanned:
    """Solve the rest of a night."""
    refuse_nights(night, "replan")
    now = read_time(night, str(at), "at")
    old = planned if isinstance(planned, PlannedNight) else planned_night(night, planned)
    if now < old.at:
        expected = f"a time from {moment(night, old.at)} on, when it was planned again"
        raise InputError(expected, found=moment(night, now), place="at")
    reported = read_state(night, state, now)
    progress, notes = observe_progress(night, old, reported, now)
    whole = with_fields(night, constraints=(*night.constraints, *constraints))
    rest = RemainingNight(whole, progress, now, reported.levels)
    result, left_out = _nearest_result(rest, {*old.spans} - rest.settled, solve, stay)
    notes += [*rest.notes, *(f"{name} cannot be kept: left out" for name in left_out)]
    if result.solution is None:
        return Replanned(result, rest.instance, rest.night, notes=tuple(notes))
    return replace(_whole_night(rest, old, reported, result), notes=tuple(notes))


# --- the old plan -----------------------------------------------------------------------------


def planned_night(night: Instance, result: Result | Sequence[PlanRow]) -> PlannedNight:
    """Return the plan of a result, dispatched where it has no times; or of a plan's rows."""
    if not isinstance(result, Result):
        return _planned_night(
            result, progress={r["job"]: _read_progress(r) for r in result if r.get(BEGUN)}
        )
    run = plan_rows.dispatch_result(night, result)
    if not (schedules := plan_rows.schedules_of(run)):
        names = result.solution.selected if result.solution is not None else ()
        return PlannedNight(dict.fromkeys(names))
    tasks: dict[str, list[Task]] = {}
    for task in schedules[0].tasks:
        on = pool_of(night, task.processor)
        tasks.setdefault(task.job, []).append(Task(task.stage, task.task, task.start, task.end, on))
    return _planned_night(plan_rows.plan(night, result, run).rows, tasks)


def _planned_night(
    rows: Sequence[PlanRow],
    tasks: Mapping[str, Sequence[Task]] | None = None,
    progress: Mapping[str, Progress] | None = None,
) -> PlannedNight:
    """Return the plan that a row for each job says; widths where they are known."""
    runs = {row["job"]: row for row in rows if row["run"]}
    spans = {
        name: None if row["start"] is None or row["end"] is None else (row["start"], row["end"])
        for name, row in runs.items()
    }
    widths = {name: row["processors"] for name, row in runs.items() if row["processors"]}
    planned = {name: tasks[name] for name in runs if tasks.get(name)} if tasks else {}
    return PlannedNight(spans, widths, planned, progress or {})


def _read_progress(row: PlanRow) -> Progress:
    """Return what a plan's cell says of a job that had begun."""
    try:
        return msgspec.json.decode(row[BEGUN], type=Progress)
    except msgspec.MsgspecError:
        expected = f"what `replan` wrote of {quote(row['job'])}"
        raise InputError(expected, found=quote(row[BEGUN]), place=BEGUN) from None


def _begun_cell(progress: Progress) -> str:
    """Return what a table says of a job that has begun or failed, for the next replanning."""
    if not (progress.past or progress.lost):
        return ""
    if progress.status == "done" and progress.end <= progress.at:  # only its use still matters
        once = Task(0, 0, progress.start, progress.end)
        lost = progress.used() - progress.width * (once.end - once.start)
        progress = replace(progress, past=[once], lost=lost)
    return to_json(progress).decode()


# --- the choice -------------------------------------------------------------------------------


def _nearest_result(
    rest: RemainingNight, was: set[str], solve: Solve, stay: float
) -> tuple[Result, list[str]]:
    """Return the result nearest to the plan, and the rules that no plan can keep, left out."""
    night, dropped = rest.instance, list[str]()
    own = {label(rule, i) for i, rule in enumerate(rest.night.constraints)}
    while True:
        best = solve(night)
        lost = {*best.conflict} & own
        if best.termination != "infeasible" or not lost or stopped():
            break
        dropped += sorted(map(str, lost))
        rules = tuple(rule for rule in night.constraints if rule.name not in lost)
        night = with_fields(night, constraints=rules)
    rest.instance = night
    if best.solution is None or was <= {*best.solution.selected} or stopped():
        return best, dropped
    chosen, free = {*best.solution.selected}, {*night.index} - rest.settled
    rewards = {job.name: job.reward for job in night.jobs if job.name in free}
    worth = total(rewards[name] for name in chosen & free) * (1 - as_written(stay))
    least = float(worth)
    while as_written(least) > worth:
        least = nextafter(least, 0.0)
    names = tuple(name for name in rewards if name in was)
    counted = tuple(with_fields(job, reward=float(job.name in names)) for job in night.jobs)
    floor = RewardFloor(name=STAY, rewards=rewards, at_least=least)
    near = solve(with_fields(night, jobs=counted, objectives=()), constraints=[floor])
    count = 0 if near.solution is None else len({*names} & {*near.solution.selected})
    if count <= len({*names} & chosen) or stopped():
        return best, dropped
    final = solve(night, constraints=[AtLeast(name=STAY, jobs=names, count=count)])
    return (best if final.solution is None else final), dropped


# --- the times --------------------------------------------------------------------------------


def _dispatch_in_old_order(
    rest: RemainingNight, old: PlannedNight, result: Result
) -> Result | None:
    """Return a result dispatched in the old order where that loses nothing."""
    from schedopt.policies.dssp.dispatch import schedule_of, simulate
    from schedopt.policies.dssp.dispatchers import positions

    night, chosen = rest.instance, result.solution
    if chosen is None or any(job.stages is None for job in night.jobs):
        return plan_rows.dispatch_result(night, result)
    jobs = positions(night, chosen.selected)
    simulated = simulate(night, jobs, keys=_old_starts(rest, old))
    scheduled = schedule_of(night, jobs, simulated, chosen.capacity / night.capacity())
    earned = night.objective_of(scheduled)
    paid = [night.worth(night.index[name], end) for name, end in scheduled.completion.items()]
    if len(paid) < len(jobs) or not all(same_time(worth, 1.0) for worth in paid):
        other = plan_rows.dispatch_result(night, result)
        if other is not None and (other.objective or 0.0) > earned:
            return other
    if isinstance(chosen, Scheduled) and _count_moved(old, chosen) <= _count_moved(old, scheduled):
        return result
    done = f"in the old order: {paid.count(1.0):,} of {len(paid):,} jobs in time"
    return plan_rows.as_dispatched(result, "old-order", earned, scheduled, done)


def _count_moved(old: PlannedNight, schedule: Scheduled) -> int:
    """Return how many jobs of a schedule start at another time than planned."""
    starts: dict[str, float] = {}
    for task in schedule.tasks:
        starts[task.job] = min(task.start, starts.get(task.job, inf))
    spans = {name: old.spans.get(name) for name in starts}
    return sum(span is not None and not same_time(starts[n], span[0]) for n, span in spans.items())


def _old_starts(rest: RemainingNight, old: PlannedNight) -> Floats:
    """Return when each task of the rest was to start; of jobs that were not to run, never."""
    by_task: list[float] = []
    for job in rest.instance.jobs:
        name, places = rest.tasks[job.name]
        starts = {task[:2]: task.start for task in old.tasks.get(name, ())}
        if places and starts:
            by_task += [starts[place] for stage in places for place in stage]
        else:
            span = old.spans.get(name)
            by_task += [inf if span is None else span[0]] * sum(map(len, job.stages or ()))
    return np.array(by_task)


# --- the plan of the whole night --------------------------------------------------------------


def _whole_night(
    rest: RemainingNight, old: PlannedNight, state: State, result: Result
) -> Replanned:
    """Return the plan of a whole night: what has begun, and what is planned of the rest."""
    night, run = rest.night, _dispatch_in_old_order(rest, old, result)
    plan = plan_rows.plan(rest.instance, result, run)
    rows = {row["job"]: row for row in plan.rows}
    begun = dict(zip(night.index, rest.progress, strict=True))
    tasks = {name: [*progress.past] for name, progress in begun.items()}
    for schedule in plan_rows.schedules_of(run):
        for task in schedule.tasks:
            name, places = rest.tasks[task.job]
            if places and rows[name]["run"]:
                pool = pool_of(rest.instance, task.processor)
                place = places[task.stage][task.task]
                tasks[name].append(Task(*place, task.start, task.end, pool))
    own = [_with_past(rest, old, name, progress, rows) for name, progress in begun.items()]
    ranked = [row for row in own if row["rank"] is not None]
    for rank, row in enumerate(sorted(ranked, key=lambda row: row["rank"]), start=1):
        row["rank"] = rank
    new = _planned_night(own, tasks, {name: of for name, of in begun.items() if of.past or of.lost})
    why = {name: reason.words for name, reason in reasons(rest.instance, result).items()}
    changes = []
    for row in own:
        name, was = row["job"], old.spans.get(row["job"])
        kind = _kind_of_change(name, old, new)
        before = was[0] if was else None
        clock = plan_rows.clock(night, was=before, start_time=row["start"], end_time=row["end"])
        row |= {"was": before, "change": kind, BEGUN: _begun_cell(begun[name])}
        row |= {title: time for title, time in clock.items() if title != "was"}
        if kind:
            times = clock.get("was") or "", clock.get("start_time") or ""
            now = row["start"] if name in new.spans else None
            changes.append(Change(name, kind, before, now, _why(row, why, state), *times))
    titles = [*plan.titles, "was", "change", BEGUN]
    return Replanned(result, rest.instance, night, tuple(changes), old=new, whole=Plan(titles, own))


def _kind_of_change(name: str, old: PlannedNight, new: PlannedNight) -> str:
    """Return what became of a job that runs in either of two plans; nothing of another."""
    if name not in old.spans or name not in new.spans:
        return "dropped" if name in old.spans else "added" if name in new.spans else ""
    was, now = old.spans[name], new.spans[name]
    return "moved" if was and now and not same_time(was[0], now[0]) else "kept"


def _with_past(
    rest: RemainingNight,
    old: PlannedNight,
    name: str,
    progress: Progress,
    rows: Mapping[str, PlanRow],
) -> PlanRow:
    """Return the row of a job with what of it has begun, and the rest of its present stage."""
    job, row = rest.night.jobs[rest.night.index[name]], dict(rows[name])
    first = rows.get(rest.parts.get(name, ""))
    row["reward"] = job.reward
    if progress.status == "waiting":
        return row
    row["rank"] = None  # nobody has to release it
    if not row["run"]:
        return row
    widths = [row["processors"] or 0, first["processors"] or 0 if first else 0, progress.widest]
    row |= {"start": progress.start, "late": row["late"] or 0.0, "processors": max(widths)}
    if name in rest.settled:
        due = rest.night.deadline if job.deadline is None else job.deadline
        row |= {"end": progress.end, "late": max(0.0, progress.end - due)}
        row["processors"] = old.widths.get(name) or progress.widest
    return row


def _why(row: PlanRow, why: Mapping[str, str], state: State) -> str:
    """Say why a job is planned otherwise than before: what was reported, and what follows."""
    name, kind = row["job"], row["change"]
    said = state.jobs[name].status if name in state.jobs else ""
    if kind == "dropped":
        reason = "ends too late" if row["reason"] == plan_rows.LATE else why.get(name, "")
        return "; ".join(part for part in (said, reason) if part)
    if said == "failed":
        return "failed: begins anew"
    if kind == "added":
        return said or "there is room for it now"
    return said if kind == "moved" else ""
