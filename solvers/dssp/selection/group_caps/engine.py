"""Solve a selection under shares of disjoint groups with the search of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from schedopt.solvers.deciding import Decided, conclude, remaining_limits
from schedopt.solvers.dssp.selection.branch_and_bound.solving import tree
from schedopt.solvers.dssp.selection.group_caps.search import GroupCapsSearch
from schedopt.solvers.engine import EngineTask, Partial
from schedopt.solvers.result import Result
from schedopt.solvers.running import Run, drive, version

if TYPE_CHECKING:
    from schedopt.formulations.dssp.selection import Selection
    from schedopt.instances.dssp import Selected

PATIENCE = 10.0
"""Seconds of search before the next engine takes over; at most half of a time limit."""


def solve(model: Selection, task: EngineTask) -> Result[Selected] | Partial:
    """Solve a selection under shares of disjoint groups; hand what stays open to the next engine.

    An interruption (Ctrl-C) ends the run and keeps the best so far.
    """
    limits = task.limits
    if not task.alone:
        seconds = PATIENCE if limits.time_limit is None else min(PATIENCE, limits.time_limit / 2)
        limits = replace(limits, time_limit=seconds)
    run, search = Run(limits), GroupCapsSearch(task.reading)
    stopped, message = drive(search, run, noise=0.0)
    positions = search.chosen()
    if stopped == "optimal" and positions is None:  # it ended, and knows of none
        stopped = "completed"
    if task.alone and stopped == "completed" and positions is None:
        rest = remaining_limits(task.limits, run.began)
        return tree(model, replace(task, limits=rest))  # which says what keeps no rules, and why
    run.limits = task.limits
    columns = None if positions is None else np.zeros(model.width, dtype=np.int8)
    if columns is not None:
        columns[positions] = 1
    decided = Decided(stopped, columns, search.exact_bound, search.proven, message)
    result = conclude(model, run, decided, solver=task.name, version=version())
    done = task.alone or stopped in ("optimal", "interrupted")
    return result if done else Partial(result, search.exact_bound)
