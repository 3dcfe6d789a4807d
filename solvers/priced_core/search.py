"""Solve an integer program by row prices, reduced-cost fixing, and exact search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, gcd, inf

import numpy as np

from schedopt.formulations.program import IntArray, IntegerProgram
from schedopt.instances.decimals import exact_sum
from schedopt.solvers.clock import expired, now
from schedopt.solvers.mip import MatrixRun, engine_of
from schedopt.solvers.priced_core.bounds import PricedBound
from schedopt.solvers.priced_core.exact import BranchAndBound, fits_cp_sat, solve_by_cp_sat
from schedopt.solvers.priced_core.open_part import (
    OpenPart,
    open_part,
    propagate,
)
from schedopt.solvers.priced_core.relaxation import (
    LinearOptimum,
    ScaledProgram,
    relax,
    relax_many_columns,
)
from schedopt.solvers.result import Limits

Note = Callable[[float | None, float | None], None]
"""Called with the reward of the incumbent and the bound; None if there is none."""


def ignore(value: float | None, bound: float | None) -> None:
    """Ignore progress."""


@dataclass(frozen=True)
class PricedCoreParams:
    """Parameters of the engine.

    Attributes
    ----------
    cores : tuple of int
        Columns of the first cores; each is solved if four times as many columns are open.
    core_seconds : float
        Most seconds for each of them.
    relaxation_columns : int
        Columns of a relaxation by column generation.
    few_rows : int
        Most rows for which the relaxation is solved by column generation.
    branching_columns, branching_seconds : int, float
        With at most so many open columns, branch and bound runs first, for so many seconds.
    cp_sat_columns : int
        With at most so many open columns, CP-SAT runs before HiGHS.
    cp_sat_share, cp_sat_seconds : float
        The fraction of the remaining time for CP-SAT then, and the seconds without a time limit.
    blurred_seconds : float
        Seconds for a first solution of a program with blurred rows.
    """

    cores: tuple[int, ...] = (60, 250)
    core_seconds: float = 0.5
    relaxation_columns: int = 3_000
    few_rows: int = 8
    branching_columns: int = 60
    branching_seconds: float = 1.0
    cp_sat_columns: int = 2_000
    cp_sat_share: float = 0.4
    cp_sat_seconds: float = 30.0
    blurred_seconds: float = 1.0


DEFAULTS = PricedCoreParams()


class PricedCoreSearch:
    """Search for an optimal solution of an integer program.

    Parameters
    ----------
    program : IntegerProgram
    limits : Limits
        The time limit, the requested gap, threads and seed.
    x : ndarray of int, optional
        A warm start; it is used if it is feasible.
    params : PricedCoreParams
    note : callable
        Called with the reward of the incumbent and the bound when one of them may have changed.

    Attributes
    ----------
    x : ndarray or None
        The incumbent.
    value : int
        Its reward; without an incumbent, less than every reward.
    bound : int or None
        The upper bound.
    proven : bool
        Whether the incumbent is optimal or, without an incumbent, the program is infeasible.
    interrupted : bool
    found_by, proved_by : str
        The steps that found the incumbent and proved it.
    price : PricedBound or None
        The Lagrangian bound of the program.
    """

    def __init__(
        self,
        program: IntegerProgram,
        limits: Limits | None = None,
        *,
        x: IntArray | None = None,
        params: PricedCoreParams = DEFAULTS,
        note: Note = ignore,
    ) -> None:
        self.limits, self.params, self.note = limits or Limits(), params, note
        limit = self.limits.time_limit
        self.until = inf if limit is None else now() + limit
        self.whole = program
        self.program = self.open = program
        self.step = gcd(*program.rewards.tolist()) or 1
        self.x: IntArray | None = None
        self.value = -exact_sum(np.abs(program.rewards) * program.high) - self.step
        self.bound: int | None = None
        self.proven = self.interrupted = False
        self.found_by = self.proved_by = ""
        self.price: PricedBound | None = None
        if x is not None:
            self.offer(x, "")

    # --- incumbent and bound

    def offer(self, x: IntArray, found_by: str) -> bool:
        """Make a point the incumbent if it is feasible and better; return True if feasible."""
        if not self.program.satisfied_by(x):
            return False
        value = self.program.reward_of(x)
        if self.x is None or value > self.value:
            self.x, self.value, self.found_by = x.copy(), value, found_by
            self.report()
        return True

    def close(self, proved_by: str) -> None:
        """Record that no better solution exists."""
        self.proven, self.proved_by = True, proved_by
        self.bound = None if self.x is None else self.value

    def tighten(self, bound: int, proved_by: str) -> None:
        """Lower the bound, in units."""
        bound = bound // self.step * self.step
        if self.bound is None or bound < self.bound:
            self.bound = bound
            self.report()
        if self.x is not None and self.value >= self.bound:
            self.close(proved_by)

    def report(
        self, value: Fraction | int | None = None, bound: Fraction | int | None = None
    ) -> None:
        """Report incumbent and bound, or better ones that a solver has found, in units."""
        scale = self.whole.scale
        values = [v for v in (value, None if self.x is None else self.value) if v is not None]
        bounds = [b for b in (bound, self.bound) if b is not None]
        best, least = max(values, default=None), min(bounds, default=None)
        self.note(
            None if best is None else float(Fraction(best) / scale),
            None if least is None else float(Fraction(least) / scale),
        )

    @property
    def target(self) -> int:
        """The least reward of a better solution."""
        return self.value + self.step

    @property
    def is_over(self) -> bool:
        """Whether the incumbent is proven or within the gap, or the time limit is reached."""
        return self.proven or self.interrupted or expired(self.until) or self.is_near

    @property
    def is_near(self) -> bool:
        """Whether the incumbent is within the requested gap."""
        if self.x is None or self.bound is None or self.limits.gap <= 0:
            return False
        return self.bound - self.value <= Fraction(self.limits.gap) * max(1, abs(self.value))

    @property
    def seconds_left(self) -> float:
        """The seconds until the time limit."""
        return self.until - now()

    def _limits(self, seconds: float = inf) -> Limits:
        """Return limits for another solver."""
        seconds = max(min(seconds, self.seconds_left), 0.0)
        return replace(self.limits, time_limit=None if seconds == inf else seconds, watch=None)

    # --- the steps

    def run(self) -> PricedCoreSearch:
        """Solve the program, or stop at the limits."""
        self._take_steps(self._branch_at_once, self._price, self._solve_core, self._prove_rest)
        return self

    def run_mip(self, name: str = "highs") -> PricedCoreSearch:
        """Solve the program with a MIP solver, and prove the result in integers."""
        self._take_steps(lambda: self._solve_by_mip(name), self._prove_exactly)
        return self

    def run_branch_and_bound(self, seconds: float = inf) -> PricedCoreSearch:
        """Solve the program by branch and bound in integers alone."""
        self._take_steps(lambda: self._branch(seconds))
        return self

    def _take_steps(self, *steps: Callable[[], None]) -> None:
        try:
            if not self._propagate():
                return
            for step in steps:
                if self.is_over:
                    return
                step()
        except KeyboardInterrupt:
            self.interrupted = True

    def _propagate(self) -> bool:
        """Tighten bounds of columns by single rows; return True if some columns are open."""
        tightened = propagate(self.open)
        if tightened is None:
            self.close("rows" if self.price is None else "prices")
            return False
        self.open = tightened
        if (tightened.high > tightened.low).any():
            return True
        self.offer(tightened.low, "rows")
        self.close("rows" if self.price is None else "prices")
        return False

    def _branch_at_once(self) -> None:
        """Run branch and bound if few columns are open or numbers exceed 64 bits."""
        few = (self.open.high > self.open.low).sum() <= self.params.branching_columns
        if few or self.open.exceeds_64_bits:
            self._branch(self.params.branching_seconds)

    def _branch(self, seconds: float = inf) -> None:
        part, until = open_part(self.open), min(self.until, now() + seconds)
        tree = BranchAndBound(
            part.program,
            lambda: self.target - part.reward,
            until,
            offer=lambda x: self.offer(part.whole(x), "branch-and-bound"),
        )
        if tree.run():
            self.close("branch-and-bound")

    # --- prices

    def _price(self) -> None:
        """Solve the relaxation, compute its exact bound, round it, and fix columns."""
        part = open_part(self.open)
        own = part.program
        size = self.params.relaxation_columns
        if own.n_columns > 2 * size and own.n_rows <= self.params.few_rows:
            optimum = relax_many_columns(own, self.until, size)
        else:
            optimum = relax(own, self.seconds_left)
        if optimum is None:
            return
        if not optimum.feasible:
            if optimum.bound(own).slack(0) < 0:
                self.close("prices")
            return
        prices = np.zeros(self.program.n_rows)
        prices[part.rows] = optimum.prices
        self.price = PricedBound.of(self.open, prices)
        self.tighten(self.price.total // self.price.scale, "prices")
        if not self.proven:
            self._round(part, optimum, self.price.reduced[part.columns])
            self._fix()

    def _round(self, part: OpenPart, optimum: LinearOptimum, reduced: IntArray) -> None:
        """Offer the solution of the relaxation, rounded down, without columns of violated rows."""
        own = part.program
        x = np.floor(optimum.values + 1e-6).astype(np.int64)
        used = own.activities(x)
        for j in np.flatnonzero(x)[np.argsort(reduced[x > 0], kind="stable")].tolist():
            over = used > own.upper
            if not over.any():
                break
            at = own.entries_of(j)
            if over[own.row[at]].any():
                used[own.row[at]] -= own.coefficient[at] * x[j]
                x[j] = 0
        self.offer(part.whole(x), "prices")

    def _fix(self) -> None:
        """Fix columns by their reduced costs."""
        if self.x is None or self.price is None or self.proven:
            return
        slack = self.price.slack(self.target)
        if slack < 0:
            self.close("prices")
        else:
            self.open = self.price.fix(self.open, slack)

    def _solve_core(self) -> None:
        """Solve for the columns with the smallest reduced costs, the others as prices prefer.

        The better incumbent fixes more columns.
        """
        for size in self.params.cores:
            columns = np.flatnonzero(self.open.high > self.open.low)
            if self.price is None or len(columns) <= 4 * size:
                return
            losses = np.abs(self.price.reduced)[columns]
            core = columns[np.argsort(losses, kind="stable")[:size]]
            low = self.price.preferred(self.open)
            high = low.copy()
            low[core], high[core] = self.open.low[core], self.open.high[core]
            part = open_part(self.open.with_bounds(low, high))
            if not fits_cp_sat(part.program):
                return
            start = None if self.x is None else part.part_of(self.x)
            limits = self._limits(self.params.core_seconds)
            answer = solve_by_cp_sat(part.program, start, limits, lambda *_: None)
            self.interrupted |= answer.interrupted
            if answer.x is not None:
                self.offer(part.whole(answer.x), "cp-sat")
            self._fix()
            if self.is_over:
                return

    # --- remaining columns

    def _prove_rest(self) -> None:
        """Solve for the remaining columns: few with CP-SAT, many with HiGHS, then exactly."""
        if not self._propagate():
            return
        part = open_part(self.open)
        few = part.program.n_columns <= self.params.cp_sat_columns
        if few and fits_cp_sat(part.program):
            seconds = self.params.cp_sat_seconds
            if self.until < inf:
                seconds = self.params.cp_sat_share * self.seconds_left
            self._run_cp_sat(part, seconds)
        if not self.is_over:
            self._solve_by_mip("highs")
        if not self.is_over:
            self._prove_exactly()

    def _prove_exactly(self) -> None:
        """Prove in integers what the tolerances of a MIP solver leave open."""
        if not self._propagate():
            return
        part = open_part(self.open)
        few = part.program.n_columns <= self.params.branching_columns
        if few:
            self._branch(self.params.branching_seconds)
        if not self.is_over and fits_cp_sat(part.program):
            self._run_cp_sat(part, inf)
        elif not self.is_over:
            self._branch()

    def _run_cp_sat(self, part: OpenPart, seconds: float) -> None:
        def note(value: int | None, bound: int | None) -> None:
            found = (None if one is None else one + part.reward for one in (value, bound))
            self.report(*found)

        start = None if self.x is None else part.part_of(self.x)
        answer = solve_by_cp_sat(part.program, start, self._limits(seconds), note)
        self.interrupted |= answer.interrupted
        if answer.x is not None:
            self.offer(part.whole(answer.x), "cp-sat")
        if answer.ended:
            self.close("cp-sat")
        elif answer.bound is not None:
            self.tighten(answer.bound + part.reward, "cp-sat")

    def _solve_by_mip(self, name: str) -> None:
        """Solve the open part with a MIP solver, and use its bound unless it may be wrong.

        With blurred rows, the bound is used only if the solver finds it with and without presolve:
        wrong bounds were observed with one of the settings, but never with both.
        """
        scaled = ScaledProgram(open_part(self.open).program)
        is_blurred = bool(scaled.blurred.any())
        if is_blurred and self.x is None:
            self._run_mip(name, self.open, self.params.blurred_seconds, inwards=True)
        bound = self._run_mip(name, self.open, inf, presolve=self.x is None and not is_blurred)
        if is_blurred and bound is not None and not self.is_over:
            again = self._run_mip(name, self.open, inf)
            bound = None if again is None else max(bound, again)
        if bound is not None and not self.interrupted:
            self.tighten(bound, name)

    def _run_mip(
        self,
        name: str,
        program: IntegerProgram,
        seconds: float,
        *,
        presolve: bool = True,
        inwards: bool = False,
    ) -> int | None:
        """Solve for the open columns with a MIP solver; return its bound, in units."""
        part, engine = open_part(program), engine_of(name)
        own = part.program
        if not own.n_columns:
            self.offer(program.low, name)
            return self.program.reward_of(program.low)
        scaled = ScaledProgram(own)
        matrix = scaled.matrix(inwards=inwards)

        def in_units(value: float | None) -> Fraction | None:
            if value is None or not np.isfinite(value):
                return None
            return Fraction(value) * (1 << scaled.reward_shift) + part.reward

        def watch(_: float, value: float | None, bound: float | None) -> None:
            self.report(in_units(value), in_units(bound))

        run = MatrixRun(replace(self._limits(seconds), watch=watch), matrix=matrix)
        start = None if self.x is None else part.part_of(self.x)
        known = None
        if start is not None:
            known = np.arange(own.n_columns, dtype=np.int32), start.astype(float)
        answer = engine.run(run, run.limits, known, presolve)
        self.interrupted |= answer.stopped == "interrupted"
        if answer.values is not None:
            x = part.whole(np.rint(answer.values).astype(np.int64))
            self.offer(x, name)
        if (bound := in_units(answer.bound)) is None:
            return None
        return floor(bound + abs(bound) / 10**12 + scaled.reward_tolerance)
