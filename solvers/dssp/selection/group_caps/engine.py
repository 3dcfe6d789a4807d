"""Solve a selection under shares of disjoint groups with the search of its own, then by HiGHS."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.clock import now
from schedopt.solvers.deciding import Decided, conclude, remaining_limits, round_up
from schedopt.solvers.driving import drive, version
from schedopt.solvers.dssp.selection.branch_and_bound.solving import tree
from schedopt.solvers.dssp.selection.group_caps.reading import GroupCaps
from schedopt.solvers.dssp.selection.group_caps.search import GroupCapsSearch
from schedopt.solvers.engine import EngineTask, Partial
from schedopt.solvers.result import Limits, Result, gap
from schedopt.solvers.running import Run

if TYPE_CHECKING:
    from schedopt.formulations.dssp.selection import Selection
    from schedopt.instances.dssp import Selected

PATIENCE = 10.0
"""Seconds of search before HiGHS takes over; at most half of a time limit."""
BEYOND = 3.0
"""Seconds beyond its part of the limit for a first selection, far better than one by ratio alone;
no more than what is left."""


def solve(model: Selection, task: EngineTask) -> Result[Selected] | Partial:
    """Solve a selection under shares of disjoint groups; hand what stays open to the next engine.

    An interruption (Ctrl-C) ends the run and keeps the best so far.
    """
    limits = task.limits
    if not task.alone:
        seconds = PATIENCE if limits.time_limit is None else min(PATIENCE, limits.time_limit / 2)
        limits = replace(limits, time_limit=seconds)
    began, search, result = _run_search(model, task, limits)
    late = remaining_limits(task.limits, began).time_limit == 0 and search.value is not None
    done = result.termination in ("optimal", "interrupted")
    if task.alone and result.termination == "completed" and search.value is None:
        task = replace(task, limits=remaining_limits(task.limits, began))
        return tree(model, task)  # which says what keeps no rules, and why
    return result if task.alone or late or done else Partial(result, search.most)


def _run_search(
    model: Selection, task: EngineTask, limits: Limits
) -> tuple[float, _RewardView, Result[Selected]]:
    """Search within limits; return when that began, the search, and its result."""
    began, shape, run = now(), task.reading, Run(limits)
    search = _RewardView(shape, GroupCapsSearch(shape.groups))
    stopped, message = drive(search, run, noise=0.0)
    given_up = remaining_limits(task.limits, began).time_limit
    beyond = now() + (BEYOND if given_up is None else min(BEYOND, given_up))
    while stopped == "time-limit" and search.value is None and now() < beyond:
        if search.advance(0.0):
            break
    run = replace(run, limits=task.limits)
    if stopped == "optimal" and not search.near(task.limits.gap):
        stopped = "completed"
    decided = Decided(stopped, search.columns(model), search.most, search.proven, message)
    return began, search, conclude(model, run, decided, solver=task.name, version=version())


@dataclass(frozen=True, eq=False)
class _RewardView:
    """A search whose numbers are rewards, including those of the fixed jobs."""

    shape: GroupCaps
    search: GroupCapsSearch

    @property
    def value(self) -> float | None:
        """The reward of the best selection so far; None while there is none."""
        value = self.search.value
        return None if value is None else float(self.shape.reward(value))

    @property
    def most(self) -> Fraction | None:
        """The best upper bound so far; None until there is one."""
        bound = self.search.bound
        return None if bound is None else self.shape.reward(bound)

    @property
    def bound(self) -> float | None:
        """The same, rounded up to a double."""
        return None if self.most is None else round_up(self.most)

    @property
    def proven(self) -> bool:
        """Whether the best so far is the optimum."""
        return self.search.proven

    def advance(self, seconds: float) -> bool:
        """Search on for about so many seconds; tell whether there is nothing left to do."""
        return self.search.advance(seconds)

    def near(self, asked: float) -> bool:
        """Tell whether the best so far is proven, or within the requested relative gap."""
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
