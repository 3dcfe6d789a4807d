"""Exact searches of integer programs: CP-SAT, and branch and bound with integer multipliers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from schedopt.formulations.program import SUM_BITS, IntArray, IntegerProgram
from schedopt.instances.decimals import exact_sum
from schedopt.instances.extras import installed
from schedopt.solvers.clock import expired, now
from schedopt.solvers.priced_core.bounds import PricedBound
from schedopt.solvers.priced_core.relaxation import Relaxation
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


class BranchAndBound:
    """Depth-first branch and bound; each node is pruned by the exact bound of integer multipliers.

    Parameters
    ----------
    program : IntegerProgram
    target : callable
        Returns the least reward of a better solution.
    until : float
        When to stop, by `clock.now`.
    offer : callable, optional
        Called with each integer point. Columns are fixed by reduced costs if it is given.
    record : callable, optional
        Called at each node, in depth-first order, with its program, the bound that prunes it or
        None, and the column on which it branches or None.
    """

    def __init__(
        self,
        program: IntegerProgram,
        target: Callable[[], int],
        until: float,
        *,
        offer: Callable[[IntArray], object] | None = None,
        record: Callable[[IntegerProgram, PricedBound | None, int | None], None] | None = None,
    ) -> None:
        self.program, self.target, self.until = program, target, until
        self.offer, self.record = offer, record
        self.relaxation = Relaxation(program)

    def run(self) -> bool:
        """Search; return True if the tree is complete."""
        waiting = [(self.program.low, self.program.high)]
        while waiting:
            if expired(self.until):
                return False
            waiting += self._children(self.program.with_bounds(*waiting.pop()))
        return True

    def _children(self, node: IntegerProgram) -> list[tuple[IntArray, IntArray]]:
        """Return the bounds of the columns in the branches of a node; the last one is the next."""
        optimum = self.relaxation.solve(self.until - now(), (node.low, node.high))
        bound = None if optimum is None else optimum.bound(node)
        values = optimum.values if optimum is not None and optimum.feasible else None
        if values is not None and self.offer:
            self.offer(np.rint(values).astype(np.int64))
        if bound is not None and (slack := bound.slack(self.target())) < 0:
            return self._note(node, bound, None)
        if values is not None and bound is not None and self.offer:
            node = bound.fix(node, slack)
        free = np.flatnonzero(node.high > node.low)
        if not len(free):
            if self.offer:
                self.offer(node.low)
            return self._note(node, None, None)
        k, at = int(free[0]), int(node.low[free[0]])
        if values is not None:
            k = int(free[np.argmax(np.abs(values[free] - np.rint(values[free])))])
            at = min(max(int(np.floor(values[k])), int(node.low[k])), int(node.high[k]) - 1)
        self._note(node, None, k)
        down, up = node.high.copy(), node.low.copy()
        down[k], up[k] = at, at + 1
        branches = [(up, node.high), (node.low, down)]
        up_first = self.offer and values is not None and values[k] - at > 0.5
        return branches[::-1] if up_first else branches

    def _note(
        self, node: IntegerProgram, bound: PricedBound | None, column: int | None
    ) -> list[tuple[IntArray, IntArray]]:
        if self.record:
            self.record(node, bound, column)
        return []
