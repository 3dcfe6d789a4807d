"""Solve a selection as a 0-1 program: first an engine, then exactly what it leaves undecided.

An engine such as HiGHS solves the program in floating point, loosened where its tolerance could
hide something (see `ScaledProgram`). What it finds is looked at in whole numbers. What it calls
infeasible, and the optimum of few columns, is shown once more in `branching`, without
rounding; so is what it cannot tell apart, two rewards or two sides of a row. Else the result says
that it is not proven, and why.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from schedopt.formulations.program import Program
from schedopt.solvers import mip
from schedopt.solvers.clock import now
from schedopt.solvers.conflict import Holds
from schedopt.solvers.deciding import Decided, conclude, remaining_limits
from schedopt.solvers.dssp.selection import SMALL
from schedopt.solvers.dssp.selection.branch_and_bound import program_arrays
from schedopt.solvers.dssp.selection.branch_and_bound.branching import BranchAndBound, deadline
from schedopt.solvers.dssp.selection.branch_and_bound.program_arrays import ScaledProgram
from schedopt.solvers.engine import EngineTask, Partial
from schedopt.solvers.mip import Answer, Engine, MatrixRun, Start, engine_of
from schedopt.solvers.result import Limits, Result, Termination

if TYPE_CHECKING:
    from schedopt.formulations.dssp.season import Season
    from schedopt.formulations.dssp.selection import Selection

PATIENCE = 20.0
"""Seconds that the exact search may take where no time limit is given."""
MOMENT = 1.0
"""Seconds of branching before the engine is asked."""


def tree(model: Selection | Season, task: EngineTask) -> Result[Any] | Partial:
    """Solve a selection or a season by branching in whole numbers, for a moment or alone."""
    solver = warm_started_solver(model, task, "highs")
    limit, version = task.limits.time_limit, f"Python {platform.python_version()}"
    seconds = (PATIENCE if limit is None else limit) if task.alone else MOMENT
    decided = solver.decide_at_once() or solver.branch(seconds)
    if decided is not None:
        decided = replace(decided, proved_by=decided.proved_by or "tree")
        return _result(model, solver, decided, "tree", version)
    decided = solver.decided("completed", None, "the exact search did not end")
    return Partial(_result(model, solver, decided, "tree", version))


def by_mip(model: Selection | Season, task: EngineTask) -> Result[Any]:
    """Solve a selection or a season in HiGHS or another, then exactly what that leaves undecided.

    A model that was changed natively is solved as it stands.
    """
    if model.changed:
        return mip.solve(engine_of(task.name), model, task.limits)
    solver = warm_started_solver(model, task, task.name)
    decided, engine = solver.decide_at_once() or solver.solve_by_mip(), solver.engine
    result = _result(model, solver, decided, engine.name, engine.version())
    by = result.proved_by or engine.name
    return msgspec.structs.replace(
        result, proved_by=by, bounded_by=None if result.bound is None else by
    )


def warm_started_solver(model: Selection | Season, task: EngineTask, name: str) -> Solver:
    """Return a solver that knows what earlier engines and policies found."""
    engine = engine_of(name)
    if isinstance(task.hints, Solver):
        return task.hints.restart(task.limits)
    program = model.program()
    upper = task.bound if isinstance(task.bound, Fraction) else None
    solver = Solver(program, task.limits, engine=engine, known=upper)
    for solution in (task.heuristic(), task.incumbent):
        if solution is not None:
            solver.offer(program.with_implied(model.columns(solution)))
    return solver


def _result(
    model: Selection | Season, solver: Solver, decided: Decided, name: str, version: str
) -> Result[Any]:
    """Return what was decided as a result; of what is infeasible, with a smallest conflict."""
    holds = conflict_oracle(
        solver.program, list(model.side_constraints()), solver.limits, solver.began
    )
    options = {"threads": solver.limits.threads}
    return conclude(
        model, solver.noted, decided, solver=name, version=version, options=options, holds=holds
    )


class Solver:
    """One run: the engine, a look at what it found, and the exact search where that is not enough.

    With ``satisfy`` any selection that keeps the rows will do; ``names`` are the side constraints
    to keep, all by default; no selection is worth more than ``known``, in rewards.
    ``refuting`` are side constraints that cannot hold together, once the exact search says so.
    """

    def __init__(
        self,
        program: Program,
        limits: Limits,
        *,
        satisfy: bool = False,
        names: frozenset[str] | None = None,
        engine: Engine | None = None,
        known: Fraction | None = None,
    ) -> None:
        self.engine = engine or engine_of("highs")
        self.found_by: str | None = None
        self.proved_by: str | None = None
        self.program, self.limits, self.satisfy = program, limits, satisfy
        self.known = None if known is None else known * program.scale
        self.began = now()
        self.whole = program_arrays.ProgramArrays.of(program, names)
        self.start = program_arrays.initial_values(program)
        self._fixed, self.possible = self.whole.propagate(self.start)
        self.possible = self.possible and not self.whole.hopeless
        self.refuting: frozenset[str] | None = None
        self.unit = min(program.scale, Fraction(10) ** 300)  # of what the engine reports on its way
        self.best: program_arrays.Values | None = None
        self.presolve = True
        self._write_open_part()

    def _write_open_part(self) -> None:
        """Write what is left open for the engine and for the exact search."""
        self.arrays = self.whole.without(self.start)
        self.scaled = ScaledProgram.of(self.arrays)
        offset, unit = float(self.worth(self.start) / self.unit), float(self.unit)
        matrix = self.scaled.matrix(self.arrays, self.start, unit=unit, offset=offset)
        self.noted = MatrixRun(self.limits, matrix=matrix)

    def narrow(self, values: program_arrays.Values) -> None:
        """Fix columns at these values: the incumbent and every better selection have them.

        Presolve, with a good start and good prices, was seen to cost more than it saves.
        """
        self.whole.propagate(values)
        self.start, self.presolve = values, False
        self._write_open_part()

    def restart(self, limits: Limits) -> Solver:
        """Begin anew with what is known."""
        self.limits = self.noted.limits = limits
        self.began = now()
        return self

    def offer(self, chosen: Iterable[int], by: str | None = None) -> bool:
        """Keep a selection of columns, found by an engine, if it keeps the rows and is the best."""
        values = np.zeros(len(self.program.columns), dtype=np.int8)
        values[list(chosen)] = 1
        if self.whole.hopeless or values[program_arrays.initial_values(self.program) == 0].any():
            return False
        if self.whole.cut_off(values) is not None:
            return False
        if self.best is None or self.worth(values) > self.worth(self.best):
            self.best, self.found_by = values, by
        return True

    def run(self) -> Decided:
        """Solve: at once, by branching where there are few columns, or by the engine."""
        decided = self.decide_at_once()
        if decided is None and self.is_small:
            decided = self.branch(MOMENT)
        return decided or self.solve_by_mip()

    @property
    def is_small(self) -> bool:
        """Whether few enough columns are open for branching."""
        return bool((self.start == program_arrays.FREE).sum() <= SMALL)

    def decide_at_once(self) -> Decided | None:
        """Return what single rows, or a bound that is known, decide; None where they do not."""
        if not self.possible:
            return Decided("infeasible", None, None, proven=True)
        if not (self.start == program_arrays.FREE).any():
            return self._proven(self.start)
        if self.best is not None and self.known == self.worth(self.best):
            return self._proven(self.best)
        return None

    def solve_by_mip(self) -> Decided:
        """Run the engine, and look at what it found."""
        presolve = self.presolve and not self.scaled.blurred.any()
        limits = remaining_limits(self.limits, self.began)
        answer = self.engine.run(self.noted, limits, self._incumbent(self.start), presolve)
        return self._verify(answer)

    def solve_core(self, values: program_arrays.Values, seconds: float) -> Termination:
        """Let the engine choose among free columns alone, for so long; tell why it stopped."""
        arrays = self.whole.without(values)
        matrix = ScaledProgram.of(arrays).matrix(arrays, values, unit=float(self.unit))
        limits = replace(self.limits, time_limit=seconds, watch=None)
        run = MatrixRun(limits, matrix=matrix)
        answer = self.engine.run(run, limits, self._incumbent(values), True)
        self._offer_point(answer, values)
        return answer.stopped

    def _incumbent(self, values: program_arrays.Values) -> Start | None:
        """Return the free columns, and what the best selection makes of them."""
        if self.best is None:
            return None
        free = np.flatnonzero(values == program_arrays.FREE).astype(np.int32)
        return free, self.best[free].astype(float)

    def _offer_point(self, answer: Answer, values: program_arrays.Values) -> bool:
        """Offer what the engine makes of the free columns; tell whether it keeps the rows."""
        if answer.values is None:
            return True
        point = np.where(values == program_arrays.FREE, answer.values > 0.5, values == 1)
        return self.offer(np.flatnonzero(point).tolist(), self.engine.name)

    def _verify(self, answer: Answer) -> Decided:
        """Judge the engine's answer in integers."""
        stopped, right = answer.stopped, self._offer_point(answer, self.start)
        if self.satisfy and self.best is not None:
            return self._proven(self.best)
        if stopped == "infeasible" and self.best is None:
            return self.close_gap(None, f"{self.engine.title} finds that nothing keeps the rules")
        ended = stopped in ("optimal", "infeasible", "error")
        bounds = (self._bound(answer) if stopped != "infeasible" else None), self.known
        bound = min((one for one in bounds if one is not None), default=None)
        if self.best is not None and bound is not None:
            worth = self.worth(self.best)
            if self.known is not None and worth >= self.known:
                return self._proven(self.best)
            if right and self.scaled.sharp_rewards and self._meets(bound, worth):
                decided = self.branch(MOMENT) if self.is_small else None
                if decided or self._believes_optimum(worth):
                    return decided or self._proven(self.best)
                right = False
            bound = max(bound, Fraction(worth))
            ended = ended and not self.near(bound)
        if not ended:
            return self.decided(stopped, bound)
        what = "two rewards" if right else "the two sides of a row"
        return self.close_gap(bound, f"{what} are too close for {self.engine.title} to tell apart")

    def near(self, bound: Fraction) -> bool:
        """Tell whether the incumbent is within the requested gap of a bound, in units."""
        worth = 0 if self.best is None else self.worth(self.best)
        near = bound - worth <= Fraction(self.limits.gap) * max(1, worth)
        return self.limits.gap > 0 and self.best is not None and near

    def _meets(self, bound: Fraction, worth: int) -> bool:
        """Tell whether a bound leaves room for nothing better."""
        return bound < worth + self.scaled.step * Fraction(999, 1000)

    def _believes_optimum(self, worth: int) -> bool:
        """Tell whether to believe an optimum: with blurred rows only if found twice.

        With and without its presolve HiGHS was seen to be wrong of such rows, never with both.
        """
        if not self.scaled.blurred.any():
            return True
        again = MatrixRun(self.limits, matrix=self.noted.matrix)
        answer = self.engine.run(again, remaining_limits(self.limits, self.began), None, True)
        bound = self._bound(answer)
        return answer.stopped == "optimal" and bound is not None and self._meets(bound, worth)

    def close_gap(self, bound: Fraction | None, why: str) -> Decided:
        """Decide by the exact search what the engine leaves open or may get wrong: ``why``.

        The bound is what is known by now, in units.
        """
        limit = remaining_limits(self.limits, self.began).time_limit
        patience = PATIENCE if limit is None else limit
        decided = self.branch(patience)
        if decided:
            return replace(decided, bound=decided.bound or self._in_rewards(bound))
        message = f"not proven: {why}, and the exact search did not end in {patience:.3g} s"
        return self.decided("completed" if limit is None else "time-limit", bound, message)

    def branch(self, seconds: float) -> Decided | None:
        """Search without rounding; None where it does not end in time."""
        limit = remaining_limits(self.limits, self.began).time_limit
        stop = deadline(seconds if limit is None else min(seconds, limit))
        incumbent = None if self.best is None else self.worth(self.best) - self.worth(self.start)
        tree = BranchAndBound(
            self.arrays, self.start, incumbent, self.satisfy, stop=stop, scaled=self.scaled
        )
        interrupted = False
        try:
            tree.run()
        except KeyboardInterrupt:
            interrupted = True
        if tree.best is not None:
            self.offer(np.flatnonzero(tree.best == 1).tolist(), "tree")
        if not tree.done:
            return self.decided("interrupted", None) if interrupted else None
        self.proved_by = "tree"
        if self.best is None:
            self.refuting = self._rules_used(tree)
            return Decided("infeasible", None, None, proven=True, proved_by="tree")
        return self._proven(self.best)

    def _rules_used(self, tree: BranchAndBound) -> frozenset[str]:
        """Return the side constraints whose rows a search without solutions needed."""
        used = {self.whole.keys[i] for i, _ in self._fixed} | {tree.arrays.hopeless}
        used.update(tree.arrays.keys[i] for i in tree.used)
        return frozenset(row.name for row in self.program.rows if row.key in used and row.name)

    def decided(self, stopped: Termination, bound: Fraction | None, message: str = "") -> Decided:
        """Return what is known without a proof; the bound is in units."""
        upper = self._in_rewards(bound)
        return Decided(stopped, self.best, upper, False, message, self.found_by)

    def _proven(self, best: program_arrays.Values) -> Decided:
        worth = self.worth(best) / self.program.scale
        return Decided("optimal", best, worth, True, "", self.found_by, self.proved_by)

    def _in_rewards(self, bound: Fraction | None) -> Fraction | None:
        return None if bound is None else bound / self.program.scale

    def _bound(self, answer: Answer) -> Fraction | None:
        """Return the bound in units; what tolerances can hide is added where it matters."""
        if answer.bound is None:
            return None
        bound = Fraction(answer.bound) * self.unit
        if self.scaled.sharp_rewards:
            return bound
        free = int((self.start == program_arrays.FREE).sum())
        return bound + abs(bound) / 10**12 + Fraction(free * 1e-7 / self.scaled.cost_scale)

    def worth(self, values: program_arrays.Values) -> int:
        """Return the worth of a selection, in units."""
        return self.program.worth(np.flatnonzero(values == 1).tolist())


def conflict_oracle(program: Program, names: Sequence[str], limits: Limits, began: float) -> Holds:
    """Return a function that tells whether some of the side constraints can hold together."""
    kept: list[frozenset[str]] = []  # what a known selection keeps, each
    refuted: list[frozenset[str]] = []  # what is known to have no selection, each

    def holds(asked: frozenset[str]) -> bool:
        if any(asked <= names for names in kept):
            return True
        if any(asked >= names for names in refuted):
            return False
        seconds = remaining_limits(limits, began).time_limit
        if seconds == 0:
            raise TimeoutError
        own = replace(limits, time_limit=seconds or PATIENCE, watch=None, gap=0.0)
        solver = Solver(program, own, satisfy=True, names=asked)
        decided = solver.run()
        if not decided.proven:
            raise TimeoutError(decided.message)
        if decided.best is None:
            refuted.append(asked if solver.refuting is None else solver.refuting)
            return False
        broken = program.breaks(np.flatnonzero(decided.best == 1).tolist())
        kept.append(frozenset(names) - {row.name for row in broken})
        return True

    return holds
