"""Lines and tables of results of dssp: jobs, shares, nights and times."""

from collections import Counter
from collections.abc import Iterable
from math import floor, fsum

import numpy as np
from numpy.typing import NDArray

from schedopt import tables as column
from schedopt.formats import count_of, natural, number
from schedopt.formulations.dssp.rows import selectable
from schedopt.instances.constraints import Constraint, FairShare
from schedopt.instances.dssp import Instance, Scheduled, Selected, SelectedNights
from schedopt.instances.dssp.clock import dates_of
from schedopt.planning import plan_rows
from schedopt.planning.cloud import twins_of
from schedopt.planning.reasons import reasons
from schedopt.problems.summary import CAUTION, Lines, Tables
from schedopt.solvers.result import Result
from schedopt.tables import Table, Value

ROUNDED = 1 + 1e-9
"""A share beyond its cap or floor by less than this factor is a rounding error."""
UNTRIED = f"not simulated, with more than {plan_rows.PLAINLY:,} tasks; the plan table has times"
COLUMNS = (
    column.text("group"),
    column.count("jobs"),
    column.count("selected"),
    *map(column.share, ("share asked for", "share selected", "cap", "floor")),
    column.text(""),
)


def lines(instance: Instance, result: Result[plan_rows.Chosen]) -> Lines:
    """Yield how many jobs run, on how many nights, and how many complete on time."""
    chosen = result.solution
    if isinstance(chosen, SelectedNights):
        used = sum(night.demand for night in chosen.nights) / (len(chosen.nights) * chosen.capacity)
        run, total = len(chosen.selected), len(instance.jobs)
        nights = count_of(len(chosen.nights), "night")
        yield "jobs", f"{run:,} of {total:,} run on {nights}; they fill {used:.1%} of the capacity"
    elif chosen is not None:
        yield from _night_lines(instance, result, chosen)


def done(instance: Instance, result: Result[plan_rows.Chosen]) -> str:
    """Return how many jobs of a dispatched night complete on time, in words."""
    run = result.solution
    return plan_rows.in_time(instance, run) if isinstance(run, Scheduled) else ""


def _night_lines(night: Instance, result: Result[plan_rows.Chosen], solution: Selected) -> Lines:
    total = len(night.jobs)
    able = selectable(night, solution.capacity / night.capacity())
    never = int((~able & _left_out(night, solution)).sum())
    if total and never == total:
        due = number(night.deadline)
        words = f"no job can be on time: are the deadline, {due}, and the run times in one unit?"
        yield CAUTION, words
    verb = "run" if isinstance(solution, Scheduled) else "selected"
    hopeless = f" ({never:,} of the others can never be on time)" if never else ""
    # Rounded down, so that 100% is the whole capacity.
    used = floor(1000 * solution.demand / solution.capacity) / 1000
    share = f"their demand is {used:.1%} of the capacity"
    yield "jobs", f"{len(solution.selected):,} of {total:,} {verb}{hopeless}; {share}"
    if risk := result.risk:
        asked = str(result.options.get("risk"))
        what = "least chance of a job" if asked.startswith("chance") else "reward"
        inside = f"{number(risk['in_sample'])} in the {risk['scenarios']:,.0f} scenarios solved for"
        outside = f"{number(risk['out_of_sample'])} ± {number(risk['confidence'])} (95%)"
        yield "risk", f"{asked}: {what} {inside}; {outside} in new scenarios"
    run = plan_rows.dispatch_result(night, result, plan_rows.PLAINLY)
    if run is None or run.solution is None:
        if all(job.stages is not None for job in night.jobs):
            yield "dispatched", UNTRIED
        return
    if words := caution(night, result, run):
        yield CAUTION, words
    schedule, timely = run.solution, plan_rows.in_time(night, run.solution)
    if run is not result:
        dispatcher = str(run.policy).rpartition("+")[2]
        due = f" (the deadline is {number(night.deadline)})"
        yield "dispatched", f"by {dispatcher}, the best dispatcher: {timely}{due}"
        return
    if night.start is not None:
        timely += f", the last by {dates_of(night.start, night.unit).clock(schedule.makespan)}"
    busy = f"processors busy {schedule.utilization:.1%} of the time until the deadline"
    makespan = f"makespan {schedule.makespan / night.deadline:.2f} of the deadline"
    yield "schedule", f"{timely}, {makespan}, {busy}"


def caution(instance: Instance, result: Result[plan_rows.Chosen], run: plan_rows.Run) -> str:
    """Return how many selected jobs would be late, in words; empty if none."""
    lost = [] if run.solution is None else plan_rows.unpaid_jobs(instance, run.solution)
    if run is result or not lost:
        return ""
    late = count_of(len(lost), "selected job")
    return f"{late} would end late and earn nothing{plan_rows.HOPE}"


def dropped(
    night: Instance,
    result: Result,
    *,
    most: int = 1_000,  # jobs with a reason
) -> Table | None:
    """Return the table of jobs that are left out and why, in order of decreasing reward."""
    if not isinstance(result.solution, Selected | SelectedNights):
        return None
    out = int(_left_out(night, result.solution).sum()) - len(twins_of(night))
    if not out:
        return None
    left_out = reasons(night, result, most)
    words = {"never": "never on time"}
    kinds = Counter(
        f"by rule '{one.rule}'" if one.rule else words.get(one.kind, one.kind)
        for one in left_out.values()
    )
    counts = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
    jobs = sorted((night.jobs[night.index[name]] for name in left_out), key=lambda job: -job.reward)
    some = f"of the first {len(left_out):,}: " if len(left_out) < out else ""
    return Table.of(
        f"left out: {count_of(out, 'job')} ({some}{counts})",
        (
            column.text("job"),
            column.number("reward"),
            *map(column.text, (*night.groups, "reason", "why")),
        ),
        (
            (
                *(job.name, job.reward, *(job.groups.get(by) for by in night.groups)),
                *(str(left_out[job.name]), left_out[job.name].words),
            )
            for job in jobs
        ),
    )


def _left_out(night: Instance, left_out: Selected | SelectedNights) -> NDArray[np.bool_]:
    """Return which jobs are left out, shape (J,)."""
    mask = np.ones(len(night.jobs), dtype=np.bool_)
    mask[night.positions(left_out)] = False
    return mask


def tables(instance: Instance, result: Result[plan_rows.Chosen]) -> Tables:
    """Yield a table for each grouping with demand and share of each group on each night."""
    chosen = result.solution
    if isinstance(chosen, SelectedNights):
        yield from _by_night(instance, chosen)
    elif chosen is not None:
        yield from _by_group(instance, result, chosen)


def _by_night(season: Instance, solution: SelectedNights, most: int = 8) -> Tables:
    """Yield a row for each night, and a row of totals."""
    nights, room = solution.nights, solution.capacity
    for by in season.groups or {"": {}}:
        groups = largest_groups(solution, by, most) if by else []
        of = [[night.shares[by][group] for night in nights] for group in groups]
        rows: list[tuple[Value, ...]] = [
            (n, len(night.selected), night.demand / room, *(share[n - 1] for share in of))
            for n, night in enumerate(nights, start=1)
        ]
        filled = sum(night.demand for night in nights) / (len(nights) * room)
        means = (sum(share) / len(nights) for share in of)
        rows.append(("all", len(solution.selected), filled, *means))
        more = by and len(season.groups[by]) > most
        heads = column.count("night"), column.count("jobs"), *map(column.share, ("filled", *groups))
        title = f"{by or 'nights'}{f' (the {most} largest)' if more else ''}"
        yield Table.of(title, heads, rows)


def largest_groups(solution: SelectedNights, by: str, most: int = 8) -> list[str]:
    """Return the groups with the largest shares over all nights, in alphabetical order."""
    total: Counter[str] = Counter()
    for night in solution.nights:
        total.update(night.shares.get(by, {}))
    return sorted(sorted(total, key=lambda group: -total[group])[:most])


def shares(result: Result[plan_rows.Chosen]) -> dict[str, dict[str, float]]:
    """Return the share of each group in the capacity of all nights."""
    nights = () if result.solution is None else result.solution.nights
    return {
        by: {group: fsum(night.shares[by][group] for night in nights) / len(nights) for group in of}
        for by, of in (nights[0].shares if nights else {}).items()
    }


def _by_group(
    night: Instance,
    result: Result[plan_rows.Chosen],
    solution: Selected,
    *,
    most: int = 40,  # groups of the table: those with the largest shares
) -> Tables:
    out = _left_out(night, solution)
    rules = [*night.constraints, *result.constraints]
    for by, shares in solution.shares.items():
        caps, floors = share_bounds(rules, by, list(shares))
        largest = sorted(shares, key=shares.__getitem__, reverse=True)[:most]
        rows = []
        for group in sorted(largest, key=natural):
            jobs = night.groups[by][group]
            demand = float(night.demands[jobs].sum()) / solution.capacity
            bounds = shares[group], caps.get(group), floors.get(group)
            chosen = len(jobs) - int(out[jobs].sum())
            words = _bound_reached(*bounds, demand)
            rows.append((group, len(jobs), chosen, demand, *bounds, words))
        remaining = len(shares) - len(largest)
        more = f" (the {most} largest; {count_of(remaining, 'group')} more)" if remaining else ""
        yield Table.of(by + more, COLUMNS, rows)


def _bound_reached(
    share: float,
    cap: float | None,
    floor: float | None,
    asked: float,
    *,
    near: float = 0.005,  # the difference up to which a share is at its cap or floor
) -> str:
    """Return whether a share is at its cap or floor, or violates it, in words."""
    words = []
    if cap is not None and share > cap - near:
        words.append("above its cap" if share > cap * ROUNDED else "at its cap")
    if floor is not None and share * ROUNDED < floor and share * ROUNDED >= asked:
        words.append("all it asks for")
    elif floor is not None and share < floor + near:
        words.append("below its floor" if share * ROUNDED < floor else "at its floor")
    return " and ".join(words)


def share_bounds(
    rules: Iterable[Constraint], by: str, groups: Iterable[str]
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the tightest caps and floors of each group by rules without memory."""
    caps: dict[str, float] = {}
    floors: dict[str, float] = {}
    for rule in rules:
        if not isinstance(rule, FairShare) or (rule.by, rule.of) != (by, "capacity"):
            continue
        if not rule.remembers:  # else a bound depends on what was used before
            for group, share in rule.caps(groups).items():
                caps[group] = min(share, caps.get(group, 1.0))
            for group, share in rule.floors(groups).items():
                floors[group] = max(share, floors.get(group, 0.0))
    return caps, floors
