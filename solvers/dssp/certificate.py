"""Certificates of bounds on selections, seasons and schedules.

A certificate is a tree that branches on columns of the declared integer program. Each leaf has
integer multipliers of rows whose weak-duality bound excludes every better selection of the leaf;
`validation.dssp.bound` states the inequality and checks it. The tree is made from the declared
rows alone, so it does not depend on the engine that found the bound.

Multipliers are dual values of the linear relaxation, rounded to integers. At the root they also fix
columns: a column whose reduced cost is larger than the slack of the bound has one value in every
better selection.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from schedopt.formulations.program import IntArray, IntegerProgram
from schedopt.solvers.clock import now
from schedopt.solvers.engine import LargeCertificateError, NoCertificateError
from schedopt.solvers.priced_core.bounds import PricedBound
from schedopt.solvers.priced_core.exact import BranchAndBound
from schedopt.solvers.priced_core.open_part import OpenPart, open_part
from schedopt.solvers.priced_core.relaxation import relax

if TYPE_CHECKING:
    from schedopt.formulations.dssp import Schedule, Season, Selection
    from schedopt.solvers.result import Limits, Result

Certificate = dict[str, Any]

ROUNDING = Fraction(1, 10**14)
"""Relative rounding error of a sum of rewards; the checker allows as much."""


MOST_BYTES = 10_000_000
"""Largest length of a tree, in bytes of JSON."""


def certify(
    model: Selection | Season, result: Result, limits: Limits, seconds: float = 10.0
) -> Certificate:
    """Return a tree that proves the bound of a result.

    Raises
    ------
    NoCertificateError
        If the bound does not follow from the declared rows: the native model was changed, run times
        are uncertain, or a better selection is found.
    LargeCertificateError
        If the tree is too large or takes too long. Half of the time limit is left for a second
        engine, which then confirms the bound.
    """
    until = now() + min(seconds, inf if limits.time_limit is None else limits.time_limit / 2)
    if result.bound is None or model.changed:
        raise NoCertificateError("the model was changed natively" if model.changed else "no bound")
    if model.sample is not None:
        raise NoCertificateError("a bound under risk does not follow from the declared rows")
    program = model.integer_program().with_count()
    target = program.next_reward(_claimed_bound(model, program, result))
    return CertificateTree(program, target).run(until)


def certify_schedule(model: Schedule, result: Result, limits: Limits) -> Certificate:
    """Return a tree that proves the bound of a schedule, if it is the bound of a selection.

    The selection of jobs that complete in time bounds every schedule. A lower bound, which CP-SAT
    may find, has no certificate.
    """
    from schedopt.solvers.dssp.schedule.solving import bounding_selection

    return certify(bounding_selection(model), result, limits)


def _claimed_bound(model: Selection | Season, program: IntegerProgram, result: Result) -> Fraction:
    """Return the bound without the rounding error of a sum of rewards."""
    bound = Fraction(result.bound or 0.0)
    if result.solution is not None and result.bound == result.objective:
        reward = program.reward_of(program.point(model.chosen_columns(result.solution)))
        exact = reward / program.scale
        if abs(exact - bound) <= ROUNDING * bound:
            return exact
    return bound


def _json_number(number: int) -> int | str:
    """Return an integer, as text if it does not fit 64 bits."""
    return number if abs(number) < 1 << 62 else str(number)


class CertificateTree:
    """A branch and bound that records its nodes.

    Parameters
    ----------
    program : IntegerProgram
    target : int
        The least total reward of a better selection, in units.
    """

    def __init__(self, program: IntegerProgram, target: int) -> None:
        self.program, self.target = program, target
        self._position: dict[int, int] = {}  # of each row that has a multiplier
        self._nodes: list[Certificate] = []
        self._size = 0

    def run(self, until: float) -> Certificate:
        """Return the certificate; ``until`` is a time of `now`.

        Raises `LargeCertificateError` if a limit is reached first.
        """
        certificate: Certificate = {"kind": "tree", "rows": []}
        program = self.program
        optimum = relax(program, until - now())
        if optimum is not None and optimum.feasible:
            bound = optimum.bound(program)
            slack = bound.slack(self.target)
            if slack >= 0:
                certificate["fixing"] = self._node(bound)
                program = bound.fix(program, slack)
        part = open_part(program)
        target, record = self.target - part.reward, partial(self._record, part)
        if not BranchAndBound(part.program, lambda: target, until, record=record).run():
            raise LargeCertificateError(f"{len(self._nodes):,} branches at the time limit")
        certificate["nodes"] = self._nodes
        certificate["rows"] = [self.program.labels[i] for i in self._position]
        return certificate

    def _record(
        self, part: OpenPart, program: IntegerProgram, bound: PricedBound | None, column: int | None
    ) -> None:
        """Add a leaf or a branching on a column of the open part."""
        if column is not None:
            node = {"split": self.program.columns[part.columns[column]]}
        elif bound is not None:
            node = self._node(bound, part)
        else:
            node = self._leaf_of_selection(part.whole(program.low))
        self._nodes.append(node)
        self._size += len(str(node))
        if self._size > MOST_BYTES:
            raise LargeCertificateError(f"{len(self._nodes):,} branches at the size limit")

    def _leaf_of_selection(self, x: IntArray) -> Certificate:
        """Return the leaf of one selection, which violates a row or has too small a reward."""
        violated = self.program.violated_rows(x)
        if len(violated):
            i = int(violated[0])
            is_over = self.program.activities(x)[i] > self.program.upper[i]
            return {"multipliers": [[self._at(i), 1 if is_over else -1]]}
        if self.program.reward_of(x) >= self.target:
            raise NoCertificateError("a better selection was found")
        return {"weight": 1}

    def _node(self, bound: PricedBound, part: OpenPart | None = None) -> Certificate:
        """Return the weight and the multipliers of a bound."""
        node: Certificate = {"weight": _json_number(bound.scale)} if bound.scale else {}
        at = np.flatnonzero(bound.multipliers)
        rows = at if part is None else part.rows[at]
        pairs = zip(rows.tolist(), bound.multipliers[at].tolist(), strict=True)
        if len(at):
            node["multipliers"] = [[self._at(i), _json_number(y)] for i, y in pairs]
        return node

    def _at(self, row: int) -> int:
        """Return the position of a row in the certificate."""
        return self._position.setdefault(row, len(self._position))
