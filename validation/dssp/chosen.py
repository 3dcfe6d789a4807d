"""Checks that all dssp solutions share: names, demand, shares, side constraints and capacity."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from msgspec import UnsetType

from schedopt.instances.constraints import Constraint, label
from schedopt.instances.decimals import total
from schedopt.instances.dssp import Instance, Selected
from schedopt.instances.errors import quote
from schedopt.validation.dssp.facts import Chosen, Facts, room_of
from schedopt.validation.dssp.machine import StepFunction
from schedopt.validation.report import Report, same


class UnknownKindError(Exception):
    """No checker knows this kind of side constraint."""


class JudgedChoice:
    """The selected jobs of one night or of several; implements `instances.rows.Choice`.

    Parameters
    ----------
    facts : sequence of Facts
        The facts of each night.
    nights : sequence of sets of str
        The names of the jobs that run on each night.
    allowed : mapping of str to range, optional
        The nights of each job; by default the solution is a selection for a single night.
    """

    def __init__(
        self,
        facts: Sequence[Facts],
        nights: Sequence[Chosen],
        allowed: Mapping[str, range] | None = None,
    ) -> None:
        self.facts, self.nights, self.allowed = facts, nights, allowed
        self.several = allowed is not None
        self.selected: Chosen = frozenset().union(*nights) if self.several else nights[0]

    @property
    def instance(self) -> Instance:
        """The jobs."""
        return self.facts[0].night

    def by_night(self) -> Iterator[tuple[str, Chosen]]:
        """Yield a prefix for messages, and the jobs of each night."""
        for n, chosen in enumerate(self.nights, start=1):
            yield f"night {n}: " if self.several else "", chosen

    def members(self, by: str | None, group: str | None) -> list[str]:
        """Return the names of the jobs of a group."""
        return self.facts[0].members(by, group)

    def demand(self, night: int, by: str | None = None, group: str | None = None) -> Fraction:
        """Return the demand selected on a night: of all jobs, or of a group."""
        facts, chosen = self.facts[0], self.nights[night - 1]
        return facts.total(chosen) if by is None else facts.used(by, group or "", chosen)

    def capacity(self, night: int) -> Fraction:
        """Return the exact capacity r·P·D of a night."""
        return self.facts[night - 1].capacity

    def left_out(self, names: Iterable[str], nights: Collection[int]) -> bool:
        """Return True if a job with demand is selected on no night but could run on one of these.

        ``nights`` are counted from 1.
        """
        return any(
            self.facts[0].demand[name] > 0
            and any(
                self.facts[n - 1].floor_counts(name)
                for n in nights
                if self.allowed is None or n in self.allowed[name]
            )
            for name in names
            if name not in self.selected
        )


def violations(constraint: Constraint, choice: JudgedChoice) -> list[str]:
    """Return the violations of a side constraint by the selected jobs, one line each.

    A user's kind with a method ``broken(instance, names)`` is judged by it, for one night.

    Raises
    ------
    UnknownKindError
        If no checker knows the kind.
    """
    try:
        return list(constraint.violations(choice))
    except NotImplementedError:
        pass
    broken: Any = getattr(constraint, "broken", None)
    if broken is None:
        raise UnknownKindError(f"no checker knows {constraint.kind()}")
    if choice.several:
        raise UnknownKindError(f"no checker knows {constraint.kind()} over nights")
    return list(broken(choice.instance, frozenset(choice.selected)))


def check_chosen(
    solution: Selected, facts: Facts, constraints: Sequence[Constraint], report: Report
) -> Chosen:
    """Check names, demand, capacity, shares and side constraints; return the chosen jobs.

    Parameters
    ----------
    solution
        The selection.
    facts : Facts
        Numbers recomputed from the raw instance.
    constraints : sequence of Constraint
        All side constraints: the instance's and the added ones.
    report : Report
        Receives the violations.
    """
    chosen = _known_jobs(solution, facts, report)
    for what, ours, theirs in (
        ("demand", float(facts.total(chosen)), solution.demand),
        ("capacity", float(facts.capacity), solution.capacity),
    ):
        report.expect(same(ours, theirs), f"{what}: {ours:.12g}, not {theirs:.12g}")
    _check_shares(facts, chosen, solution, report)
    judge_constraints(constraints, JudgedChoice([facts], [chosen]), report)
    return chosen


def judge_constraints(
    constraints: Sequence[Constraint], choice: JudgedChoice, report: Report
) -> None:
    """Report violated side constraints, and kinds that no checker knows."""
    for position, constraint in enumerate(constraints):
        name = label(constraint, position)
        try:
            found = violations(constraint, choice)
        except UnknownKindError as error:
            report.unjudged.append(f"{name}: {error}")
        else:
            report.violations.extend(f"{name}: {what}" for what in found)


def _known_jobs(solution: Selected, facts: Facts, report: Report) -> Chosen:
    """Return the chosen jobs; report unknown and repeated names."""
    index, chosen = facts.night.index, frozenset(solution.selected)
    if len(chosen) == len(solution.selected) and chosen <= index.keys():
        return chosen
    seen: set[str] = set()
    for name in solution.selected:
        report.expect(name in index, f"selected: no job is called {quote(name)}")
        report.expect(name not in seen, f"selected: {name} is listed twice")
        seen.add(name)
    return chosen.intersection(index.keys())


def _check_shares(facts: Facts, chosen: Chosen, solution: Selected, report: Report) -> None:
    night = facts.night
    claimed = solution.shares
    groups_by = {by: groups.keys() for by, groups in night.groups.items()}
    wrong = [by for by in claimed if by not in groups_by or claimed[by].keys() != groups_by[by]]
    for by, groups in night.groups.items():
        for group in groups:
            ours = float(facts.used(by, group, chosen) / facts.capacity)
            if not same(claimed.get(by, {}).get(group, -1.0), ours, 1.0):
                wrong.append(f"{by} {group}")
    report.expect(not wrong, f"shares: wrong for {', '.join(wrong)}")


def check_fit(facts: Facts, chosen: Chosen, report: Report) -> None:
    """Check that the chosen jobs fit the machine between any two times, and their windows."""
    due = chosen
    if facts.night.features:
        for what, taken, points in facts.machine.parts(chosen, facts.fill):
            work = {name: share * facts.demand[name] for name, share in taken.items()}
            _check_windows(what, facts, work, points, report)
        report.violations.extend(facts.machine.missing_predecessors(chosen))
    if facts.windowed:
        due = frozenset(name for name in chosen if facts.due[name] <= facts.deadline)
        work = {name: facts.demand[name] for name in chosen}
        _check_windows("capacity", facts, work, facts.rates, report)
    needed = facts.total(due)
    if needed > facts.capacity:
        report.violations.append(
            f"capacity: the selected jobs need {float(needed):.17g} of {float(facts.capacity):.17g}"
        )
    for name in sorted(chosen) if facts.night.features else ():
        report.expect(facts.fits(name), f"deadline: {name} can never be in time")
    for name in () if facts.night.features else filter(chosen.__contains__, facts.night.index):
        path, length = facts.critical_path[name], facts.due[name] - facts.release[name]
        over = f"has a critical path of {float(path):.17g}, over {float(length):.17g}"
        report.expect(path <= length, f"deadline: {name} {over}")


def _check_windows(
    what: str,
    facts: Facts,
    work: Mapping[str, Fraction],
    rate: Fraction | StepFunction,
    report: Report,
) -> None:
    """Check the demand between any release and any deadline against the capacity."""
    for start, end, asked in facts.overfull(work, rate):
        if what != "capacity" or start > 0 or end != facts.deadline:
            room, a, b = float(room_of(rate, start, end)), float(start), float(end)
            report.violations.append(
                f"{what}: the selected jobs need {float(asked):.17g} of {room:.17g} "
                f"from {a:.17g} to {b:.17g}"
            )


def check_objectives(solution: Selected, facts: Facts, chosen: Chosen, report: Report) -> None:
    """Check the value of the chosen jobs for each of several objectives."""
    if len(facts.night.objectives) < 2:
        return
    ours = []
    for name in facts.night.objectives:
        worths = facts.worths(name)
        ours.append(
            float(total([worths[job.name] for job in facts.night.jobs if job.name in chosen]))
        )
    stated = [] if isinstance(solution.objectives, UnsetType) else list(solution.objectives)
    right = len(stated) == len(ours) and all(map(same, ours, stated))
    report.expect(right, f"objectives: {ours}, not {stated}")
