"""The checker for seasons: each night's selection, each job once, and side constraints over nights.

What a fair share is taken over is worked out here anew; nothing is shared with the formulation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction

import msgspec

from schedopt.instances.constraints import Constraint, FairShare, Resource, Seats, label
from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Instance, ScheduledNights, Selected, SelectedNights, one_night
from schedopt.solvers.result import Document
from schedopt.validation.dssp import schedule, selection
from schedopt.validation.dssp.chosen import facts_of
from schedopt.validation.dssp.constraints import UnknownKindError, broken
from schedopt.validation.dssp.facts import Facts
from schedopt.validation.report import Report, same

Nights = dict[str, tuple[int, int]]
"""The first and the last night of each job."""
Period = tuple[str, dict[int, Fraction], Fraction]
"""Until when a share is taken, what each night counts for, and what the past does."""


def check(
    season: Instance,
    solution: SelectedNights,
    claim: Document,
    constraints: Sequence[Constraint],
    report: Report,
) -> None:
    """Check a selection for each night, and add what is wrong to the report.

    Parameters
    ----------
    season : Instance
        The raw instance.
    solution : SelectedNights
    claim : Document
        The document: its objective, and its option ``fill``, which is r.
    constraints : sequence of Constraint
        All side constraints.
    report : Report
        Takes what is found.

    Raises
    ------
    InputError
        If ``fill`` is not a number above 0.
    """
    one, nights = alone(season), nights_of(season)
    facts = facts_of(one, claim)
    given = len(solution.nights)
    report.expect(given == season.nights, f"nights: {given}, and there are {season.nights}")
    worth = Fraction(0)
    for n, night in enumerate(solution.nights, start=1):
        chosen = Selected(
            selected=night.selected,
            demand=night.demand,
            capacity=solution.capacity,
            shares=night.shares,
        )
        known = [name for name in night.selected if name in facts.demand]
        reward = sum((as_written(one.jobs[one.index[name]].reward) for name in known), Fraction(0))
        worth += reward
        own = Report()
        selection.check(
            one, chosen, msgspec.structs.replace(claim, objective=float(reward)), (), own
        )
        report.violations += [f"night {n}: {what}" for what in own.violations]
    _once(nights, solution, report)
    stated = claim.objective if claim.objective is not None else float("nan")
    least, most = float(worth), float(worth)
    if isinstance(solution, ScheduledNights):
        least, most = _run(season, solution, claim, constraints, report)
    near = least <= stated <= most or same(least, stated) or same(most, stated)
    report.expect(near, f"objective: {most:.12g}, not {stated}")
    for position, constraint in enumerate(constraints):
        name = label(constraint, position)
        try:
            found = list(_broken(constraint, facts, nights, solution))
        except UnknownKindError as error:
            report.unjudged.append(f"{name}: {error}")
        else:
            report.violations.extend(f"{name}: {what}" for what in found)


def alone(season: Instance) -> Instance:
    """Return the jobs of a season as those of one night without side constraints."""
    jobs = (msgspec.structs.replace(job, first_night=1, last_night=None) for job in season.jobs)
    return msgspec.structs.replace(season, nights=1, constraints=(), jobs=tuple(jobs))


def nights_of(season: Instance) -> Nights:
    """Return the first and the last night of each job."""
    return {
        job.name: (job.first_night, season.nights if job.last_night is None else job.last_night)
        for job in season.jobs
    }


def _run(
    season: Instance,
    solution: ScheduledNights,
    claim: Document,
    constraints: Sequence[Constraint],
    report: Report,
) -> tuple[float, float]:
    """Check each night's schedule; return what they earn, from least to most as times round."""
    least, most = 0.0, 0.0
    given, asked = len(solution.schedules), len(solution.nights)
    report.expect(given == asked, f"schedules: {given} of {asked} nights")
    for n, (night, ran) in enumerate(
        zip(solution.nights, solution.schedules, strict=False), start=1
    ):
        known = [name for name in night.selected if name in season.index]
        own = Report()
        own.expect(
            set(known) == set(ran.selected), "the schedule is of other jobs than are selected"
        )
        if known:
            tonight = one_night(season, known, constraints)
            ends, slack = schedule.run(tonight, ran, claim, tonight.constraints, own)
            low, high = schedule.earned(tonight, ends, slack)
            least, most = least + low, most + high
        else:
            own.expect(not ran.tasks and not ran.completion, "there is nothing to run")
        report.violations += [f"night {n}: {what}" for what in own.violations]
        report.unchecked += [f"night {n}: {what}" for what in own.unchecked]
        report.unjudged += [f"night {n}: {what}" for what in own.unjudged]
    return least, most


def _once(nights: Nights, solution: SelectedNights, report: Report) -> None:
    """Check that each job is run once at most, on one of its nights."""
    times = Counter(solution.selected)
    twice = [name for name, count in times.items() if count > 1]
    report.expect(not twice, f"run on two nights: {', '.join(twice)}")
    for n, night in enumerate(solution.nights, start=1):
        for name in night.selected:
            first, last = nights.get(name, (n, n))
            report.expect(first <= n <= last, f"night {n}: {name} is for nights {first} to {last}")


def _broken(
    rule: Constraint, facts: Facts, nights: Nights, solution: SelectedNights
) -> Iterator[str]:
    """Say how a season breaks a side constraint."""
    if isinstance(rule, FairShare):
        yield from _unfair(rule, facts, nights, solution)
    elif isinstance(rule, Resource | Seats):
        for n, night in enumerate(solution.nights, start=1):
            for what in broken(rule, facts, frozenset(night.selected)):
                yield f"night {n}: {what}"
    elif hasattr(rule, "broken"):
        raise UnknownKindError(f"no checker knows {rule.kind()} over nights")
    else:
        yield from broken(rule, facts, frozenset(solution.selected))


def _unfair(
    rule: FairShare, facts: Facts, nights: Nights, solution: SelectedNights
) -> Iterator[str]:
    """Say where a season breaks a fair share."""
    run = frozenset(solution.selected)
    bounds = bounded(rule, facts)
    for ends, counted, before in over(rule, len(solution.nights)):
        base = past_total(rule) * before
        for n, counts in counted.items():
            all_of_it = facts.capacity
            if rule.of == "selected":
                all_of_it = facts.total(solution.nights[n - 1].selected)
            base += counts * all_of_it
        for group, (most, least) in sorted(bounds.items()):
            members = set(facts.members(rule.by, group))
            mine = as_written(rule.past.get(group, 0.0)) * before
            for n, counts in counted.items():
                mine += counts * facts.total(members.intersection(solution.nights[n - 1].selected))
            part = f"{float(mine / base) if base else 0.0:.6g} of what counts {ends}"
            if most is not None and mine > as_written(most) * base:
                yield f"{group} gets {part}, at most {most:.6g} asked"
            if least is not None and mine < as_written(least) * base:
                waiting = any(
                    facts.fits(name)
                    and facts.demand[name] > 0
                    and any(nights[name][0] <= n <= nights[name][1] for n in counted)
                    for name in members - run
                )
                if waiting:
                    yield f"{group} gets {part}, at least {least:.6g} asked"


def bounded(rule: FairShare, facts: Facts) -> dict[str, tuple[float | None, float | None]]:
    """Return the cap and the floor of each group that has one."""
    bounds: dict[str, tuple[float | None, float | None]] = {
        group: (rule.at_most.get(group), rule.at_least.get(group))
        for group in {**rule.at_most, **rule.at_least}
    }
    if rule.each is not None:
        for job in facts.night.jobs:
            group = job.groups.get(rule.by)
            if group is not None and group not in rule.at_most | rule.at_least:
                bounds[group] = (rule.each.at_most, rule.each.at_least)
    return bounds


def over(rule: FairShare, nights: int) -> Iterator[Period]:
    """Yield what a fair share is of: until when, what each night counts for, and the past."""
    has_past = rule.past_total is not None or len(rule.past) > 0
    for last in range(1, nights + 1):
        if rule.half_life is not None:
            ages = {n: last - n for n in range(1, last + 1)}
            counts = {n: _faded(age, rule.half_life) for n, age in ages.items()}
            yield f"on night {last}", counts, _faded(last, rule.half_life)
        elif rule.window is None:
            yield f"on night {last}", {last: Fraction(1)}, Fraction(last == 1)
        elif last >= rule.window:
            first = last - rule.window + 1
            yield (
                f"on nights {first} to {last}",
                dict.fromkeys(range(first, last + 1), Fraction(1)),
                Fraction(0),
            )
        elif has_past or last == nights:
            yield (
                f"until night {last}",
                dict.fromkeys(range(1, last + 1), Fraction(1)),
                Fraction(has_past),
            )


def _faded(age: int, half_life: float) -> Fraction:
    """Return 2^(-age/half_life) to the nearest multiple of 2^-40."""
    return Fraction(round(2.0 ** (40.0 - age / half_life)), 2**40)


def past_total(rule: FairShare) -> Fraction:
    """Return what there was to use before the first night."""
    if rule.past_total is not None:
        return as_written(rule.past_total)
    return sum((as_written(used) for used in rule.past.values()), Fraction(0))
