"""The checker for selections: capacity, deadline, reward, shares and every side constraint.

Everything is recomputed from the instance's raw fields; nothing is shared with what chose the jobs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import fsum

from schedopt.instances.constraints import Constraint, Seats, label
from schedopt.instances.decimals import total
from schedopt.instances.dssp import Instance, Job, Selected
from schedopt.solvers.result import Document
from schedopt.validation.dssp.chosen import check_chosen, facts_of
from schedopt.validation.dssp.constraints import unseated
from schedopt.validation.dssp.facts import Facts
from schedopt.validation.report import Report

MARGIN = 1e-12
"""Of a critical path: far more than what adding up and rounding decimals can do to it."""

ROUNDING = 1e-14
"""Of the objective: what a sum of rewards in double precision may be off by."""


def check(
    night: Instance,
    solution: Selected,
    claim: Document,
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
    claim : Document
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
    facts = facts_of(night, claim)
    chosen = check_chosen(solution, facts, constraints, report)
    due = chosen
    if facts.windowed:
        due = frozenset(name for name in chosen if facts.due[name] <= facts.deadline)
        _check_windows(facts, chosen, report)
    needed = facts.total(due)
    if needed > facts.capacity:
        report.violations.append(
            f"capacity: the selected jobs need {float(needed):.17g} of {float(facts.capacity):.17g}"
        )
    jobs = [job for job in night.jobs if job.name in chosen]
    for job in jobs:
        if not _surely_in_time(job, night):
            path, length = facts.critical_path[job.name], facts.due[job.name]
            length -= facts.release[job.name]
            over = f"has a critical path of {float(path):.17g}, over {float(length):.17g}"
            report.expect(path <= length, f"deadline: {job.name} {over}")
    for position, constraint in enumerate(constraints):
        if isinstance(constraint, Seats):
            name = label(constraint, position)
            report.violations.extend(f"{name}: {w}" for w in unseated(constraint, facts, chosen))
    reward = float(total([job.reward for job in jobs]))
    report.expect(
        claim.objective is not None and abs(claim.objective - reward) <= ROUNDING * reward,
        f"objective: the selected jobs earn {reward:.17g}, not {claim.objective}",
    )


def _surely_in_time(job: Job, night: Instance) -> bool:
    """Tell whether a path from time 0 is in time whatever rounding does.

    Predicted ones are ordered as their decimals are; sums are given a margin.
    """
    if job.release:
        return False
    deadline = night.deadline if job.deadline is None else job.deadline
    if job.critical_path is not None:
        return job.critical_path <= deadline
    return fsum(map(max, job.stages or ())) * (1 + MARGIN) <= deadline


def _check_windows(facts: Facts, chosen: Collection[str], report: Report) -> None:
    """Check what fits between releases and deadlines of jobs' own."""
    for start, end, asked in facts.overfull({n: facts.demand[n] for n in chosen}, facts.rate):
        if start > 0 or end != facts.deadline:
            room, a, b = float(facts.rate * (end - start)), float(start), float(end)
            report.violations.append(
                f"capacity: the selected jobs need {float(asked):.17g} of {room:.17g} "
                f"from {a:.17g} to {b:.17g}"
            )
