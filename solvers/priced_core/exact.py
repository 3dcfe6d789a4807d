"""Exact searches of integer programs: CP-SAT, and branch and bound with integer multipliers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from schedopt.formulations.program import SUM_BITS, IntArray, IntegerProgram
from schedopt.instances.decimals import exact_sum
from schedopt.instances.extras import installed
from schedopt.solvers.clock import expired
from schedopt.solvers.priced_core.open_part import OpenPart, open_part, propagate
from schedopt.solvers.priced_core.relaxation import Floats, relax
from schedopt.solvers.result import Limits
from schedopt.solvers.running import Run

COEFFICIENT_BITS = 31
"""CP-SAT gets no larger coefficients: OR-Tools issue 5293."""


class CpSatAnswer(NamedTuple):
    """The answer of CP-SAT; the bound is in units of the program, or None."""

    x: IntArray | None
    bound: int | None
    ended: bool  # x is optimal, or the program is infeasible
    interrupted: bool


def fits_cp_sat(program: IntegerProgram) -> bool:
    """Return True if CP-SAT is installed and represents the program exactly."""
    if program.exceeds_64_bits or not installed("ortools"):
        return False
    largest = max(int(np.abs(a).max(initial=0)) for a in (program.rewards, program.coefficient))
    most = max(int(program.high.max(initial=1)), 1)
    sums = [exact_sum(np.abs(program.rewards)), int(program.reach.max(initial=0))]
    return largest.bit_length() <= COEFFICIENT_BITS and max(sums) * most < 1 << SUM_BITS


def solve_by_cp_sat(
    program: IntegerProgram,
    start: IntArray | None,
    limits: Limits,
    note: Callable[[int | None, int | None], None],
) -> CpSatAnswer:
    """Solve a program with CP-SAT, which does not round.

    ``note`` is called with the reward of each new solution and each new bound.
    """
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    x = [model.new_int_var(0, high, "") for high in program.high.tolist()]
    ends, columns, values = (
        numbers.tolist() for numbers in (program.first, program.column, program.coefficient)
    )
    for i, bounds in enumerate(zip(program.lower.tolist(), program.upper.tolist(), strict=True)):
        a, b = ends[i], ends[i + 1]
        terms = cp_model.LinearExpr.weighted_sum([x[j] for j in columns[a:b]], values[a:b])
        model.add_linear_constraint(terms, *bounds)
    model.maximize(cp_model.LinearExpr.weighted_sum(x, program.rewards.tolist()))
    for variable, value in zip(x, () if start is None else start.tolist(), strict=False):
        model.add_hint(variable, value)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = limits.threads or 1
    solver.parameters.random_seed = limits.seed
    solver.parameters.catch_sigint_signal = False
    if limits.time_limit is not None:
        solver.parameters.max_time_in_seconds = max(limits.time_limit, 1e-3)
    solver.best_bound_callback = lambda bound: note(None, round(bound))

    class Watcher(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            """Report the solution."""
            note(round(self.objective_value), round(self.best_objective_bound))

    run = Run(limits)
    status: Any = cp_model.UNKNOWN

    def work() -> None:
        nonlocal status
        status = solver.solve(model, Watcher())

    run.in_thread(work, solver.stop_search)
    best = bound = None
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        best = np.array([solver.value(variable) for variable in x], dtype=np.int64)
        bound = int(np.floor(solver.best_objective_bound + 0.5))
    ended = status in (cp_model.OPTIMAL, cp_model.INFEASIBLE)
    return CpSatAnswer(best, bound, ended, run.interrupted)


class Branching(NamedTuple):
    """A branching: the column is at most ``at`` in one branch, and more in the other."""

    program: IntegerProgram
    column: int
    at: int
    up_first: bool


class Node(NamedTuple):
    """An open node with its open part before columns were fixed, and its relaxation."""

    program: IntegerProgram
    part: OpenPart
    values: Floats


class BranchAndBound:
    """Depth-first branch and bound; each node is pruned by the exact bound of integer multipliers.

    Parameters
    ----------
    offer : callable
        Called with each integer point.
    target : callable
        Returns the least reward of a better solution.
    until : float
        When to stop, by `clock.now`.
    relaxations : int
        Most relaxations at a node. Another one follows if the last one fixed half of the columns.
    """

    def __init__(
        self,
        offer: Callable[[IntArray], bool],
        target: Callable[[], int],
        until: float,
        relaxations: int = 3,
    ) -> None:
        self.offer, self.target, self.until = offer, target, until
        self.relaxations = relaxations

    def run(self, program: IntegerProgram) -> bool:
        """Search; return True if the tree is complete."""
        waiting = [(program.low, program.high)]
        while waiting:
            if expired(self.until):
                return False
            split = self._process_node(program.with_bounds(*waiting.pop()))
            if split is None:
                continue
            down, up = split.program.high.copy(), split.program.low.copy()
            down[split.column], up[split.column] = split.at, split.at + 1
            children = [(split.program.low, down), (up, split.program.high)]
            waiting += children if split.up_first else children[::-1]
        return True

    def _process_node(self, program: IntegerProgram) -> Branching | None:
        """Return the branching of a node, or None if it is pruned."""
        node: Node | Branching | None = None
        for _ in range(self.relaxations):
            node = self._bound(program)
            if not isinstance(node, Node):
                return node
            program = node.program
            if 2 * (program.high > program.low).sum() >= node.part.program.n_columns:
                break
        return None if not isinstance(node, Node) else self._split(node)

    def _bound(self, program: IntegerProgram) -> Node | Branching | None:
        """Bound a node by its relaxation, and fix columns; None if the node is pruned."""
        tightened = propagate(program)
        if tightened is None:
            return None
        part = open_part(tightened)
        own = part.program
        if not own.n_rows:
            self.offer(part.whole(np.where((own.rewards > 0).astype(bool), own.high, own.low)))
            return None
        optimum = relax(own)
        if optimum is None:
            return self._split_first(tightened, part)
        if optimum.feasible:
            self.offer(part.whole(np.rint(optimum.values).astype(np.int64)))
        bound = optimum.bound(own)
        slack = bound.slack(self.target() - part.reward)
        if slack < 0:
            return None
        if not optimum.feasible:
            return self._split_first(tightened, part)
        fixed = bound.fix(own, slack)
        fixed_program = tightened.with_bounds(part.whole(fixed.low), part.whole(fixed.high))
        return Node(fixed_program, part, optimum.values)

    def _split(self, node: Node) -> Branching | None:
        """Return a branching on the most fractional column."""
        program, part, values = node
        places = np.flatnonzero((program.high > program.low)[part.columns])
        if not len(places):
            self.offer(program.low)
            return None
        fraction = values[places] - np.floor(values[places])
        k = int(np.argmin(np.abs(fraction - 0.5)))
        column = int(part.columns[places[k]])
        at = int(part.low[column]) + int(np.floor(values[places[k]]))
        at = min(max(int(program.low[column]), at), int(program.high[column]) - 1)
        return Branching(program, column, at, bool(fraction[k] > 0.5))

    @staticmethod
    def _split_first(program: IntegerProgram, part: OpenPart) -> Branching:
        """Return a branching on the first open column, if the relaxation was not solved."""
        column = int(part.columns[0])
        return Branching(program, column, int(program.low[column]), False)
