"""The terminal's lines and tables on a result of dssp: jobs, shares, nights and times."""

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from math import ceil, floor, fsum

import numpy as np
from numpy.typing import NDArray

from schedopt import tables as column
from schedopt.formats import counted, natural, number
from schedopt.formulations.dssp.nights import nights_of
from schedopt.formulations.dssp.rows import selectable
from schedopt.instances.constraints import Constraint, FairShare
from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Instance, Scheduled, ScheduledNights, Selected, SelectedNights
from schedopt.instances.dssp.clock import dates_of
from schedopt.instances.fair_share import weight
from schedopt.problems.dssp.planning import (
    HOPE,
    PLAINLY,
    Chosen,
    dispatched,
    has_several_nights,
    in_time,
    lateness,
    schedules_of,
    unpaid_jobs,
)
from schedopt.problems.dssp.reasons import reasons
from schedopt.problems.summary import CAUTION, Lines, Tables
from schedopt.solvers.result import Result
from schedopt.tables import Table, Value

MOST = 40  # groups of a table; of more, those with the largest shares are shown

MOST_BY_NIGHT = 8
"""Groups with columns of their own; of more, those with the largest shares are shown."""

NEAR = 0.005  # a share this close to its cap or its floor is said to be at it

ROUNDED = 1 + 1e-9
"""A share that is beyond its cap or its floor by less than this factor is rounded."""

REASONED, MANY = 1_000, 20_000
"""Jobs left out whose reasons are worked out, and jobs of an instance up to which any are."""

UNTRIED = f"not tried with more than {PLAINLY:,} tasks; --output plan.csv says how many are in time"

NAMED = 3  # late jobs that are named in a line

COLUMNS = (
    column.text("group"),
    column.count("jobs"),
    column.count("selected"),
    *map(column.share, ("share asked for", "share selected", "cap", "floor")),
    column.text(""),
)


def lines(instance: Instance, result: Result[Chosen]) -> Lines:
    """Yield how many jobs are run, on how many nights, and how many complete in time."""
    chosen = result.solution
    if isinstance(chosen, SelectedNights):
        used = sum(night.demand for night in chosen.nights) / fsum(chosen.capacities)
        run, total = len(chosen.selected), len(instance.jobs)
        nights = counted(len(chosen.nights), "night")
        yield "jobs", f"{run:,} of {total:,} run on {nights}; they fill {used:.1%} of the capacity"
    elif chosen is not None:
        yield from _night_lines(instance, result, chosen)
    else:
        yield from _exceeded_caps(instance, result)


def done(instance: Instance, result: Result[Chosen]) -> str:
    """Say how many of the jobs of a night that was run are in time."""
    run = result.solution
    return in_time(instance, run) if isinstance(run, Scheduled) else ""


def _at_risk(result: Result[Chosen]) -> Lines:
    """Yield what a choice under risk is worth, where it was decided and elsewhere."""
    if not result.risk:
        return
    asked, told = str(result.options.get("risk")), result.risk
    what = "least chance of a job" if asked.startswith("chance") else "reward"
    inside, outside, half = (
        number(told[key]) for key in ("in_sample", "out_of_sample", "confidence")
    )
    where = f"in the {told['scenarios']:,.0f} scenarios that decided"
    yield "risk", f"{asked}: {what} {inside} {where}; in others {outside} ± {half} (95%)"


def _night_lines(night: Instance, result: Result[Chosen], found: Selected) -> Lines:
    total = len(night.jobs)
    never = int(
        (~selectable(night, found.capacity / night.capacity()) & _left_out(night, found)).sum()
    )
    verb = "run" if isinstance(found, Scheduled) else "selected"
    hopeless = f" ({never:,} of the others can never be in time)" if never else ""
    # Rounded down: what is called 100% is all of it.
    used = floor(1000 * found.demand / found.capacity) / 1000
    share = f"their demand is {used:.1%} of the capacity"
    if total and never == total:
        due = number(night.deadline)
        yield CAUTION, f"no job can be in time: are the deadline, {due}, and the jobs in one unit?"
    yield "jobs", f"{len(found.selected):,} of {total:,} {verb}{hopeless}; {share}"
    yield from _at_risk(result)
    run = dispatched(night, result, PLAINLY)
    if run is None or run.solution is None:
        if isinstance(found, Selected) and all(job.stages is not None for job in night.jobs):
            yield "dispatched", UNTRIED
        return
    schedule = run.solution
    late = {name: by for name, by in lateness(night, schedule).items() if by}
    if told := caution(night, result, run):
        yield CAUTION, told
    told = in_time(night, schedule)
    if late and run is not result:
        worst = sorted(late, key=late.__getitem__, reverse=True)
        named = [f"{name} by {number(late[name])}" for name in worst[:NAMED]]
        told += f"; late: {', '.join([*named, '...'] if late.keys() - worst[:NAMED] else named)}"
        told += f" (the deadline is {number(night.deadline)})"
    if run is not result:
        dispatcher = str(run.policy).rpartition("+")[2]
        yield "dispatched", f"by {dispatcher}, the best of all dispatchers: {told}"
        return
    if night.start is not None:
        told += f", the last by {dates_of(night.start, night.unit).told(schedule.makespan)}"
    yield (
        "schedule",
        f"{told}, "
        f"makespan {schedule.makespan / night.deadline:.2f} deadlines, "
        f"processors busy {schedule.utilization:.1%} of the time until the deadline",
    )


def caution(
    instance: Instance, result: Result[Chosen], run: Result[Scheduled | ScheduledNights]
) -> str:
    """Say how many chosen jobs cannot be run in time; empty if all can."""
    lost = [name for schedule in schedules_of(run) for name in unpaid_jobs(instance, schedule)]
    if run is result or not lost:
        return ""
    ends, earn = ("ends", "earns") if len(lost) == 1 else ("end", "earn")
    hope = "" if has_several_nights(result) else HOPE
    return f"{counted(len(lost), 'chosen job')} {ends} late and {earn} nothing{hope}"


def _exceeded_caps(night: Instance, result: Result) -> Lines:
    """Yield the groups whose earlier use alone exceeds a cap."""
    rules = [*night.constraints, *result.constraints]
    capacity = as_written(float(result.options.get("fill", 1.0))) * night.exact_capacity(1.0)
    for rule in rules if result.termination == "infeasible" else ():
        if not isinstance(rule, FairShare) or rule.of != "capacity" or rule.window == 1:
            continue
        counts = weight(1, rule.half_life)
        used = {group: as_written(amount) for group, amount in rule.past.items()}
        told = rule.past_total
        total = sum(used.values(), Fraction(0)) if told is None else as_written(told)
        for group, share in rule.caps(night.groups.get(rule.by, {})).items():
            everything = counts * total + capacity
            part = counts * used.get(group, Fraction(0)) / everything
            if part > as_written(share):
                yield (
                    f"{rule.by} {group}",
                    f"used {float(part):.1%} of the first night and what is remembered before it, "
                    f"and its cap is {share:.1%}: no choice keeps it. A cap of its own, at_most "
                    f"{ceil(1000 * part) / 1000:g}, is the least that can be kept tonight",
                )


def dropped(night: Instance, result: Result) -> Table | None:
    """Return a table of the jobs that are left out and why, the most rewarding first."""
    if not isinstance(result.solution, Selected | SelectedNights):
        return None
    left = np.flatnonzero(_left_out(night, result.solution))
    out = left[np.argsort(-night.rewards[left], kind="stable")]
    if not out.size:
        return None
    many = len(night.jobs) > MANY  # of so many even the first would keep one waiting
    found = {} if many else reasons(night, result, REASONED)
    few = out[:REASONED] if many else out
    kinds = Counter(f"by rule '{one.rule}'" if one.rule else one.kind for one in found.values())
    told = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
    told = f"of the first {len(found):,}: {told}" if found and len(found) < out.size else told
    shown = [night.jobs[j] for j in few.tolist()]
    jobs = [job for job in shown if job.name in found] or shown[:REASONED]
    return Table.of(
        f"left out: {counted(out.size, 'job')}" + f" ({told})" * bool(told),
        (
            column.text("job"),
            column.number("reward"),
            *map(column.text, (*night.groups, "reason", "why")),
        ),
        (
            (
                job.name,
                job.reward,
                *(job.groups.get(by) for by in night.groups),
                str(found.get(job.name, "")),
                found[job.name].words if found else "a plan says why",
            )
            for job in jobs
        ),
    )


def _left_out(night: Instance, found: Selected | SelectedNights) -> NDArray[np.bool_]:
    """Tell which jobs are left out, shape (J,)."""
    left = np.ones(len(night.jobs), dtype=np.bool_)
    left[night.positions(found)] = False
    return left


def tables(instance: Instance, result: Result[Chosen]) -> Tables:
    """Yield a table for each grouping: what each group asked for, and got, on each night."""
    chosen = result.solution
    if isinstance(chosen, SelectedNights):
        yield from _by_night(instance, chosen)
    elif chosen is not None:
        yield from _by_group(instance, result, chosen)


def _by_night(season: Instance, found: SelectedNights) -> Tables:
    """Yield a row for each night, and a last one for all of them."""
    nights, rooms = found.nights, found.capacities
    for by in season.groups or {"": {}}:
        groups = largest_groups(found, by) if by else []
        of = [[night.shares[by][group] for night in nights] for group in groups]
        rows: list[tuple[Value, ...]] = [
            (n, len(night.selected), night.demand / room, *(share[n - 1] for share in of))
            for n, (night, room) in enumerate(zip(nights, rooms, strict=True), start=1)
        ]
        filled = sum(night.demand for night in nights) / fsum(rooms)
        means = (sum(share) / len(nights) for share in of)
        rows.append(("all", len(found.selected), filled, *means))
        more = by and len(season.groups[by]) > MOST_BY_NIGHT
        yield Table.of(
            f"{by or 'nights'}{f' (the {MOST_BY_NIGHT} largest)' if more else ''}",
            (
                column.count("night"),
                column.count("jobs"),
                *map(column.share, ("filled", *groups)),
            ),
            rows,
        )


def largest_groups(found: SelectedNights, by: str) -> list[str]:
    """Return the groups of a grouping that get most over all nights, in alphabetical order."""
    total: dict[str, float] = {}
    for night in found.nights:
        for group, share in night.shares.get(by, {}).items():
            total[group] = total.get(group, 0.0) + share
    return sorted(sorted(total, key=lambda group: -total[group])[:MOST_BY_NIGHT])


def shares(result: Result[Chosen]) -> dict[str, dict[str, float]]:
    """Return the shares of all groups in the capacity of all nights."""
    nights = () if result.solution is None else nights_of(result.solution)
    return {
        by: {group: fsum(night.shares[by][group] for night in nights) / len(nights) for group in of}
        for by, of in (nights[0].shares if nights else {}).items()
    }


def _by_group(night: Instance, result: Result[Chosen], found: Selected) -> Tables:
    out = _left_out(night, found)
    rules = [*night.constraints, *result.constraints]
    for by, shares in found.shares.items():
        caps, floors = _bounds(rules, by, list(shares), found.capacity)
        largest = sorted(shares, key=shares.__getitem__, reverse=True)[:MOST]
        names = sorted(largest, key=natural)
        rows = []
        for group in names:
            jobs = night.groups[by][group]
            demand = float(night.demands[jobs].sum()) / found.capacity
            share, cap, floor = shares[group], caps.get(group), floors.get(group)
            rows.append(
                (
                    group,
                    len(jobs),
                    len(jobs) - int(out[jobs].sum()),
                    demand,
                    share,
                    cap,
                    floor,
                    _bound_reached(share, cap, floor, demand),
                )
            )
        left = len(shares) - len(names)
        more = f" (the {MOST} largest; {counted(left, 'group')} more)" if left else ""
        yield Table.of(by + more, COLUMNS, rows)


def _bound_reached(share: float, cap: float | None, floor: float | None, asked: float) -> str:
    """Say whether a share is held by its cap or its floor, or breaks it."""
    words = []
    if cap is not None and share > cap - NEAR:
        words.append("above its cap" if share > cap * ROUNDED else "at its cap")
    if floor is not None and share * ROUNDED < floor and share * ROUNDED >= asked:
        words.append("all that it asks for")
    elif floor is not None and share < floor + NEAR:
        words.append("below its floor" if share * ROUNDED < floor else "at its floor")
    return " and ".join(words)


def _bounds(
    rules: Iterable[Constraint], by: str, groups: Iterable[str], capacity: float
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the tightest caps and floors on each group, as shares of tonight's capacity."""
    caps: dict[str, float] = {}
    floors: dict[str, float] = {}
    for rule in rules:
        if isinstance(rule, FairShare) and rule.by == by and rule.of == "capacity":
            for group, share in rule.caps(groups).items():
                caps[group] = min(
                    _bound_tonight(rule, group, share, capacity), caps.get(group, 1.0)
                )
            for group, share in rule.floors(groups).items():
                floors[group] = max(
                    _bound_tonight(rule, group, share, capacity), floors.get(group, 0.0)
                )
    return caps, floors


def _bound_tonight(rule: FairShare, group: str, share: float, capacity: float) -> float:
    """Return a bound as a share of tonight's capacity, given what was used before."""
    if rule.window == 1:
        return share
    total = sum(rule.past.values()) if rule.past_total is None else rule.past_total
    counts = float(weight(1, rule.half_life))
    return share + counts * (share * total - rule.past.get(group, 0.0)) / capacity
