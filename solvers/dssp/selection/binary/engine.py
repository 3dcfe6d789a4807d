"""Solve a selection as a 0-1 program: first an engine, then exactly what it leaves undecided.

An engine such as HiGHS solves the program in floating point, loosened where its tolerance could
hide something (see `scaled`). What it finds is looked at in whole numbers. What it calls
infeasible, and the optimum of few columns, is shown once more by the search in `tree`, without
rounding; so is what it cannot tell apart, two rewards or two sides of a row. Else the result says
that it is not proven, and why.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from schedopt.formulations.program import Program
from schedopt.solvers.catalog import engine_of
from schedopt.solvers.clock import now
from schedopt.solvers.conflict import ConflictNotReducedError, smallest_conflict
from schedopt.solvers.deciding import Decided, concluded, left
from schedopt.solvers.dssp.selection.binary.arrays import FREE, Arrays, Values, closed_columns
from schedopt.solvers.dssp.selection.binary.scaled import Scaled
from schedopt.solvers.dssp.selection.binary.tree import Tree, clock
from schedopt.solvers.mip import Answer, Engine, MatrixRun
from schedopt.solvers.result import Limits, Result, Seconds, Termination
from schedopt.solvers.running import make_result

if TYPE_CHECKING:
    from schedopt.formulations.dssp.season import Season
    from schedopt.formulations.dssp.selection import Selection

PATIENCE = 20.0
"""Seconds that the exact search may take where no time limit is given."""
SMALL, MOMENT = 60, 1.0
"""Columns up to which the exact search goes first, and seconds that it then may take."""


def solve(
    model: Selection | Season,
    limits: Limits | None = None,
    *,
    hints: Iterable[Any | None] = (),
    asked: Engine | None = None,
    known: Fraction | None = None,
) -> Result[Any]:
    """Solve a selection or a season without native changes.

    Parameters
    ----------
    model : Selection or Season
        With any side constraints.
    limits : Limits, optional
        When to stop; by default with a proof.
    hints : iterable of Selected, SelectedNights or None
        Solutions to start from: the best of those that keep all rows.
    asked : Engine, optional
        What solves the program in floating point, even a small one; by default HiGHS.
    known : Fraction, optional
        What no selection is worth more than.

    Returns
    -------
    Result
        Not yet checked. An interruption (Ctrl-C) ends the run and keeps the incumbent.
    """
    limits = limits or Limits()
    began = now()
    program = model.program()
    solver = Solver(program, limits, asked=asked, known=known)
    for hint in hints:
        if hint is not None:
            solver.offer(program.completed(model.columns(hint)))
    built = model.seconds + now() - began
    began = now()
    decided = solver.run()
    best = decided.best
    result = make_result(
        model,
        solver.noted,
        solver=solver.engine.name,
        version=solver.engine.version(),
        stopped=decided.stopped,
        solution=None if best is None else model.selected(np.flatnonzero(best[: model.width] == 1)),
        bound=None,
        options={"threads": limits.threads},
        message=decided.message,
    )
    result = concluded(result, decided, solver.noted)
    if decided.stopped == "infeasible":
        names, why = conflict(program, list(model.side()), limits, began)
        message = f"the conflict may not be the smallest: {why}" if why else msgspec.UNSET
        result = msgspec.structs.replace(result, conflict=names, message=message)
    seconds = Seconds(build=built, solve=now() - began)
    return msgspec.structs.replace(result, seconds=seconds)


class Solver:
    """One run: the engine, a look at what it found, and the exact search where that is not enough.

    Parameters
    ----------
    program : Program
    limits : Limits
    satisfy : bool
        Whether any selection that keeps the rows will do.
    names : frozenset of str, optional
        The side constraints to keep; all of them by default.
    asked : Engine, optional
        What solves it in floating point, even a small one; by default HiGHS.
    known : Fraction, optional
        What no selection is worth more than.

    Attributes
    ----------
    refuting : frozenset of str or None
        Side constraints that cannot hold together, where the exact search found that none do.
    """

    def __init__(
        self,
        program: Program,
        limits: Limits,
        *,
        satisfy: bool = False,
        names: frozenset[str] | None = None,
        asked: Engine | None = None,
        known: Fraction | None = None,
    ) -> None:
        self.asked, self.engine = asked, asked or engine_of("highs")
        self.program, self.limits, self.satisfy = program, limits, satisfy
        self.known = None if known is None else known * program.scale
        self.began = now()
        self.whole = Arrays.of(program, names)
        self.start = closed_columns(program)
        self._fixed, self.possible = self.whole.propagate(self.start)
        self.possible = self.possible and not self.whole.hopeless
        self.refuting: frozenset[str] | None = None
        self.arrays = self.whole.without(self.start)
        self.scaled = Scaled.of(self.arrays)
        self.unit = min(program.scale, Fraction(10) ** 300)  # of what the engine reports on its way
        offset = float(self._worth(self.start) / self.unit)
        unit = float(self.unit)
        matrix = self.scaled.matrix(self.arrays, self.start, unit=unit, offset=offset)
        self.noted = MatrixRun(limits, matrix=matrix)
        self.best: Values | None = None

    def offer(self, chosen: Iterable[int]) -> bool:
        """Keep a selection of columns if it keeps the rows and beats the best so far."""
        values = np.zeros(len(self.program.columns), dtype=np.int8)
        values[list(chosen)] = 1
        if self.whole.hopeless or values[closed_columns(self.program) == 0].any():
            return False
        if self.whole.cut_off(values) is not None:
            return False
        if self.best is None or self._worth(values) > self._worth(self.best):
            self.best = values
        return True

    def run(self) -> Decided:
        """Solve."""
        if not self.possible:
            return Decided("infeasible", None, None, proven=True)
        if not (self.start == FREE).any():
            return self._proven(self.start)
        if self.best is not None and self.known == self._worth(self.best):
            return self._proven(self.best)
        few = self.asked is None and (self.start == FREE).sum() <= SMALL
        if few and (decided := self._searched(MOMENT)):
            return decided
        start = None
        if self.best is not None:
            free = np.flatnonzero(self.start == FREE).astype(np.int32)
            start = (free, self.best[free].astype(float))
        presolve = not self.scaled.blurred.any()
        return self._judged(
            self.engine.run(self.noted, left(self.limits, self.began), start, presolve)
        )

    def _judged(self, answer: Answer) -> Decided:
        """Look at what the engine says in whole numbers."""
        stopped = answer.stopped
        right = True
        if answer.values is not None:
            point = np.where(self.start == FREE, answer.values > 0.5, self.start == 1)
            right = self.offer(np.flatnonzero(point).tolist())
        if self.satisfy and self.best is not None:
            return self._proven(self.best)
        if stopped == "infeasible" and self.best is None:
            return self.closed(None, f"{self.engine.title} finds that nothing keeps the rules")
        ended = stopped in ("optimal", "infeasible", "error")
        bound = self._bound(answer) if stopped != "infeasible" else None
        if self.known is not None:
            bound = self.known if bound is None else min(bound, self.known)
        if self.best is not None and bound is not None:
            worth = self._worth(self.best)
            if self.known is not None and worth >= self.known:
                return self._proven(self.best)
            sharp = right and self.scaled.sharp_rewards
            if sharp and bound < worth + self.scaled.step * Fraction(999, 1000):
                few = (self.start == FREE).sum() <= SMALL
                decided = self._searched(MOMENT) if few else None
                if decided or self._agreed(worth):
                    return decided or self._proven(self.best)
                right = False
            bound = max(bound, Fraction(worth))
            near = bound - worth <= Fraction(self.limits.gap) * max(1, worth)  # in units
            ended = ended and not (self.limits.gap and near)
        if not ended:
            return self.decided(stopped, bound)
        what = "two rewards" if right else "the two sides of a row"
        return self.closed(bound, f"{what} are too close for {self.engine.title} to tell apart")

    def _agreed(self, worth: int) -> bool:
        """Tell whether an optimum is to be believed: of blurred rows only when found twice.

        With and without its presolve HiGHS was seen to be wrong of such rows, never with both.
        """
        if not self.scaled.blurred.any():
            return True
        again = MatrixRun(self.limits, matrix=self.noted.matrix)
        answer = self.engine.run(again, left(self.limits, self.began), None, True)
        bound = self._bound(answer)
        if answer.stopped != "optimal" or bound is None:
            return False
        return bound < worth + self.scaled.step * Fraction(999, 1000)

    def closed(self, bound: Fraction | None, why: str) -> Decided:
        """Decide by the exact search what the engine cannot decide, or may be wrong about.

        Parameters
        ----------
        bound : Fraction or None
            What is known by now, in units.
        why : str
            What the engine leaves open, for the message.
        """
        limit = left(self.limits, self.began).time_limit
        patience = PATIENCE if limit is None else limit
        decided = self._searched(patience)
        if decided:
            return replace(decided, bound=decided.bound or self._real(bound))
        if self.best is None and (decided := self._contradictory(patience)):
            return decided
        message = f"not proven: {why}, and the exact search did not end in {patience:.3g} s"
        return self.decided("completed" if limit is None else "time-limit", bound, message)

    def _searched(self, seconds: float) -> Decided | None:
        """Search without rounding; None where it does not end in time."""
        limit = left(self.limits, self.began).time_limit
        stop = clock(seconds if limit is None else min(seconds, limit))
        known = None if self.best is None else self._worth(self.best) - self._worth(self.start)
        tree = Tree(self.arrays, self.start, known, self.satisfy, stop=stop, scaled=self.scaled)
        interrupted = False
        try:
            tree.run()
        except KeyboardInterrupt:
            interrupted = True
        if tree.best is not None:
            self.offer(np.flatnonzero(tree.best == 1).tolist())
        if not tree.done:
            return self.decided("interrupted", None) if interrupted else None
        if self.best is None:
            self.refuting = self._named(tree)
            return Decided("infeasible", None, None, proven=True)
        return self._proven(self.best)

    def _named(self, tree: Tree) -> frozenset[str]:
        """Return the side constraints whose rows a search without solutions needed."""
        used = {self.whole.keys[i] for i, _ in self._fixed}
        if tree.arrays.hopeless:
            used.add(tree.arrays.hopeless[0])
        used.update(tree.arrays.keys[i] for i in tree.used)
        return frozenset(row.name for row in self.program.rows if row.key in used and row.name)

    def _contradictory(self, seconds: float) -> Decided | None:
        """Ask CP-SAT, which counts in whole numbers, whether nothing keeps the rows."""
        from schedopt.solvers.dssp.selection.binary import again

        if not again.fits(self.arrays):
            return None
        limits = left(self.limits, self.began)
        seconds = min(seconds, limits.time_limit or seconds)
        best, done = again.by_cpsat(self.arrays, self.start, limits, seconds)
        if best is not None:
            self.offer(np.flatnonzero(best == 1).tolist())
            return self._proven(best) if done or self.satisfy else None
        return Decided("infeasible", None, None, proven=True) if done else None

    def decided(self, stopped: Termination, bound: Fraction | None, message: str = "") -> Decided:
        """Return what is known without a proof; the bound is in units."""
        return Decided(stopped, self.best, self._real(bound), proven=False, message=message)

    def _real(self, bound: Fraction | None) -> Fraction | None:
        return None if bound is None else bound / self.program.scale

    def _proven(self, best: Values) -> Decided:
        return Decided("optimal", best, self._worth(best) / self.program.scale, proven=True)

    def _bound(self, answer: Answer) -> Fraction | None:
        """Return the bound in units; what tolerances can hide is added where it matters."""
        if answer.bound is None:
            return None
        bound = Fraction(answer.bound) * self.unit
        if self.scaled.sharp_rewards:
            return bound
        free = int((self.start == FREE).sum())
        return bound + abs(bound) / 10**12 + Fraction(free * 1e-7 / self.scaled.cost_scale)

    def _worth(self, values: Values) -> int:
        return self.program.worth(np.flatnonzero(values == 1).tolist())


def conflict(
    program: Program, names: Sequence[str], limits: Limits, began: float
) -> tuple[tuple[str, ...], str]:
    """Return a smallest set of side constraints that cannot hold together.

    Returns
    -------
    names : tuple of str
    why : str
        Why it may not be the smallest; empty where it is.
    """
    kept: list[frozenset[str]] = []  # what a known selection keeps, each
    refuted: list[frozenset[str]] = []  # what is known to have no selection, each

    def holds(asked: frozenset[str]) -> bool:
        if any(asked <= names for names in kept):
            return True
        if any(asked >= names for names in refuted):
            return False
        seconds = left(limits, began).time_limit
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

    try:
        return tuple(smallest_conflict(names, holds)), ""
    except ConflictNotReducedError as error:
        return tuple(error.conflict), error.why
