"""Certificates for bounds on selections.

The checker, `validation.dssp.bound`, shares no code with this.

A tree of branchings with multipliers, made anew for the bound that is claimed: so whichever engine
found it, what is proved does not rest on that engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING

import numpy as np

from schedopt.formulations.program import Program, WholeRow
from schedopt.solvers.dssp.selection.branch_and_bound import branching, program_arrays
from schedopt.solvers.dssp.selection.branch_and_bound.knapsack_rows import KnapsackRowCloser
from schedopt.solvers.engine import NoCertificateError
from schedopt.solvers.result import Limits, Result

if TYPE_CHECKING:
    from schedopt.formulations.dssp.selection import Selection

Certificate = dict[str, object]
LONGEST = 60.0
"""Seconds that a tree may take where there is no time limit."""
MOST_NODES = 200_000
"""Branches of a certificate."""
FEW = 60
"""Free columns up to which branching is quicker than loading what solves knapsacks."""


def certify(
    model: Selection,
    result: Result,
    limits: Limits,
    holds: Callable[[Certificate], bool] | None = None,
) -> Certificate:
    """Return branchings from which the bound of a result can be re-proved.

    `holds` is not called: what is made here holds. Raises `NoCertificateError` if the branching
    does not end in time, or proves something else.
    """
    if result.bound is None or model.changed:
        raise NoCertificateError("the model was changed natively" if model.changed else "no bound")
    program = model.program()
    seconds = LONGEST if limits.time_limit is None else limits.time_limit
    watch = seconds, branching.deadline(seconds)
    found = _branchings(
        program, _cardinality_rows(program), _claim_in_units(model, program, result), watch
    )
    return {"kind": "branchings", **found}


def _branchings(
    program: Program,
    more: Iterable[WholeRow],
    claimed: int,
    watch: tuple[float, Callable[[], bool]],
) -> Certificate:
    """Return branchings that show that no selection is worth more than is claimed.

    ``watch`` is the seconds that there are for all, and what tells whether they are over.
    """
    seconds, stop = watch
    whole = program_arrays.ProgramArrays.of_rows(program.rewards, [*program.rows, *more])
    start = program_arrays.initial_values(program)
    if whole.hopeless or not whole.propagate(start)[1]:
        return {"rows": list(whole.keys), "nodes": [{}]}
    arrays = whole.without(start)
    value = claimed - program.worth(np.flatnonzero(start == 1).tolist())
    closer = KnapsackRowCloser(arrays) if (start == program_arrays.FREE).sum() > FEW else None
    tree = branching.BranchAndBound(arrays, start, value, closer=closer)
    tree.stop = lambda: stop() or len(tree.nodes) > MOST_NODES
    tree.run()
    if not tree.done:
        why = f"{len(tree.nodes):,} branches in {seconds:.3g} s, and more open"
        raise NoCertificateError(why)
    if tree.best is not None:
        raise NoCertificateError("a better selection was found")
    place = {key: i for i, key in enumerate(whole.keys)}
    rows = [place[key] for key in arrays.keys]
    nodes = [_branch_document(node, program, rows) for node in tree.nodes]
    return {"rows": list(whole.keys), "nodes": nodes}


def _claim_in_units(model: Selection, program: Program, result: Result) -> int:
    """Return the claim in units: of an optimum the exact worth of the selection."""
    if result.solution is not None and result.bound == result.objective:
        return program.worth(model.columns(result.solution))
    return floor(Fraction(result.bound or 0.0) * program.scale)


def _cardinality_rows(program: Program) -> Iterable[WholeRow]:
    """Yield the row that no more jobs fit than of the lightest: it follows from the capacity."""
    capacity = program.rows[0]
    used, count = 0, 0
    for size in sorted(capacity.coefficients):
        used += size
        if used > (capacity.upper or 0):
            break
        count += 1
    ones = (1,) * len(capacity.columns)
    yield WholeRow("count", "", capacity.columns, ones, None, count)


def _branch_document(node: branching.Node, program: Program, rows: list[int]) -> Certificate:
    """Return a branch as a document holds it; what single rows decide needs no telling.

    ``rows`` says where the rows of the tree are in the certificate.
    """
    written: Certificate = {}
    told = [
        [_json_number(one.weight), [[rows[i], _json_number(y)] for i, y in one.multipliers]]
        for one in node.reasons
        if one.weight != 0 or len(one.multipliers) != 1
    ]
    if told:
        written["reasons"] = told
    if node.blocks:
        written["blocks"] = [[rows[i], _json_number(cost)] for i, cost in node.blocks]
    if node.column is not None:
        written["split"] = program.columns[node.column]
    return written


def _json_number(number: int) -> int | str:
    """Return a whole number, in text where 64 bits do not hold it."""
    return number if abs(number) < 1 << 62 else str(number)
