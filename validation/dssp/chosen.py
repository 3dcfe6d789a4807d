"""What selections and schedules have in common: names, demand, shares, side constraints."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fractions import Fraction
from operator import attrgetter

from schedopt.instances.constraints import Constraint, label
from schedopt.instances.dssp import Instance, Selected, refuse_nights
from schedopt.instances.errors import InputError, shown
from schedopt.solvers.result import Document
from schedopt.validation.dssp.constraints import UnknownKindError, broken
from schedopt.validation.dssp.facts import Facts
from schedopt.validation.report import Report, same

MOST = int(sys.float_info.max)
"""The largest double; a fraction is sooner compared with a whole number than with that."""


FEW = 1000
"""Jobs up to which the facts of an instance are kept: policies and optimum are checked in turn."""

_LATEST: list[tuple[Instance, float, Facts]] = []
"""The instance that was checked last."""


def facts_of(night: Instance, claim: Document) -> Facts:
    """Return the facts of an instance under the document's option ``fill``, which is r.

    Raises
    ------
    InputError
        If ``fill`` is not a number above 0, or r·P·D overflows.
    """
    refuse_nights(night, "a selection, or a schedule,")
    fill = claim.options.get("fill", 1.0)
    if isinstance(fill, bool) or not isinstance(fill, int | float) or not 0 < fill < float("inf"):
        raise InputError("a number above 0", found=shown(fill), place="options.fill")
    for checked, r, facts in _LATEST:
        if checked is night and r == fill:
            return facts
    facts = Facts(night, fill)
    if facts.capacity > MOST:
        raise InputError("a finite r·P·D", found=shown(fill), place="options.fill")
    if len(night.jobs) <= FEW:
        _LATEST[:] = [(night, fill, facts)]
    return facts


def check_chosen(
    solution: Selected, facts: Facts, constraints: Sequence[Constraint], report: Report
) -> frozenset[str]:
    """Check names, demand, capacity as stated, shares and side constraints; return who is chosen.

    Parameters
    ----------
    solution : Selected
        What was chosen.
    facts : Facts
        Recomputed from the raw instance.
    constraints : sequence of Constraint
        All side constraints, the instance's and those that were added.
    report : Report
        Takes what is found.
    """
    chosen = _known(solution, facts, report)
    for what, ours, theirs in (
        ("demand", float(facts.total(chosen)), solution.demand),
        ("capacity", float(facts.capacity), solution.capacity),
    ):
        report.expect(same(ours, theirs), f"{what}: {ours:.12g}, not {theirs:.12g}")
    _shares(facts, chosen, solution, report)
    for position, constraint in enumerate(constraints):
        name = label(constraint, position)
        try:
            found = broken(constraint, facts, chosen)
        except UnknownKindError as error:
            report.unjudged.append(f"{name}: {error}")
        else:
            report.violations.extend(f"{name}: {what}" for what in found)
    return chosen


def _known(solution: Selected, facts: Facts, report: Report) -> frozenset[str]:
    """Check that whoever is chosen is a job, once; return those that are."""
    chosen = frozenset(solution.selected)
    if len(chosen) == len(solution.selected) and facts.units.keys() >= chosen:
        return chosen
    seen: set[str] = set()
    for name in solution.selected:
        report.expect(name in facts.units, f"selected: no job is called {shown(name)}")
        report.expect(name not in seen, f"selected: {name} is there twice")
        seen.add(name)
    return chosen & facts.units.keys()


def _shares(facts: Facts, chosen: frozenset[str], solution: Selected, report: Report) -> None:
    expected: dict[str, dict[str, list[int]]] = {}
    for job in filter(attrgetter("groups"), facts.night.jobs):
        for by, group in job.groups.items():
            parts = expected.setdefault(by, {}).setdefault(group, [])
            if job.name in chosen:
                parts.append(facts.units[job.name])
    claimed = solution.shares
    wrong = [
        by for by in claimed if by not in expected or claimed[by].keys() != expected[by].keys()
    ]
    for by, groups in expected.items():
        for group, parts in groups.items():
            ours = float(Fraction(sum(parts), facts.scale) / facts.capacity)
            if not same(claimed.get(by, {}).get(group, -1.0), ours, 1.0):
                wrong.append(f"{by} {group}")
    report.expect(not wrong, f"shares: wrong for {', '.join(wrong)}")
