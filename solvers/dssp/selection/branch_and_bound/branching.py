"""Branching on what a relaxation leaves open, with every conclusion drawn without rounding."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from schedopt.solvers.clock import now
from schedopt.solvers.dssp.selection.branch_and_bound.program_arrays import (
    FREE,
    ProgramArrays,
    ScaledProgram,
    Values,
)
from schedopt.solvers.dssp.selection.branch_and_bound.relaxation import (
    Reason,
    Relaxation,
    Relaxed,
    apply,
    whole_multipliers,
)

ROUNDS = 3
"""Relaxations at a node: each may fix columns, then the rest is relaxed again."""


@dataclass
class BranchAndBound:
    """A search for a best selection of columns, and the proof that there is no better.

    It starts from `start`, what each column is at the root, and `value`, the reward of a known
    selection or None. With `satisfy` any selection that satisfies the rows will do. `done` says
    that nothing better exists; `used` are the rows that conclusions rest on.
    """

    arrays: ProgramArrays
    start: Values
    value: int | None = None
    satisfy: bool = False
    stop: Callable[[], bool] = field(default=lambda: False)
    scaled: ScaledProgram | None = None
    best: Values | None = None
    done: bool = False
    used: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._step = self.arrays.step

    def run(self) -> bool:
        """Search to the end, or until `stop` says so; return `done`."""
        relaxation = Relaxation(self.arrays, self.scaled or ScaledProgram.of(self.arrays))
        waiting = [self.start.copy()]
        while waiting:
            if self.stop():
                return False
            values = waiting.pop()
            column = self._process_node(values, relaxation)
            if column is None:
                if self.satisfy and self.best is not None:
                    break
                continue
            for value in (1, 0):
                child = values.copy()
                child[column] = value
                waiting.append(child)
        self.done = True
        return True

    @property
    def target(self) -> int | None:
        """What a better selection must be worth at least; None where any will do."""
        return None if self.value is None or self.satisfy else self.value + self._step

    def _process_node(self, values: Values, relaxation: Relaxation) -> int | None:
        """Draw all conclusions at a node; return the column to branch on, if any."""
        reasons: list[Reason] = []
        column = self._draw_conclusions(values, relaxation, reasons)
        self.used.update(i for reason in reasons for i, _ in reason.multipliers)
        return column

    def _draw_conclusions(
        self, values: Values, relaxation: Relaxation, reasons: list[Reason]
    ) -> int | None:
        if self.arrays.hopeless:
            return None
        relaxed: Relaxed | None = None
        for turn in count():
            if self._propagate_rows(values, reasons):
                return None
            free = int((values == FREE).sum())
            if free == 0:
                self._update_incumbent(values)
                return None
            relaxed = relaxation.solve(values) if turn < ROUNDS else relaxed
            if relaxed is None or turn == ROUNDS:
                break
            if self._bound_by_relaxation(values, relaxed, reasons):
                return None
            remaining = int((values == FREE).sum())
            if free // 2 < remaining:
                break
        return _branching_column(values, relaxed)

    def _propagate_rows(self, values: Values, reasons: list[Reason]) -> bool:
        """Fix what single rows decide; tell whether one of them closes the branch."""
        used, possible = self.arrays.propagate(values)
        self.used.update(i for i, _ in used)
        if possible:
            reasons.extend(Reason(0, (row,)) for row in used)
            return False
        broken = self.arrays.cut_off(values)
        if broken:
            reasons.append(Reason(0, (broken,)))
        return True

    def _bound_by_relaxation(self, values: Values, relaxed: Relaxed, reasons: list[Reason]) -> bool:
        """Fix what the relaxation's multipliers rule out; tell whether they close the branch."""
        if relaxed.feasible:
            near = (relaxed.values > 0.5).astype(np.int8)  # the relaxation's point, rounded
            tried = np.where(values == FREE, near, values).astype(np.int8)
            if self.arrays.cut_off(tried) is None:
                self._update_incumbent(tried)
            if self.satisfy and self.best is not None:
                return True
            if self.target is None:
                return False
            candidates = [whole_multipliers(self.arrays, relaxed.multipliers)]
        else:
            turned = [(i, -y) for i, y in relaxed.multipliers]
            candidates = [
                whole_multipliers(self.arrays, rays, reward=False)
                for rays in (relaxed.multipliers, turned)
            ]
        for reason in candidates:
            before = int((values == FREE).sum())
            closed = apply(self.arrays, values, reason, self.target)
            if closed or int((values == FREE).sum()) < before:
                reasons.append(reason)
            if closed:
                return True
        return False

    def _update_incumbent(self, values: Values) -> None:
        """Keep a selection that keeps all rows, if it is better."""
        worth = sum(self.arrays.rewards[values == 1].tolist())
        if self.value is None or worth > self.value or (self.satisfy and self.best is None):
            self.best, self.value = values.copy(), worth


def _branching_column(values: Values, relaxed: Relaxed | None) -> int:
    """Return the free column that is most fractional in the relaxation."""
    free = np.flatnonzero(values == FREE)
    if relaxed is None or not relaxed.feasible:
        return int(free[0])
    return int(free[np.argmin(np.abs(relaxed.values[free] - 0.5))])


def deadline(seconds: float) -> Callable[[], bool]:
    """Return a function that tells whether so many seconds are over."""
    end = now() + seconds
    return lambda: now() >= end
