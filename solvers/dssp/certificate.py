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

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.program import Program
from schedopt.solvers.clock import expired, now
from schedopt.solvers.engine import LargeCertificateError, NoCertificateError

if TYPE_CHECKING:
    from schedopt.formulations.dssp import Schedule, Season, Selection
    from schedopt.solvers.result import Limits, Result

Certificate = dict[str, Any]
Floats = NDArray[np.float64]
Integers = NDArray[Any]  # int64 where every sum fits, else Python integers

ROUNDING = Fraction(1, 10**14)
"""Relative rounding error of a sum of rewards; the checker allows as much."""
INT64_SAFE = 1 << 61
"""Sums below this fit 64 bits, with a bit to spare."""


@dataclass(frozen=True)
class CertificateParams:
    """Limits of a certificate.

    Attributes
    ----------
    seconds : float
        Time limit for making the tree.
    size : int
        Largest length of the tree, in bytes of JSON.
    spare_bits : int
        Bits by which multipliers are finer than their rounding error requires.
    """

    seconds: float = 10.0
    size: int = 10_000_000
    spare_bits: int = 4


DEFAULT = CertificateParams()


def certify(
    model: Selection | Season, result: Result, limits: Limits, params: CertificateParams = DEFAULT
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
    until = now() + min(params.seconds, inf if limits.time_limit is None else limits.time_limit / 2)
    if result.bound is None or model.changed:
        raise NoCertificateError("the model was changed natively" if model.changed else "no bound")
    if model.sample is not None:
        raise NoCertificateError("a bound under risk does not follow from the declared rows")
    program = model.program().with_count()
    target = program.next_worth(_claimed_bound(model, program, result))
    tree = certify_program(program, target, until, params)
    bounds = [*tree["nodes"], tree.get("fixing", {})]
    used = sorted({i for node in bounds for i, _ in node.get("multipliers", ())})
    position = {i: at for at, i in enumerate(used)}
    for node in bounds:
        if "weight" in node:
            node["weight"] = _json_number(node["weight"])
        if "multipliers" in node:
            pairs = node["multipliers"]
            node["multipliers"] = [[position[i], _json_number(y)] for i, y in pairs]
    return {"kind": "tree", "rows": [program.rows[i].key for i in used]} | tree


def certify_schedule(model: Schedule, result: Result, limits: Limits) -> Certificate:
    """Return a tree that proves the bound of a schedule, if it is the bound of a selection.

    The selection of jobs that complete in time bounds every schedule. A lower bound, which CP-SAT
    may find, has no certificate.
    """
    from schedopt.solvers.dssp.schedule.solving import bounding_selection

    return certify(bounding_selection(model), result, limits)


def _claimed_bound(model: Selection | Season, program: Program, result: Result) -> Fraction:
    """Return the bound without the rounding error of a sum of rewards."""
    bound = Fraction(result.bound or 0.0)
    if result.solution is not None and result.bound == result.objective:
        exact = program.worth(model.columns(result.solution)) / program.scale
        if abs(exact - bound) <= ROUNDING * bound:
            return exact
    return bound


def _json_number(number: int) -> int | str:
    """Return an integer, as text if it does not fit 64 bits."""
    return number if abs(number) < 1 << 62 else str(number)


def certify_program(
    program: Program, target: int, until: float, params: CertificateParams = DEFAULT
) -> Certificate:
    """Return a tree that excludes rewards of ``target`` units or more.

    Each row is named by its position. ``until`` is a time of `now`.
    """
    tree = BranchAndBound(program, target, params)
    free = np.array(program.open, dtype=bool)
    values = np.zeros(len(free), dtype=np.int8)
    relaxed = tree.relax(np.zeros(len(free)), free.astype(np.float64), until)
    if relaxed is None or relaxed.values is None:
        return {"nodes": tree.run(until)}
    weight, multipliers = tree.rounded(relaxed)
    slack, reduced = tree.evaluate(weight, multipliers, values.astype(float), free.astype(float))
    slack -= weight * target
    if slack < 0:
        return {"nodes": [_node(weight, multipliers)]}
    fixed = free & (np.abs(reduced) > slack).astype(bool)
    values[fixed] = (reduced[fixed] > 0).astype(np.int8)
    rest, earned = _restricted(program, free & ~fixed, values)
    nodes = BranchAndBound(rest, target - earned, params).run(until)
    return {"fixing": _node(weight, multipliers), "nodes": nodes}


def _node(weight: int, multipliers: dict[int, int]) -> Certificate:
    node: Certificate = {"weight": weight} if weight else {}
    return node | {"multipliers": list(multipliers.items())} if multipliers else node


def _restricted(
    program: Program, free: NDArray[np.bool_], values: NDArray[np.int8]
) -> tuple[Program, int]:
    """Return the program of the free columns, and the reward of those that are fixed to 1."""
    kept = np.flatnonzero(free).tolist()
    position = {j: at for at, j in enumerate(kept)}
    rows = []
    for row in program.rows:
        pairs = list(zip(row.columns, row.coefficients, strict=True))
        used = sum(c for j, c in pairs if values[j])
        inside = [(position[j], c) for j, c in pairs if j in position]
        rows.append(
            row._replace(
                columns=tuple(j for j, _ in inside),
                coefficients=tuple(c for _, c in inside),
                lower=None if row.lower is None else row.lower - used,
                upper=None if row.upper is None else row.upper - used,
            )
        )
    rest = replace(
        program,
        columns=tuple(program.columns[j] for j in kept),
        rewards=tuple(program.rewards[j] for j in kept),
        open=(True,) * len(kept),
        rows=tuple(rows),
        lifting={},
    )
    return rest, program.worth(np.flatnonzero(values).tolist())


class Relaxed(NamedTuple):
    """The outcome of a linear relaxation."""

    values: Floats | None  # None if the relaxation is infeasible
    multipliers: Floats  # of the rows: dual values, or a Farkas ray if infeasible


class BranchAndBound:
    """Depth-first branch and bound that records its nodes.

    Parameters
    ----------
    program : Program
    target : int
        The smallest total reward that a better selection has, in units.
    params : CertificateParams
    """

    def __init__(self, program: Program, target: int, params: CertificateParams) -> None:
        self.program, self.target, self.params = program, target, params
        rows = program.rows
        self._columns = np.array([j for row in rows for j in row.columns], dtype=np.int32)
        self._coefficients = _integers([c for row in rows for c in row.coefficients])
        self._row_of = np.repeat(np.arange(len(rows)), [len(row.columns) for row in rows])
        self._rewards = _integers(program.rewards)
        self._reach = sum(map(abs, program.rewards)) + abs(target)
        self._row_reach = [
            sum(map(abs, row.coefficients)) + abs(row.lower or 0) + abs(row.upper or 0)
            for row in rows
        ]
        self._bits = sum(self._row_reach).bit_length() + params.spare_bits
        # Powers of two scale the numbers of each row, and the rewards, to at most 1.
        largest = [max(map(abs, row.coefficients), default=1) for row in rows]
        self._row_units = [1 << size.bit_length() for size in largest]
        self._reward_unit = 1 << max(map(abs, program.rewards), default=1).bit_length()
        self._engine = self._load()

    def _load(self) -> Any:
        from schedopt.solvers.mip.highs import load_highs

        scaled = list(zip(self.program.rows, self._row_units, strict=True))
        lengths = [len(row.columns) for row in self.program.rows]
        width = len(self.program.rewards)
        return load_highs(
            np.array([-reward / self._reward_unit for reward in self.program.rewards]),
            (
                np.array([-np.inf if row.lower is None else row.lower / u for row, u in scaled]),
                np.array([np.inf if row.upper is None else row.upper / u for row, u in scaled]),
            ),
            (np.zeros(width), np.array(self.program.open, dtype=np.float64)),
            (
                np.cumsum([0, *lengths])[:-1],
                self._columns,
                np.array([c / u for row, u in scaled for c in row.coefficients]),
            ),
            options={"presolve": "off", "solver": "simplex", "threads": 1},
        )

    def run(self, until: float) -> list[Certificate]:
        """Return the nodes; `NoCertificateError` if a limit is reached first."""
        nodes: list[Certificate] = []
        open_nodes: list[dict[int, int]] = [{}]
        size = 0
        while open_nodes:
            if expired(until) or size > self.params.size:
                limit = "time" if expired(until) else "size"
                raise LargeCertificateError(f"{len(nodes):,} branches at the {limit} limit")
            fixed = open_nodes.pop()
            node, column = self._solve(fixed, until)
            nodes.append(node)
            size += len(str(node))
            if column is not None:
                open_nodes += [fixed | {column: 1}, fixed | {column: 0}]
        return nodes

    def _solve(self, fixed: dict[int, int], until: float) -> tuple[Certificate, int | None]:
        """Return a leaf and None, or a branching and the position of its column."""
        lower = np.zeros(len(self._rewards))
        upper = np.array(self.program.open, dtype=np.float64)
        at = list(fixed)
        lower[at] = upper[at] = list(fixed.values())
        free = np.flatnonzero(lower < upper)
        if not len(free):
            return self._leaf_of_selection(np.flatnonzero(lower).tolist()), None
        relaxed = self.relax(lower, upper, until)
        column = int(free[0])
        if relaxed is not None:
            weight, multipliers = self.rounded(relaxed)
            for sign in (1, -1):  # HiGHS gives rays of either sign
                bound, _ = self.evaluate(weight, multipliers, lower, upper)
                if bound < weight * self.target:
                    return _node(weight, multipliers), None
                if weight:
                    break
                weight, multipliers = self.rounded(relaxed, -sign)
            if relaxed.values is not None:
                parts = np.abs(relaxed.values[free] - np.rint(relaxed.values[free]))
                column = int(free[np.argmax(parts)])
        return {"split": self.program.columns[column]}, column

    def relax(self, lower: Floats, upper: Floats, until: float) -> Relaxed | None:
        """Solve the linear relaxation; None if HiGHS has no proof in time."""
        from highspy import HighsModelStatus as Status

        engine, width = self._engine, len(lower)
        engine.setOptionValue("time_limit", engine.getRunTime() + max(0.0, until - now()))
        engine.changeColsBounds(width, np.arange(width, dtype=np.int32), lower, upper)
        engine.run()
        status = engine.getModelStatus()
        if status == Status.kOptimal:
            solution = engine.getSolution()
            duals = -np.asarray(solution.row_dual, dtype=np.float64)
            return Relaxed(np.asarray(solution.col_value, dtype=np.float64), duals)
        if status == Status.kInfeasible:
            _, is_known, ray = engine.getDualRay()
            if is_known:
                ray = np.asarray(ray, dtype=np.float64)
                return Relaxed(None, ray / (np.abs(ray).max(initial=0.0) or 1.0))
        return None

    def rounded(self, relaxed: Relaxed, sign: int = 1) -> tuple[int, dict[int, int]]:
        """Return a weight and integer multipliers of rows that have a bound on that side."""
        infeasible = relaxed.values is None
        unit = Fraction(sign if infeasible else self._reward_unit) * (1 << self._bits)
        multipliers = {}
        for i in np.flatnonzero(relaxed.multipliers).tolist():
            y = round(Fraction(relaxed.multipliers[i]) * unit / self._row_units[i])
            row = self.program.rows[i]
            if y and (row.upper if y > 0 else row.lower) is not None:
                multipliers[i] = y
        return 0 if infeasible else 1 << self._bits, multipliers

    def evaluate(
        self, weight: int, multipliers: dict[int, int], lower: Floats, upper: Floats
    ) -> tuple[int, Integers]:
        """Return the weak-duality bound of a node and the reduced cost of each column, exactly."""
        largest = weight * self._reach
        largest += sum(abs(y) * self._row_reach[i] for i, y in multipliers.items())
        has_int64 = object not in (self._rewards.dtype, self._coefficients.dtype)
        kind: type = np.int64 if has_int64 and largest < INT64_SAFE else object
        prices: Integers = np.zeros(len(self._row_reach), dtype=kind)
        prices[list(multipliers)] = list(multipliers.values())
        reduced: Integers = self._rewards.astype(kind) * weight
        terms: Integers = self._coefficients.astype(kind) * prices[self._row_of]
        np.subtract.at(reduced, self._columns, terms)
        bound = int(reduced[np.where((reduced > 0).astype(bool), upper, lower) > 0].sum())
        for i, y in multipliers.items():
            row = self.program.rows[i]
            bound += y * ((row.upper if y > 0 else row.lower) or 0)
        return bound, reduced

    def _leaf_of_selection(self, chosen: list[int]) -> Certificate:
        """Return the leaf of one selection, which violates a row or has too small a reward."""
        violated = self.program.violated_row(chosen)
        if violated is None:
            if self.program.worth(chosen) >= self.target:
                raise NoCertificateError("a better selection was found")
            return _node(1, {})
        taken = set(chosen)
        pairs = zip(violated.columns, violated.coefficients, strict=True)
        used = sum(c for j, c in pairs if j in taken)
        y = 1 if violated.upper is not None and used > violated.upper else -1
        return _node(0, {self.program.rows.index(violated): y})


def _integers(numbers: Sequence[int]) -> Integers:
    """Return integers as int64 if the sum of their magnitudes fits, else as Python integers."""
    fits = sum(map(abs, numbers)) < INT64_SAFE
    return np.array(numbers, dtype=np.int64 if fits else object)
