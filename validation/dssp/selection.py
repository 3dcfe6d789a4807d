"""The checker for selections: capacity, deadline, reward, shares and every side constraint.

Everything is recomputed from the instance's raw fields; nothing is shared with what chose the jobs.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

from instances.constraints import Constraint
from instances.dssp import Instance, Selected
from solvers.result import Document
from validation.dssp.chosen import check_chosen, facts_of
from validation.report import Report, same


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
