"""The form in which a partition is solved: by slots, by counts, or directly."""

from __future__ import annotations

import time

from formulations.epoch.counts import Counts
from formulations.epoch.partition import Partition
from formulations.epoch.slots import Pattern, Slots
from formulations.epoch.writing import Form
from solvers.epochs.bounding import most_epochs
from solvers.epochs.patterns import patterns

MOST_PATTERNS = 60_000
"""Slot patterns beyond which counts by epoch are quicker."""


def written(partition: Partition) -> Form | Partition:
    """Return a partition in the form that was asked for, or the strongest that there is."""
    instance, wanted = partition.instance, partition.wanted
    if wanted == "direct" or partition.native or partition.rules:
        return partition
    began = time.perf_counter()
    minima = instance.minima[instance.descending].tolist()
    enough = most_epochs(minima, instance.nodes, instance.inequity)
    found: list[Pattern] | None = None
    if wanted != "counts":
        most = MOST_PATTERNS if wanted == "auto" else 100 * MOST_PATTERNS
        found = patterns(minima, instance.nodes, instance.inequity, most)
    form = Counts(partition, enough) if found is None else Slots(partition, found, enough)
    form.seconds = time.perf_counter() - began
    return form


def question(partition: Partition, form: Form | Partition, epochs: int) -> Slots | None:
    """Return the question whether there is a partition into at most so many epochs.

    It has no objective, and is for a partition that is written by slots; None otherwise. Patterns
    that leave more nodes without use than all these epochs can spare are left out.
    """
    if not isinstance(form, Slots):
        return None
    began = time.perf_counter()
    instance = partition.instance
    spare = epochs * instance.nodes - int(instance.minima.sum())
    some = [p for p in form.patterns if instance.nodes - _used(p, form.sizes) <= spare]
    asked = Slots(partition, some, epochs, within=epochs)
    asked.seconds = form.seconds + time.perf_counter() - began
    return asked


def _used(pattern: Pattern, sizes: list[int]) -> int:
    """Return the largest sum of minima that a pattern has slots for."""
    return sum(n * next((s for s in sizes if s <= w), 0) for w, n in pattern)
