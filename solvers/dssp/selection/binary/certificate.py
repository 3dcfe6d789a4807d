"""Certificates for bounds on selections and seasons.

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
from schedopt.solvers.door import NoCertificateError
from schedopt.solvers.dssp.selection.binary.arrays import FREE, Arrays, closed_columns
from schedopt.solvers.dssp.selection.binary.blocks import Closer
from schedopt.solvers.dssp.selection.binary.multipliers import Reason
from schedopt.solvers.dssp.selection.binary.tree import Node, Tree, clock
from schedopt.solvers.result import Limits, Result

if TYPE_CHECKING:
    from schedopt.formulations.dssp.season import Season
    from schedopt.formulations.dssp.selection import Selection

Certificate = dict[str, object]
LONGEST = 60.0
"""Seconds that a tree may take where there is no time limit."""
MOST_NODES = 200_000
"""Branches of a certificate."""
FEW = 60
"""Free columns up to which branching is quicker than loading what solves knapsacks."""


def certify(
    model: Selection | Season,
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
    whole = Arrays.of_rows(
        program.rewards, [*program.rows, *(_counts(program) if model.name == "selection" else ())]
    )
    start = closed_columns(program)
    if whole.hopeless or not whole.propagate(start)[1]:
        return {"kind": "branchings", "rows": list(whole.keys), "nodes": [{}]}
    arrays = whole.without(start)
    claimed = _claimed(model, program, result)
    value = claimed - program.worth(np.flatnonzero(start == 1).tolist())
    seconds = LONGEST if limits.time_limit is None else limits.time_limit
    stop = clock(seconds)
    closer = Closer(arrays) if (start == FREE).sum() > FEW else None
    tree = Tree(arrays, start, value, closer=closer)
    tree.stop = lambda: stop() or len(tree.nodes) > MOST_NODES
    tree.run()
    if not tree.done:
        why = f"{len(tree.nodes):,} branches in {seconds:.3g} s, and more open"
        raise NoCertificateError(why)
    if tree.best is not None:
        raise NoCertificateError("a better selection was found")
    place = {key: i for i, key in enumerate(whole.keys)}
    rows = [place[key] for key in arrays.keys]
    nodes = [_written(node, program, rows) for node in tree.nodes]
    return {"kind": "branchings", "rows": list(whole.keys), "nodes": nodes}


def _claimed(model: Selection | Season, program: Program, result: Result) -> int:
    """Return the claim in units: of an optimum the exact worth of the selection."""
    if result.solution is not None and result.bound == result.objective:
        return program.worth(model.columns(result.solution))
    return floor(Fraction(result.bound or 0.0) * program.scale)


def _counts(program: Program) -> Iterable[WholeRow]:
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


def _written(node: Node, program: Program, rows: list[int]) -> Certificate:
    """Return a branch as a document holds it; what single rows decide needs no telling.

    ``rows`` says where the rows of the tree are in the certificate.
    """
    written: Certificate = {}
    told = [_reason(reason, rows) for reason in node.reasons if not _of_a_row(reason)]
    if told:
        written["reasons"] = told
    if node.blocks:
        written["blocks"] = [[rows[i], _number(cost)] for i, cost in node.blocks]
    if node.column is not None:
        written["split"] = program.columns[node.column]
    return written


def _of_a_row(reason: Reason) -> bool:
    return reason.weight == 0 and len(reason.multipliers) == 1


def _reason(reason: Reason, rows: list[int]) -> list[object]:
    multipliers = [[rows[i], _number(y)] for i, y in reason.multipliers]
    return [_number(reason.weight), multipliers]


def _number(number: int) -> int | str:
    """Return a whole number, in text where 64 bits do not hold it."""
    return number if abs(number) < 1 << 62 else str(number)
