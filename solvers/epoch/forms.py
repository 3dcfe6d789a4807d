"""The form in which CP-SAT is given a partition: by slots, by counts, or directly."""

from __future__ import annotations

from math import inf

from schedopt.formulations.epoch.counts import Counts
from schedopt.formulations.epoch.partition import Partition
from schedopt.formulations.epoch.slots import Pattern, Slots
from schedopt.formulations.epoch.writing import Form
from schedopt.instances.constraints import Apart, Together
from schedopt.solvers.epoch.bounding import most_epochs
from schedopt.solvers.epoch.patterns import patterns

MOST_PATTERNS = 60_000
"""Slot patterns beyond which counts by epoch are quicker."""

WRITING, ROW = 0.25, 2e-5
"""The part of the time that writing may take, and about the seconds that a row by counts takes."""


def written(
    partition: Partition, most: int | None = None, seconds: float | None = None
) -> Form | Partition:
    """Return a partition in the form that was asked for, or the strongest that there is.

    Parameters
    ----------
    partition : Partition
        It is its own direct form, which native constraints need, and rules of a user's own kind.
    most : int, optional
        Epochs that suffice, where that is known.
    seconds : float, optional
        What there is for writing and solving it.

    Raises
    ------
    TimeoutError
        If writing takes too much of that.
    """
    instance, wanted, rules = partition.instance, partition.wanted, partition.rules
    known = all(isinstance(rule, Together | Apart) for rule in rules)
    if wanted == "direct" or partition.native or not known:
        return partition
    minima = instance.minima[instance.descending].tolist()
    if most is None:
        enough = most_epochs(minima, instance.nodes, instance.inequity)
        most = len(minima) if rules else enough
    share = inf if seconds is None else WRITING * seconds
    if wanted != "counts" and not rules:
        limit = MOST_PATTERNS if wanted == "auto" else 100 * MOST_PATTERNS
        found = patterns(minima, instance.nodes, instance.inequity, limit, seconds=share)
        if found is not None:
            return Slots(partition, found, most)
    sizes = len(set(minima))
    if most * sizes * sizes * ROW > share:
        raise TimeoutError
    return Counts(partition, most)


def question(partition: Partition, form: Form | Partition, epochs: int) -> Slots | None:
    """Return the question whether there is a partition into at most so many epochs.

    It has no objective, and is for a partition that is written by slots; None otherwise. Patterns
    that leave more nodes without use than all these epochs can spare are left out.
    """
    if not isinstance(form, Slots):
        return None
    instance = partition.instance
    spare = epochs * instance.nodes - int(instance.minima.sum())
    some = [p for p in form.patterns if instance.nodes - _used(p, form.sizes) <= spare]
    return Slots(partition, some, epochs, within=epochs)


def _used(pattern: Pattern, sizes: list[int]) -> int:
    """Return the largest sum of minima that a pattern has slots for."""
    return sum(n * next((s for s in sizes if s <= w), 0) for w, n in pattern)
