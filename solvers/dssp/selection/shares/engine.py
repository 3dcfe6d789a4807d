"""Solve a selection under shares of disjoint groups with the search of its own, then by HiGHS."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.clock import now
from schedopt.solvers.deciding import Decided, left, outwards
from schedopt.solvers.driving import drive, ended
from schedopt.solvers.dssp.selection.shares.groups import Groups
from schedopt.solvers.dssp.selection.shares.reading import Shape
from schedopt.solvers.dssp.selection.shares.search import SharesSearch
from schedopt.solvers.result import Limits, Result, gap
from schedopt.solvers.running import Run

if TYPE_CHECKING:
    from collections.abc import Callable

    from schedopt.formulations.dssp.selection import Selection
    from schedopt.instances.dssp import Selected

PATIENCE = 10.0
"""Seconds that the search may take before HiGHS goes on from there; of a limit, half at most."""
PART = 1.0
"""Seconds where it only bounds what HiGHS then solves."""


def solve(
    model: Selection,
    shape: Shape,
    limits: Limits | None = None,
    *,
    alone: bool = False,
    hint: Callable[[], Selected | None] | None = None,
) -> Result[Selected]:
    """Solve a selection that has this shape, or has it and more.

    Parameters
    ----------
    model : Selection
    shape : Shape
        From `reading.shape_of`.
    limits : Limits, optional
        When to stop; by default with a proof.
    alone : bool
        Whether to leave what the search does not close as it is; else HiGHS goes on, from the best
        selection and with the bound that are known by then.
    hint : callable, optional
        Finds another selection to start HiGHS from.

    Returns
    -------
    Result
        Not yet checked. An interruption (Ctrl-C) ends the run and keeps the best so far.
    """
    limits = limits or Limits()
    compiled()
    began = now()
    run = Run(limits if alone else _within(limits, PATIENCE if shape.whole else PART))
    search = _InRewards(shape, SharesSearch(shape.groups))
    stopped, message = drive(search, run, noise=0.0)
    run = replace(run, limits=limits)
    if stopped == "optimal" and not search.near(limits.gap):
        stopped = "completed"
    asked = left(limits, began)
    late = asked.time_limit == 0 and search.value is not None  # else HiGHS has at least the hint
    if alone or (shape.whole and (late or stopped in ("optimal", "interrupted"))):
        decided = Decided(stopped, search.columns(model), search.most, search.proven, message)
        return ended(model, run, decided, solver="shares", began=began)
    from schedopt.solvers.dssp.selection.binary import engine

    hints = [hint() if hint else None, search.selected(model)]
    result = engine.solve(model, asked, hints=hints, known=search.most)
    return _after(result, run, began)


def _within(limits: Limits, seconds: float) -> Limits:
    """Return limits with so many seconds, and half the time there is, at most."""
    limit = limits.time_limit
    return replace(limits, time_limit=seconds if limit is None else min(seconds, limit / 2))


def _after(result: Result[Selected], run: Run, began: float) -> Result[Selected]:
    """Return the result of HiGHS with the time and the trace of the search before it."""
    before = now() - began - result.seconds.solve
    trace = (*run.trace, *((round(t + before, 6), *rest) for t, *rest in result.trace))
    seconds = msgspec.structs.replace(result.seconds, solve=now() - began)
    return msgspec.structs.replace(result, seconds=seconds, trace=trace)


@dataclass(frozen=True, eq=False)
class _InRewards:
    """A search whose numbers are rewards, with what the fixed jobs are worth."""

    shape: Shape
    search: SharesSearch

    @property
    def value(self) -> float | None:
        """The reward of the best selection so far; None while there is none."""
        value = self.search.value
        return None if value is None else float(self.shape.reward(value))

    @property
    def most(self) -> Fraction | None:
        """What no selection is worth more than; None while nothing is known."""
        bound = self.search.bound
        return None if bound is None else self.shape.reward(bound)

    @property
    def bound(self) -> float | None:
        """The same, as the least double that is no less."""
        return None if self.most is None else outwards(self.most)

    @property
    def proven(self) -> bool:
        """Whether the best so far is the optimum."""
        return self.search.proven

    def advance(self, seconds: float) -> bool:
        """Search on for about so many seconds; tell whether there is nothing left to do."""
        return self.search.advance(seconds)

    def near(self, asked: float) -> bool:
        """Tell whether the best so far is proven, or within the relative gap that is asked for."""
        distance = gap(self.value, self.bound)
        return self.proven or (distance is not None and distance <= asked)

    def positions(self) -> NDArray[np.intp] | None:
        """Return the positions of the jobs selected so far, in order; None where none are found."""
        chosen = self.search.chosen()
        return None if chosen is None else np.sort(np.concatenate((self.shape.fixed, chosen)))

    def columns(self, model: Selection) -> NDArray[np.int8] | None:
        """Return the best selection so far with 1 for each job that is in it, shape (J,)."""
        positions = self.positions()
        if positions is None:
            return None
        columns = np.zeros(len(model.instance.jobs), dtype=np.int8)
        columns[positions] = 1
        return columns

    def selected(self, model: Selection) -> Selected | None:
        """Return the best selection so far as a solution."""
        positions = self.positions()
        return None if positions is None else model.selected(positions)


@cache
def compiled() -> None:
    """Search once among next to nothing, so that compiling is not counted as solving."""
    ones = np.ones(4, dtype=np.int64)
    owner = np.array([0, 0, 1, 1])
    groups = Groups.of(2 * ones, ones, owner, (np.array([0, 2]), np.array([3, 4])), 5)
    SharesSearch(groups).advance(60.0)
