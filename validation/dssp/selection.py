"""Checker of selections and seasons: capacity, deadlines, reward and side constraints.

Everything is recomputed from the raw fields of the instance, and no code is shared with the
solvers.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction

from schedopt.instances.constraints import Constraint, Seats, label
from schedopt.instances.dssp import Instance, Selected, SelectedNights
from schedopt.solvers.result import Document
from schedopt.validation.dssp import risk
from schedopt.validation.dssp.chosen import (
    JudgedChoice,
    check_chosen,
    check_fit,
    check_objectives,
    judge_constraints,
)
from schedopt.validation.dssp.facts import Chosen, Facts, facts_of, nights_of, room_of
from schedopt.validation.report import Report, same

ROUNDING = 1e-14  # allowed relative rounding error of a sum of rewards


def check(
    instance: Instance,
    solution: Selected | SelectedNights,
    claim: Document,
    constraints: Sequence[Constraint],
    report: Report,
) -> None:
    """Check a selection or a season; `InputError` if ``fill`` is not positive."""
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
            report.expect(not claim.risk, "risk: given, although the question has none")
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
    """Check and return a night's selected jobs, and with ``paid`` that they earn the objective."""
    chosen = check_chosen(solution, facts, constraints, report)
    check_fit(facts, chosen, report)
    _check_seats(constraints, facts, chosen, report)
    reward = float(facts.total_reward(chosen)) if paid else 0.0
    report.expect(
        not paid or (objective is not None and abs(objective - reward) <= ROUNDING * reward),
        f"objective: the selected jobs earn {reward:.17g}, not {objective}",
    )
    check_objectives(solution, facts, chosen, report)
    return chosen


def _check_seats(
    constraints: Sequence[Constraint], facts: Facts, chosen: Chosen, report: Report, where: str = ""
) -> None:
    """Report seats that no schedule of the selection can keep; ``where`` prefixes messages."""
    for position, constraint in enumerate(constraints):
        if isinstance(constraint, Seats):
            name = label(constraint, position)
            found = _seat_violations(constraint, facts, chosen)
            report.violations.extend(f"{name}: {where}{what}" for what in found)


def _seat_violations(constraint: Seats, facts: Facts, chosen: Chosen) -> Iterator[str]:
    """Yield intervals in which the selected jobs need more seats than there are."""
    wide = {job.name: job.processors for job in facts.night.jobs}
    held = {
        job: use * facts.demand[job] / wide[job]
        for job, use in constraint.use.items()
        if job in chosen
    }
    there = facts.machine.without_after_end([(Fraction(0), Fraction(constraint.capacity))])
    for start, end, asked in facts.overfull(held, there):
        room = float(room_of(there, start, end))
        span = f"from {float(start):.12g} to {float(end):.12g}"
        yield f"{float(asked):.12g} held {span}, at most {room:.12g} asked"


def _report_unproven(instance: Instance, claim: Document, report: Report) -> None:
    """Report the objectives after the first, whose optima the certificate does not prove."""
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
    """Check a selection for several nights."""
    facts = facts_of(season, claim, nights=True)
    every = [facts] * season.nights
    count = len(solution.nights)
    if count != season.nights:  # constraints over other nights cannot be judged
        report.violations.append(f"nights: {count}, and there are {season.nights}")
        return
    worth = Fraction(0)
    report.expect(
        same(float(facts.capacity), solution.capacity),
        f"capacity: {float(facts.capacity):.12g}, not {solution.capacity:.12g}",
    )
    for n, night in enumerate(solution.nights, start=1):
        chosen = Selected(
            selected=night.selected,
            demand=night.demand,
            capacity=solution.capacity,
            shares=night.shares,
        )
        own = Report()
        worth += facts.total_reward(_check_night(chosen, facts, None, (), own, paid=False))
        report.violations += [f"night {n}: {what}" for what in own.violations]
    _check_runs_once(season, solution, report)
    stated = claim.objective if claim.objective is not None else float("nan")
    report.expect(same(float(worth), stated), f"objective: {float(worth):.12g}, not {stated}")
    if constraints:
        runs = [frozenset(night.selected).intersection(season.index) for night in solution.nights]
        judge_constraints(constraints, JudgedChoice(every, runs, nights_of(season)), report)
        for n, (tonight, run) in enumerate(zip(every, runs, strict=True), start=1):
            _check_seats(constraints, tonight, run, report, f"night {n}: ")


def _check_runs_once(season: Instance, solution: SelectedNights, report: Report) -> None:
    """Check that each job runs at most once, on one of its nights."""
    selected = solution.selected
    if len(set(selected)) < len(selected):
        twice = [name for name, count in Counter(selected).items() if count > 1]
        report.violations.append(f"run on two nights: {', '.join(twice)}")
    allowed = nights_of(season)
    for n, night in enumerate(solution.nights, start=1):
        for name in filter(season.index.__contains__, night.selected):
            own = allowed[name]
            what = f"night {n}: {name} is for nights {own[0]} to {own[-1]}"
            report.expect(n in own, what)
