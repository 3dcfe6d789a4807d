"""Our own way with a partition: bin completion, and multipliers where that does not end at once."""

from __future__ import annotations

from schedopt.solvers.epoch.items import Items
from schedopt.solvers.epoch.multipliers import Multipliers
from schedopt.solvers.epoch.search import Completion

FIRST = 400_000
"""Steps of bin completion before the multipliers have their turn."""


class Packing:
    """A search that finds packings from above and raises the bound from below.

    Parameters
    ----------
    items : Items
        What is packed.
    least : int
        Epochs that no partition is below.
    known : list of list of int, optional
        A partition, as positions of jobs; with k >= 1 there is one.
    """

    def __init__(self, items: Items, least: int, known: list[list[int]] | None) -> None:
        self.items = items
        self.completion = Completion(items, least, known)
        self._multipliers: Multipliers | None = None
        self._bounded = items.inequity == 0

    @property
    def least(self) -> int:
        """Epochs that no partition is below."""
        return self.completion.least

    @property
    def epochs(self) -> list[list[int]] | None:
        """The best partition so far."""
        return self.completion.epochs

    @property
    def value(self) -> float | None:
        """The overhead of the best partition so far."""
        return self.completion.value

    @property
    def bound(self) -> float:
        """An overhead that no partition is below."""
        return self.completion.bound

    def advance(self, seconds: float) -> bool:
        """Work for about that long; tell whether the fewest epochs are known."""
        search = self.completion
        if self._bounded or search.steps < FIRST or search.epochs is None:
            return search.advance(seconds)
        if self._multipliers is None:
            self._multipliers = Multipliers(self.items, len(search.epochs), search.epochs)
        self._bounded = self._multipliers.advance(seconds)
        if self._multipliers.best is not None:
            search.raise_bound(self._multipliers.best.epochs)
        return self.least >= len(search.epochs)
