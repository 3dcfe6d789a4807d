"""The checker for selections: capacity, deadline, reward, shares and every side constraint.

Everything is recomputed from the instance's raw fields; nothing is shared with what chose the jobs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum, isfinite
from typing import Any

from instances.constraints import Constraint, label
from instances.dssp import Instance, Selected, SideConstraint
from instances.errors import InputError, shown
from solvers.result import Result
from validation.dssp.constraints import UnknownKindError, broken
from validation.dssp.facts import Facts
from validation.report import Report, same

CONSTRAINTS = tuple[SideConstraint, ...]


def solution_type(solution: Mapping[str, Any]) -> type[Selected]:
    """Return the record that a solution of this shape is."""
    return Selected


def check(
    night: Instance,
    solution: Selected,
    claim: Result,
    constraints: Sequence[Constraint],
    report: Report,
) -> None:
    """Check a selection, and add what is wrong to the report.

    Parameters
    ----------
    night : Instance
        The raw instance.
    solution : Selected
        What was chosen.
    claim : Result
        The document: its objective, and its option ``fill``, which is r.
    constraints : sequence of Constraint
        All side constraints, the instance's and those that were added.
    report : Report
        Takes what is found.

    Raises
    ------
    InputError
        If ``fill`` is not a number above 0.
    """
    fill = claim.options.get("fill", 1.0)
    if isinstance(fill, bool) or not isinstance(fill, int | float) or not 0 < fill < float("inf"):
        raise InputError("a number above 0", found=shown(fill), place="options.fill")
    facts = Facts(night, fill)
    if not isfinite(facts.capacity):
        raise InputError("a finite r·P·D", found=shown(fill), place="options.fill")
    _known(solution, facts, report)
    chosen = frozenset(name for name in solution.selected if name in facts.demand)
    total = facts.total(chosen)
    report.expect(
        facts.fits(total),
        f"capacity: the selected jobs need {total:.12g} of {facts.capacity:.12g}",
    )
    for name in sorted(chosen):
        path = facts.critical_path[name]
        report.expect(
            path <= night.deadline,
            f"deadline: {name} has a critical path of {path:.12g}, over {night.deadline:.12g}",
        )
    reward = fsum(job.reward for job in night.jobs if job.name in chosen)
    report.expect(
        claim.objective is not None and same(claim.objective, reward),
        f"objective: the selected jobs earn {reward:.12g}, not {claim.objective}",
    )
    for what, ours, theirs in (
        ("demand", total, solution.demand),
        ("capacity", facts.capacity, solution.capacity),
    ):
        report.expect(same(ours, theirs), f"{what}: {ours:.12g}, not {theirs:.12g}")
    _shares(facts, chosen, solution, report)
    for position, constraint in enumerate(constraints):
        name = label(constraint, position)
        try:
            found = broken(constraint, facts, chosen)
        except UnknownKindError as error:
            report.unchecked.append(f"{name}: {error}")
        else:
            report.violations.extend(f"{name}: {what}" for what in found)


def _known(solution: Selected, facts: Facts, report: Report) -> None:
    seen: set[str] = set()
    for name in solution.selected:
        report.expect(name in facts.demand, f"selected: no job is called {shown(name)}")
        report.expect(name not in seen, f"selected: {name} is there twice")
        seen.add(name)


def _shares(facts: Facts, chosen: frozenset[str], solution: Selected, report: Report) -> None:
    expected: dict[str, dict[str, list[float]]] = {}
    for job in facts.night.jobs:
        for by, group in job.groups.items():
            parts = expected.setdefault(by, {}).setdefault(group, [])
            if job.name in chosen:
                parts.append(facts.demand[job.name])
    claimed = solution.shares
    wrong = [
        by for by in claimed if by not in expected or claimed[by].keys() != expected[by].keys()
    ]
    wrong += [
        f"{by} {group}"
        for by, groups in expected.items()
        for group, parts in groups.items()
        if not same(claimed.get(by, {}).get(group, -1.0), fsum(parts) / facts.capacity, 1.0)
    ]
    report.expect(not wrong, f"shares: wrong for {', '.join(wrong)}")
