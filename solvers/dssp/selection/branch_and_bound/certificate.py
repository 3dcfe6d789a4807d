"""Certificates for bounds on selections.

The checker, `validation.dssp.bound`, shares no code with this.

A tree of branchings with multipliers, made anew for the bound that is claimed: so whichever engine
found it, what is proved does not rest on that engine.

A relaxation may take parts of columns. Rows over disjoint columns are knapsacks, solved exactly:
where a row is a knapsack, the best that whole columns make of it is below that by what `costs`
tells. Where these costs are together more than a better selection may lose, there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING

import numpy as np

from schedopt.formulations.program import Program, WholeRow
from schedopt.solvers.dssp.selection.branch_and_bound import branching, program_arrays
from schedopt.solvers.dssp.selection.branch_and_bound.branching import Blocks
from schedopt.solvers.dssp.selection.branch_and_bound.program_arrays import (
    FREE,
    Integers,
    ProgramArrays,
    Values,
)
from schedopt.solvers.dssp.selection.branch_and_bound.relaxation import (
    Reason,
    ceiling,
    reduced_rewards,
)
from schedopt.solvers.engine import NoCertificateError
from schedopt.solvers.result import Limits, Result

if TYPE_CHECKING:
    from schedopt.formulations.dssp.selection import Selection

SECONDS = 0.5
"""Seconds that a knapsack may take; its bound by then is a valid cost too."""
TRUST = 1e-12
"""Relative rounding error of a knapsack's worth."""


class KnapsackRowCloser:
    """Closes branches of a program by the costs of its knapsacks."""

    def __init__(self, arrays: ProgramArrays) -> None:
        self.arrays = arrays
        sizes = np.diff(arrays.first)
        knapsacks = [
            i
            for i in range(len(arrays.keys))
            if not arrays.has_bound(i, -1)
            and arrays.has_bound(i, 1)
            and (arrays.coefficients[arrays.row(i)] > 0).all()
        ]
        fine = sorted(knapsacks, key=lambda i: sizes[i])
        self._orders = [fine] if fine == fine[::-1] else [fine, fine[::-1]]

    def __call__(self, values: Values, reason: Reason, target: int) -> Blocks:
        """Return rows with the costs of satisfying them, if together these close a branch."""
        reduced, constant = reduced_rewards(self.arrays, reason)
        slack = ceiling(values, reduced, constant) - reason.weight * target
        prices = dict(reason.multipliers)
        for order in self._orders:
            priced = [i for i in order if prices.get(i, 0) > 0]
            costs = dict(self._costs(priced, values, reduced, prices))
            spare = sum(costs.values()) - slack - 1
            if spare >= 0:
                total = sum(costs.values()) or 1
                return tuple((i, cost - spare * cost // total) for i, cost in costs.items() if cost)
        return ()

    def _costs(
        self, order: Iterable[int], values: Values, left: Integers, prices: dict[int, int]
    ) -> Iterable[tuple[int, int]]:
        """Yield rows that share no free column, and what keeping each costs at least."""
        taken = np.zeros(len(values), dtype=bool)
        for i in order:
            at = self.arrays.row(i)
            columns = self.arrays.columns[at]
            free = values[columns] == FREE
            own = columns[free]
            if not len(own) or taken[own].any():
                continue
            taken[own] = True
            size = self.arrays.coefficients[at].astype(object)
            room = int(self.arrays.upper[i]) - sum(size[values[columns] == 1].tolist())
            yield i, _cost(left[own], size[free], room, prices[i])


def _cost(left: Integers, size: Integers, room: int, price: int) -> int:
    """Return the least cost of satisfying a knapsack row, rounded down."""
    from schedopt.solvers.dssp.selection.knapsack.search import Core

    worth = left + price * size
    most = sum(np.maximum(left, 0).tolist()) + price * room
    unit = 1 << max(0, most.bit_length() - 60)
    if max(room, *size.tolist()) >= 1 << 53 or room < 0:
        return 0
    positive = np.maximum(worth, 0).astype(np.float64) / unit
    core = Core(positive, size.astype(np.float64), float(room))
    core.advance(SECONDS)
    best = core.bound * unit * (1 + TRUST)
    return max(0, int(most - best) - 1)


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
    branchings = _branchings(
        program, _cardinality_rows(program), _claim_in_units(model, program, result), watch
    )
    return {"kind": "branchings", **branchings}


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
    reasons = [
        [_json_number(one.weight), [[rows[i], _json_number(y)] for i, y in one.multipliers]]
        for one in node.reasons
        if one.weight != 0 or len(one.multipliers) != 1
    ]
    if reasons:
        written["reasons"] = reasons
    if node.blocks:
        written["blocks"] = [[rows[i], _json_number(cost)] for i, cost in node.blocks]
    if node.column is not None:
        written["split"] = program.columns[node.column]
    return written


def _json_number(number: int) -> int | str:
    """Return a whole number, in text where 64 bits do not hold it."""
    return number if abs(number) < 1 << 62 else str(number)
