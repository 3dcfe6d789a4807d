"""Sets of jobs of the highest reward for their demand."""

import numpy as np

from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Instance
from schedopt.instances.dssp.planned import Floats
from schedopt.solvers.dssp.schedule.trial import Mask
from schedopt.solvers.dssp.selection.knapsack.search import Core

HALVINGS = 12
"""Steps of a bisection over the room that a set may ask for."""


class Frontier:
    """Knapsacks of several rooms, over the jobs that could be in time by themselves.

    Each is searched for a few thousand states, without a clock: mostly that proves it.
    """

    def __init__(self, night: Instance, demands: Floats, able: Mask) -> None:
        self._rewards, self._demands = night.rewards, demands
        self._able = able
        self.capacity = float(night.machine.total.until(as_written(night.horizon)))

    def best(self, room: float, without: Mask | None = None) -> Mask:
        """Return the set of the highest reward whose demand fits a room, without some jobs."""
        able = self._able if without is None else self._able & ~without
        core = Core(np.where(able, self._rewards, 0.0), self._demands, max(room, 0.0))
        core.advance(0.0)
        return core.chosen() & able

    def least(self, worth: float) -> float:
        """Return about the least room in which a set is worth more than this."""
        low, high = 0.0, self.capacity
        step = high / 256
        while high > step and self._worth(high - step) > worth:
            high -= step
            step *= 2
        low = max(0.0, high - step)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            if self._worth(middle) > worth:
                high = middle
            else:
                low = middle
        return high

    def _worth(self, room: float) -> float:
        return float(self._rewards[self.best(room)].sum())
