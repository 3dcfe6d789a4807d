"""A partition as a nested covering by slot patterns: its strongest form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from schedopt.formulations.epoch.writing import Epochs, Form, Source
from schedopt.formulations.protocol import Hints, Value

Pattern = tuple[tuple[int, int], ...]
"""Slots as (width, count), the widest first: a slot holds a job of its width or less."""


class Slots(Form):
    """Nested covering: how often each slot pattern is used, y; slots must cover the jobs.

    For each size s there are at least as many slots of s or wider as jobs of s or more; by Hall's
    theorem the jobs then have slots of their own. With k >= 1 what fits goes on fitting with fewer
    or smaller jobs, so that a covering is a partition; with k = 0 every slot must be filled.

    Parameters
    ----------
    source : Partition
        Without side constraints.
    patterns : sequence of Pattern
        All maximal ways to fill an epoch, or all that matter.
    most : int
        Epochs that suffice.
    within : int, optional
        Ask whether there is a partition into at most so many epochs, in place of the fewest.
    """

    form: ClassVar[str] = "slots"

    def __init__(
        self, source: Source, patterns: Sequence[Pattern], most: int, within: int | None = None
    ) -> None:
        from ortools.sat.python import cp_model

        super().__init__(source)
        instance, model = self.instance, self.model
        minima = instance.minima[instance.descending].tolist()
        self.sizes: list[int] = sorted(set(minima), reverse=True)
        self.patterns = patterns
        self._slots = np.array(
            [[sum(n for w, n in p if w >= size) for size in self.sizes] for p in patterns],
            dtype=np.int64,
        ).reshape(-1, len(self.sizes))
        needed = np.cumsum([n for _, n in sorted(Counter(minima).items(), reverse=True)])
        self.y = [model.new_int_var(0, most, f"y{list(p)}") for p in patterns]
        for slots, need in zip(self._slots.T.tolist(), needed.tolist(), strict=True):
            used = [(y, n) for y, n in zip(self.y, slots, strict=True) if n]
            ys, counts = [y for y, _ in used], [n for _, n in used]
            model.add(cp_model.LinearExpr.weighted_sum(ys, counts) >= need)
        if instance.inequity == 0:
            every = [sum(n for _, n in p) for p in patterns]
            model.add(cp_model.LinearExpr.weighted_sum(self.y, every) == len(minima))
        if within is None:
            model.minimize(instance.nodes * cp_model.LinearExpr.sum(self.y))
        else:
            model.add(cp_model.LinearExpr.sum(self.y) <= within)
        self.stated()

    def epochs(self, value: Value) -> Epochs:
        """Give the jobs, the largest first, the slots, the widest first."""
        used = [
            p for p, y in zip(self.patterns, self.y, strict=True) for _ in range(round(value(y)))
        ]
        slots = [(w, e) for e, p in enumerate(used) for w, n in p for _ in range(n)]
        slots.sort(key=lambda slot: -slot[0])
        epochs: Epochs = [[] for _ in used]
        for j, (_, e) in zip(self.instance.descending, slots, strict=False):
            epochs[e].append(j)
        return [epoch for epoch in epochs if epoch]

    def hints(self, epochs: Epochs) -> Hints:
        """Count for each epoch the first pattern that has slots for its jobs."""
        times: Counter[int] = Counter()
        sizes = np.array(self.sizes)
        for epoch in epochs:
            minima = self.instance.minima[epoch]
            wanted = (minima[:, None] >= sizes).sum(axis=0)
            enough = np.all(self._slots >= wanted, axis=1)
            if self.instance.inequity == 0:
                enough &= np.array([sum(n for _, n in p) == len(epoch) for p in self.patterns])
            if enough.any():
                times[int(enough.argmax())] += 1
        for i, y in enumerate(self.y):
            yield y, float(times[i])
