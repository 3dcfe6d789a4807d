"""Subgradient steps towards the prices that prove the highest bound."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Ascent:
    """Deflected subgradient steps of Polyak's length, from prices that are at least 0.

    Of the last direction the part `kept` is kept. After `patience` steps in vain the caller goes
    back to the best prices, and steps are halved.
    """

    def __init__(self, kept: float, patience: int, length: float) -> None:
        self.kept, self.patience, self.length = kept, patience, length
        self._stalled = 0
        self._direction: Floats | None = None

    def goes_on(self, better: bool) -> bool:
        """Note whether a step was of use; tell whether to go on from there."""
        self._stalled = 0 if better else self._stalled + 1
        return self._stalled < self.patience

    def halve(self) -> None:
        """Begin again with steps of half the length."""
        self._direction, self._stalled, self.length = None, 0, self.length / 2

    def step(self, at: Floats, over: Floats, lengths: Floats, ahead: float) -> Floats | None:
        """Return the next prices, None where no direction rises.

        `over`, which is changed, is the subgradient per unit of time, by cells of some lengths;
        `ahead` is how much higher the bound should be.
        """
        over[(at <= 0) & (over < 0)] = 0.0
        if self._direction is not None:
            over = self.kept * self._direction + (1 - self.kept) * over
        self._direction = over
        norm = float(((over * over) @ lengths).sum())
        if norm <= 0.0 or ahead <= 0.0:
            return None
        following: Floats = np.maximum(0.0, at + self.length * ahead / norm * over)
        return following
