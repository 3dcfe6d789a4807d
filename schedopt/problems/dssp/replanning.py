"""Replanning: the rest of a night solved again, near what was planned.

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
from schedopt.instances.dssp import Instance, Job, Scheduled, Selected, refuse_nights, selected
from schedopt.instances.dssp.planned import Floats
from schedopt.instances.encoding import to_json
from schedopt.instances.errors import InputError, shown
from schedopt.instances.protocol import identity
from schedopt.instances.tables import Source
from schedopt.problems.dssp.observed_state import (
    Begun,
    Old,
    Task,
    observed,
    pool_of,
    state_of,
    time_told,
)
from schedopt.problems.dssp.planning import (
    LATE,
    PLAINLY,
    as_run,
    clock,
    dispatched,
    plan,
    schedules_of,
)
from schedopt.problems.dssp.reasons import moment, reasons
from schedopt.problems.dssp.remaining_night import Rest, rest_of
from schedopt.problems.summary import Change, Column, Plan, Replanned, changes, same
from schedopt.solvers.result import Result
from schedopt.solvers.stopping import stopped
from schedopt.validation.documents import check

BEGUN = "begun"  # the column of a plan that says of each job what had begun when it was made
STAY = "stay"  # what the rule is called that keeps what was planned
FEW = ("cpa", "least-slack")
"""Dispatchers that are tried where there are many tasks and the old order makes some jobs late."""

Solve = Callable[..., Result]
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


def old_of(instance: Instance, result: Result | Sequence[PlanRow]) -> Old:
    """Return the plan of a result, dispatched where it has no times; or of a plan's rows."""
    refuse_nights(instance, "replan")
    if not isinstance(result, Result):
        return _old_from(result)
    run = dispatched(instance, result)
    made = schedules_of(run)
    if not made:
        names = result.solution.selected if result.solution is not None else ()
        return Old(dict.fromkeys(names))
    tasks: dict[str, list[Task]] = {}
    for task in made[0].tasks:
        one = Task(task.stage, task.task, task.start, task.end, pool_of(instance, task.processor))
        tasks.setdefault(task.job, []).append(one)
    rows = _rows(plan(instance, result, run))
    runs = {name: row for name, row in rows.items() if row["run"]}
    return Old(
        {name: _span(row) for name, row in runs.items()},
        {name: row["processors"] or 1 for name, row in runs.items()},
        {name: tasks[name] for name in runs if name in tasks},
    )


def _old_from(rows: Sequence[PlanRow]) -> Old:
    """Return the plan of a table; one of `replan` says what had begun then."""
    runs = {row["job"]: row for row in rows if row["run"]}
    widths = {name: row["processors"] for name, row in runs.items() if row["processors"]}
    begun: dict[str, Begun] = {}
    for row in rows:
        if text := row.get(BEGUN):
            try:
                begun[row["job"]] = msgspec.json.decode(text, type=Begun)
            except msgspec.MsgspecError:
                expected = f"what `replan` wrote of {shown(row['job'])}"
                raise InputError(expected, found=shown(text), place=BEGUN) from None
    return Old({name: _span(row) for name, row in runs.items()}, widths, begun=begun)


def _span(row: PlanRow) -> tuple[float, float] | None:
    return None if row["start"] is None or row["end"] is None else (row["start"], row["end"])


def _rows(columns: Plan) -> dict[str, PlanRow]:
    titles = [column.title for column in columns]
    cells = zip(*(column.cells for column in columns), strict=True)
    return {str(row[0]): dict(zip(titles, row, strict=True)) for row in cells}


def replan(
    night: Instance,
    planned: Old | Result | Sequence[PlanRow],
    at: str | float,
    state: Source | None,
    solve: Solve,
    *,
    stay: float,
    constraints: Sequence[Constraint],
    how: Sequence[object] = (),
) -> Replanned:
    """Solve the rest of a night; ``solve`` takes an instance, rules and what to start from.

    A plan that answers this very question, asked in the same way, stays.
    """
    refuse_nights(night, "replan")
    now = time_told(night, str(at), "at")
    old = planned if isinstance(planned, Old) else old_of(night, planned)
    if now < old.at:
        expected = f"a time from {moment(night, old.at)} on, when it was planned again"
        raise InputError(expected, found=moment(night, now), place="at")
    told = state_of(night, state, now)
    begun, notes = observed(night, old, told, now)
    whole = replace(night, constraints=(*night.constraints, *constraints))
    rest = rest_of(whole, begun, now, told.levels)
    was = {name for name in old.spans if name not in rest.sure}
    question = (identity(rest.instance).digest, stay, *how)
    if old.answer is not None and old.answer[0] == question:
        _, rest, result, run, left_out = old.answer
    else:
        rest, result, left_out = _solved(rest, old, was, solve, stay)
        run = None if result.solution is None else _carried_out(rest, old, result)
    notes = [*notes, *rest.notes, *(f"{name} cannot be kept: left out" for name in left_out)]
    answer = (question, rest, result, run, left_out) if result.termination == "optimal" else None
    return _Merging(rest, old, result, notes).merged(told.jobs, run, answer)


def _solved(
    rest: Rest, old: Old, was: set[str], solve: Solve, stay: float
) -> tuple[Rest, Result, list[str]]:
    """Return the result nearest to the plan, on what rest, and the rules that no plan can keep."""
    night, dropped = rest.instance, list[str]()
    own = {label(rule, i) for i, rule in enumerate(rest.night.constraints)}
    while True:
        best = solve(night, start=lambda: _warm(rest, old))
        lost = {*best.conflict} & own
        if best.termination != "infeasible" or not lost or stopped():
            break
        dropped += sorted(map(str, lost))
        rules = tuple(rule for rule in night.constraints if rule.name not in lost)
        night = replace(night, constraints=rules)
    rest = dataclasses.replace(rest, instance=night)
    if best.solution is None or was <= {*best.solution.selected} or stopped():
        return rest, best, dropped
    free = [job for job in night.jobs if job.name not in rest.sure]
    chosen = {*best.solution.selected}
    worth = total(job.reward for job in free if job.name in chosen) * (1 - as_written(stay))
    names = [job.name for job in free if job.name in was]
    least = float(worth)
    while as_written(least) > worth:
        least = nextafter(least, 0.0)
    floor = Worth(name=STAY, rewards={job.name: job.reward for job in free}, at_least=least)
    jobs = tuple(replace(job, reward=float(job.name in names)) for job in night.jobs)
    near = replace(night, jobs=jobs, objectives=())
    kept = solve(near, rules=[floor], start=best.solution, checked=False)  # only counted
    count = 0 if kept.solution is None else len({*names} & {*kept.solution.selected})
    if count <= len({*names} & chosen) or stopped():
        return rest, best, dropped
    rule = AtLeast(name=STAY, jobs=tuple(names), count=count)
    final = solve(night, rules=[rule], start=kept.solution)
    return rest, (best if final.solution is None else final), dropped


def _warm(rest: Rest, old: Old) -> Scheduled | None:
    """Return the old plan's jobs that can still be in time, if they keep all rules."""
    night = rest.instance
    if any(job.stages is None for job in night.jobs):
        return None
    names = {first for first, (name, _) in rest.tasks.items() if name in old.spans} | rest.sure
    while True:
        chosen = selected(night, [j for j, job in enumerate(night.jobs) if job.name in names])
        made = in_old_order(rest, old, chosen)
        ends = made.completion
        late = {n for n in names if n not in ends or not night.worth(night.index[n], ends[n])}
        if not late:
            break
        names -= late | {first for name, first in rest.parts.items() if name in late}
    document = Result(
        instance=night.name,
        problem="dssp",
        policy="old-order",
        sense="maximize",
        termination="completed",
        solution_status="feasible",
        objective=night.objective_of(made),
        solution=made,
    )
    return None if check(night, document.claim()).violations else made


class _Merging:
    """A plan of the whole night: what has begun, and what is planned of the rest."""

    def __init__(self, rest: Rest, old: Old, result: Result, notes: Sequence[str]) -> None:
        self.night, self.at = rest.night, rest.at
        self.rest, self.old, self.result, self.notes = rest, old, result, notes

    def merged(self, told: Mapping[str, Any], run: Result | None, answer: Any) -> Replanned:
        rest, result = self.rest, self.result
        if result.solution is None:
            notes = tuple(self.notes)
            return Replanned(result, rest.instance, rest.night, notes=notes)
        columns = plan(rest.instance, result, run)
        rows = _rows(columns)
        tasks: dict[str, list[Task]] = {}
        for job, begun in zip(self.night.jobs, rest.begun, strict=True):
            tasks[job.name] = list(begun.past)
        for schedule in schedules_of(run):
            for task in schedule.tasks:
                name, places = rest.tasks[task.job]
                if places and rows[name]["run"]:
                    place = places[task.stage][task.task]
                    pool = pool_of(rest.instance, task.processor)
                    tasks[name].append(Task(*place, task.start, task.end, pool))
        for job, begun in zip(self.night.jobs, rest.begun, strict=True):
            self._merge(job, begun, rows)
        order = sorted(
            (row for row in rows.values() if row["rank"] is not None), key=lambda row: row["rank"]
        )
        for rank, row in enumerate(order, start=1):
            row["rank"] = rank
        runs = {name: rows[name] for name in self.night.index if rows[name]["run"]}
        spans = {name: _span(row) for name, row in runs.items()}
        change = changes(self.old.spans, spans)
        why = reasons(rest.instance, result)
        words = {name: self._why(name, what, rows, why, told) for name, what in change.items()}
        new = Old(
            spans,
            {n: row["processors"] or 1 for n, row in runs.items()},
            {n: tasks[n] for n in runs if tasks[n]},
            {
                n: begun
                for n, begun in zip(self.night.index, rest.begun, strict=True)
                if begun.past or begun.lost
            },
            answer,
        )
        return Replanned(
            columns=self._columns(columns, rows, change),
            result=result,
            rest=rest.instance,
            night=rest.night,
            old=new,
            changes=tuple(
                self._told(name, change[name], rows, words[name])
                for name in self.night.index
                if name in change
            ),
            notes=tuple(self.notes),
        )

    def _merge(self, job: Job, begun: Begun, rows: dict[str, PlanRow]) -> None:
        """Merge the rows of a job's parts into one row of the job."""
        row, first = rows[job.name], rows.pop(self.rest.parts.get(job.name, ""), None)
        row["reward"] = job.reward
        if begun.status == "waiting":
            return
        row["rank"] = None  # nobody has to release it
        if not row["run"]:
            return
        row["start"] = begun.start
        row["late"] = row["late"] or 0.0
        widths = [row["processors"] or 0, first["processors"] or 0 if first else 0, begun.widest]
        row["processors"] = max(widths)
        if job.name in self.rest.sure:
            due = self.night.deadline if job.deadline is None else job.deadline
            row |= {"end": begun.end, "late": max(0.0, begun.end - due)}
            row["processors"] = self.old.widths.get(job.name) or begun.widest

    def _columns(self, shown: Plan, rows: Mapping[str, PlanRow], change: Mapping[str, str]) -> Plan:
        jobs = [*self.night.index]
        spans = self.old.spans
        starts, ends = ([rows[name][key] for name in jobs] for key in ("start", "end"))
        columns = [
            Column(c.title, c.kind, [rows[name][c.title] for name in jobs])
            for c in shown
            if c.title not in ("start_time", "end_time")
        ]
        was = [span[0] if (span := spans.get(name)) else None for name in jobs]
        return (
            *columns,
            *clock(self.night, starts, ends),
            Column("was", float, was),
            Column("change", str, [change.get(name, "") for name in jobs]),
            Column(BEGUN, str, [_begun_cell(begun) for begun in self.rest.begun]),
        )

    def _why(
        self, name: str, change: str, rows: Mapping[str, PlanRow], why: Mapping[str, Any], told: Any
    ) -> str:
        row = told.get(name)
        said = f"{row.status}" if row is not None else ""
        if change == "dropped":
            reason = (
                "ends too late"
                if rows[name]["reason"] == LATE
                else (why[name].words if name in why else "")
            )
            return "; ".join(part for part in (said, reason) if part)
        if said == "failed":
            return "failed: begins anew"
        if change == "added":
            return said or "there is room for it now"
        return said if change == "moved" else ""

    def _told(self, name: str, change: str, rows: Mapping[str, PlanRow], why: str) -> Change:
        span, row = self.old.spans.get(name), rows[name]
        now = row["start"] if row["run"] else None
        was = span[0] if span else None
        by_clock = [str(column.cells[0] or "") for column in clock(self.night, [was], [now])]
        return Change(name, change, was, now, why, *by_clock)


def _begun_cell(begun: Begun) -> str:
    """Return what a table says of a job that has begun or failed, for the next replanning."""
    if not (begun.past or begun.lost):
        return ""
    if begun.status == "done" and begun.end <= begun.at:  # all that matters is how much it used
        once = Task(0, 0, begun.start, begun.end)
        lost = begun.used() - begun.width * (once.end - once.start)
        begun = dataclasses.replace(begun, past=[once], lost=lost)
    return to_json(begun).decode()


def _carried_out(rest: Rest, old: Old, result: Result) -> Result | None:
    """Return a result dispatched in the old order where that loses nothing."""
    night, chosen = rest.instance, result.solution
    bare = any(job.stages is None for job in night.jobs)
    if bare or chosen is None or isinstance(chosen, Scheduled):
        return dispatched(night, result)
    made = in_old_order(rest, old, chosen)
    earned = night.objective_of(made)
    paid = [night.worth(night.index[name], end) for name, end in made.completion.items()]
    if len(paid) < len(chosen.selected) or not all(same(worth, 1.0) for worth in paid):
        many = len(night.tasks.lengths) > PLAINLY
        other = dispatched(night, result, among=FEW if many else None)
        if other is not None and (other.objective or 0.0) > earned:
            return other
    done = f"in the old order: {paid.count(1.0):,} of {len(paid):,} jobs in time"
    return as_run(result, "old-order", earned, made, done)


def in_old_order(rest: Rest, old: Old, chosen: Selected) -> Scheduled:
    """Return some jobs dispatched in the order in which they were to start, the others after."""
    from schedopt.policies.dssp.dispatch import play, schedule_of

    night = rest.instance
    index = night.index
    jobs = np.sort(np.array([index[n] for n in chosen.selected], np.int64))
    keys = _keys(rest, old)
    return schedule_of(
        night, jobs, play(night, jobs, keys=keys), chosen.capacity / night.capacity()
    )


def _keys(rest: Rest, old: Old) -> Floats:
    """Return when each task of the rest was to start; of jobs that were not to run, never."""
    found: list[float] = []
    for job in rest.instance.jobs:
        name, places = rest.tasks[job.name]
        count = sum(map(len, job.stages or ()))
        span, tasks = (
            old.spans.get(name),
            {task[:2]: task.start for task in old.tasks.get(name, ())},
        )
        if places and tasks:
            found += [tasks[place] for stage in places for place in stage]
        else:
            found += [inf if span is None else span[0]] * count
    return np.array(found)
