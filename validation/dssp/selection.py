"""The checker of selections and seasons: capacity, deadlines, reward, rules.

Everything is recomputed from the instance's raw fields; nothing is shared with what chose the jobs,
and what a fair share is taken over is worked out anew.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from operator import attrgetter

import msgspec
import numpy as np

from schedopt.instances.constraints import Constraint, FairShare, Resource, Seats, label
from schedopt.instances.dssp import Instance, ScheduledNights, Selected, SelectedNights, one_night
from schedopt.solvers.result import Document
from schedopt.validation.dssp import risk, schedule
from schedopt.validation.dssp.chosen import check_chosen, check_fit, check_objectives
from schedopt.validation.dssp.constraints import (
    UnknownKindError,
    fair_share_violations,
    seat_violations,
    violations,
)
from schedopt.validation.dssp.facts import Chosen, Facts, Nights, facts_of, nights_of
from schedopt.validation.report import Report, same

ROUNDING = 1e-14  # relative error allowed to the objective: rounding in a sum of rewards


def check(
    instance: Instance,
    solution: Selected | SelectedNights,
    claim: Document,
    constraints: Sequence[Constraint],
    report: Report,
) -> None:
    """Check a selection, or one for each night; `InputError` if its ``fill`` is no number > 0."""
    if isinstance(solution, SelectedNights):
        _check_season(instance, solution, claim, constraints, report)
    else:
        facts = facts_of(instance, claim)
        uncertain = claim.options.get("risk") is not None and bool(claim.formulation)
        chosen = _check_night(
            solution, facts, claim.objective, constraints, report, paid=not uncertain
        )
        if uncertain:
            risk.check(facts, chosen, claim, report)
        else:
            report.expect(not claim.risk, "risk: said of a question that asks for none")
        _report_unproven(instance, claim, report)


def _check_night(
    solution: Selected,
    facts: Facts,
    objective: float | None,
    constraints: Sequence[Constraint],
    report: Report,
    *,
    paid: bool = True,
) -> Chosen:
    """Check and return the choice; unless `paid`, the objective is no sum of rewards."""
    chosen = check_chosen(solution, facts, constraints, report)
    check_fit(facts, chosen, report)
    for position, constraint in enumerate(constraints):
        if isinstance(constraint, Seats):
            name = label(constraint, position)
            report.violations.extend(
                f"{name}: {w}" for w in seat_violations(constraint, facts, chosen)
            )
    reward = float(facts.total_reward(chosen)) if paid else 0.0
    report.expect(
        not paid or (objective is not None and abs(objective - reward) <= ROUNDING * reward),
        f"objective: the selected jobs earn {reward:.17g}, not {objective}",
    )
    check_objectives(solution, facts, chosen, report)
    return chosen


def _report_unproven(instance: Instance, claim: Document, report: Report) -> None:
    """Report objectives that are believed although a certificate re-proves the first."""
    if claim.certificate and claim.solution_status == "optimal":
        for name in instance.objectives[1:]:
            report.unchecked.append(f"objective {name}: its bound is believed, from {claim.solver}")


def _check_season(
    season: Instance,
    solution: SelectedNights,
    claim: Document,
    constraints: Sequence[Constraint],
    report: Report,
) -> None:
    facts = facts_of(_one_night_facts(season) if season.down else season, claim, nights=True)
    own_night = {down.night for down in season.down}
    every = [
        facts_of(_one_night_facts(season, n), claim) if n in own_night else facts
        for n in range(1, season.nights + 1)
    ]
    count = len(solution.nights)
    if count != season.nights:  # of rules over other nights nothing can be said
        report.violations.append(f"nights: {count}, and there are {season.nights}")
        return
    worth = Fraction(0)
    report.expect(
        same(float(facts.capacity), solution.capacity),
        f"capacity: {float(facts.capacity):.12g}, not {solution.capacity:.12g}",
    )
    for n, (night, room, tonight) in enumerate(
        zip(solution.nights, solution.capacities, every, strict=False), start=1
    ):
        chosen = Selected(
            selected=night.selected, demand=night.demand, capacity=room, shares=night.shares
        )
        own = Report()
        worth += facts.total_reward(_check_night(chosen, tonight, None, (), own, paid=False))
        report.violations += [f"night {n}: {what}" for what in own.violations]
    _check_runs_once(season, facts, solution, report)
    stated = claim.objective if claim.objective is not None else float("nan")
    least, most = float(worth), float(worth)
    if isinstance(solution, ScheduledNights):
        least, most = _check_schedules(season, solution, claim, constraints, report)
    near = least <= stated <= most or same(least, stated) or same(most, stated)
    report.expect(near, f"objective: {most:.12g}, not {stated}")
    nights = nights_of(season) if constraints else {}
    for position, constraint in enumerate(constraints):
        name = label(constraint, position)
        try:
            wrong = list(_season_violations(constraint, every, nights, solution))
        except UnknownKindError as error:
            report.unjudged.append(f"{name}: {error}")
        else:
            report.violations.extend(f"{name}: {what}" for what in wrong)


def _check_schedules(
    season: Instance,
    solution: ScheduledNights,
    claim: Document,
    constraints: Sequence[Constraint],
    report: Report,
) -> tuple[float, float]:
    """Check each night's schedule; return their reward, least and most under rounding."""
    least, most = 0.0, 0.0
    count, asked = len(solution.schedules), len(solution.nights)
    report.expect(count == asked, f"schedules: {count} of {asked} nights")
    for n, (night, ran) in enumerate(
        zip(solution.nights, solution.schedules, strict=False), start=1
    ):
        names = [name for name in night.selected if name in season.index]
        own = Report()
        own.expect(
            set(names) == set(ran.selected), "the schedule is of other jobs than are selected"
        )
        if names:
            tonight = one_night(season, names, constraints, n)
            ends, slack = schedule.check_tasks(
                facts_of(tonight, claim), ran, tonight.constraints, own
            )
            low, high = schedule.earned_interval(tonight, ends, slack)
            least, most = least + low, most + high
        else:
            own.expect(not ran.tasks and not ran.completion, "there is nothing to run")
        report.violations += [f"night {n}: {what}" for what in own.violations]
        report.unchecked += [f"night {n}: {what}" for what in own.unchecked]
        report.unjudged += [f"night {n}: {what}" for what in own.unjudged]
    return least, most


def _check_runs_once(
    season: Instance, facts: Facts, solution: SelectedNights, report: Report
) -> None:
    """Check that each job runs at most once, on one of its nights."""
    selected = solution.selected
    if len(set(selected)) < len(selected):
        twice = [name for name, count in Counter(selected).items() if count > 1]
        report.violations.append(f"run on two nights: {', '.join(twice)}")
    first = np.array(list(map(attrgetter("first_night"), season.jobs)))
    last = np.array([job.last_night or season.nights for job in season.jobs])
    for n, night in enumerate(solution.nights, start=1):
        places = facts.places(filter(season.index.__contains__, night.selected))
        for j in places[(first[places] > n) | (last[places] < n)].tolist():
            what = f"{season.jobs[j].name} is for nights {first[j]} to {last[j]}"
            report.violations.append(f"night {n}: {what}")


def _season_violations(
    rule: Constraint, every: Sequence[Facts], nights: Nights, solution: SelectedNights
) -> Iterator[str]:
    """Say how a season violates a side constraint; ``every`` has the facts of each night."""
    facts = every[0]
    index = facts.night.index
    run = frozenset(solution.selected).intersection(index)
    chosen = [frozenset(night.selected).intersection(index) for night in solution.nights]

    def wanting(members: Iterable[str], counted: Iterable[int]) -> bool:
        return any(
            facts.demand[name] > 0
            and any(n in nights[name] and every[n - 1].floor_counts(name) for n in counted)
            for name in members
            if name not in run
        )

    if isinstance(rule, FairShare):
        rooms = [tonight.capacity for tonight in every]
        for gets, when, asked in fair_share_violations(rule, facts, chosen, wanting, rooms):
            yield f"{gets} of what counts {when}, {asked}"
    elif isinstance(rule, Resource | Seats):
        for n, night in enumerate(chosen, start=1):
            for what in violations(rule, facts, night):
                yield f"night {n}: {what}"
    elif hasattr(rule, "broken"):
        raise UnknownKindError(f"no checker knows {rule.kind()} over nights")
    else:
        yield from violations(rule, facts, run)


def _one_night_facts(season: Instance, n: int = 0) -> Instance:
    """Return a season's jobs as those of one night without rules, or of no particular night."""
    replace = msgspec.structs.replace
    jobs = tuple(replace(job, first_night=1, last_night=None) for job in season.jobs)
    down = tuple(replace(one, night=None) for one in season.down if one.night in (None, n))
    return replace(season, nights=1, constraints=(), jobs=jobs, down=down)
