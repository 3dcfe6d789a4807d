"""Models of a partition for CP-SAT: a covering by slot patterns, or who is with which leader.

A pattern is a maximal way to fill one epoch with slots, each for a job of its width or less.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from schedopt.formulations.epoch.partition import Epochs, Partition
from schedopt.formulations.protocol import Hints, Settings, Value
from schedopt.instances.arithmetic import divisors
from schedopt.instances.epoch import Instance
from schedopt.solvers.clock import now

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import LinearExprT

Pattern = tuple[tuple[int, int], ...]
"""Slots as (width, count), the widest first."""

MOST_PATTERNS = 60_000
"""Slot patterns beyond which there is no covering."""

MOST_WIDTHS = 30
"""Widths of slots in one epoch, beyond which there are too many patterns to begin with."""

LOOKS = 10
"""Patterns that are looked at for each that may be kept, before giving up."""


class Slots(Partition):
    """Nested covering: how often each slot pattern is used, y; slots must cover the jobs.

    For each size s there are at least as many slots of s or wider as jobs of s or more; by Hall's
    theorem the jobs then have slots of their own. With k >= 1 what fits still fits with fewer or
    smaller jobs, so that a covering is a partition; with k = 0 every slot must be filled. It takes
    no side constraints, and all maximal ways to fill an epoch.
    """

    def __init__(self, instance: Instance, patterns: Sequence[Pattern]) -> None:
        super().__init__(instance)
        minima = self.instance.minima.tolist()
        self.sizes: list[int] = sorted(set(minima), reverse=True)
        self.patterns = patterns
        self._slots = np.array(
            [[sum(n for w, n in p if w >= size) for size in self.sizes] for p in patterns],
            dtype=np.int64,
        ).reshape(-1, len(self.sizes))
        self._needed = np.cumsum([n for _, n in sorted(Counter(minima).items(), reverse=True)])

    @property
    def options(self) -> Settings:
        """Tell that it is not the declared model."""
        return {"model": "slots"}

    def _build(self) -> None:
        from ortools.sat.python.cp_model import LinearExpr

        model, jobs = self.model, len(self.instance.jobs)
        self.y = [model.new_int_var(0, jobs, f"y{list(p)}") for p in self.patterns]
        for slots, need in zip(self._slots.T.tolist(), self._needed.tolist(), strict=True):
            used = [(y, n) for y, n in zip(self.y, slots, strict=True) if n]
            ys, counts = [y for y, _ in used], [n for _, n in used]
            model.add(LinearExpr.weighted_sum(ys, counts) >= need)
        if self.instance.inequity == 0:
            every = [sum(n for _, n in p) for p in self.patterns]
            model.add(LinearExpr.weighted_sum(self.y, every) == jobs)
        model.minimize(self.instance.nodes * LinearExpr.sum(self.y))

    def _epochs(self, value: Value) -> Epochs:
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

    def _hints(self, epochs: Epochs) -> Hints:
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


class Leaders(Partition):
    """Who is with which leader; allotments are left out, since they follow from that (see `fits`).

    Jobs of one size that no side constraint mentions have their leaders in order.
    """

    @property
    def options(self) -> Settings:
        """Tell that it is not the declared model."""
        return {"model": "leaders"}

    def _build(self) -> None:
        from ortools.sat.python.cp_model import Domain, LinearExpr

        model, nodes, k = self.model, self.instance.nodes, self.instance.inequity
        minima, order = self.instance.minima.tolist(), self.instance.descending
        for i, e in enumerate(order):
            members = order[i:]
            x = [model.new_bool_var(f"x[{j},{e}]") for j in members]
            self._x.update({(j, e): inside for j, inside in zip(members, x, strict=True)})
            for inside in x[1:]:
                model.add_implication(inside, x[0])
            if k == 0:
                ways = [h for h in divisors(nodes) if h * minima[e] <= nodes]
                several = Domain.from_values([0, *ways])
                model.add_linear_expression_in_domain(LinearExpr.sum(x), several)
            else:
                widths = [max(minima[j], minima[e] - k, 1) for j in members]
                model.add(LinearExpr.weighted_sum(x, widths) <= nodes * x[0])
        for i, j in enumerate(order):  # every job is in one epoch
            model.add_exactly_one(self._x[j, e] for e in order[: i + 1])
        model.minimize(nodes * sum(self._x[e, e] for e in order))
        told = {job for rule in self.rules.values() for _, job in rule.jobs_named()}
        place_of: dict[int, LinearExprT] = {}  # of the last job of a size, among leaders
        for i, j in enumerate(order):
            if self.instance.jobs[j].name not in told:
                place = sum(n * self._x[j, e] for n, e in enumerate(order[: i + 1]))
                model.add(place_of.get(minima[j], 0) <= place)
                place_of[minima[j]] = place


def covering(model: Partition, seconds: float = inf) -> Slots | None:
    """Return a partition without side constraints as a covering, None if too large to write."""
    instance = model.instance
    minima = instance.minima[instance.descending].tolist()
    maximal = patterns(minima, instance.nodes, instance.inequity, MOST_PATTERNS, seconds)
    return None if maximal is None else Slots(instance, maximal)


def patterns(
    descending: Sequence[int], nodes: int, inequity: int, most: int, seconds: float = inf
) -> list[Pattern] | None:
    """Return all maximal slot patterns of an epoch, None if there are too many or time runs out.

    With inequity 0 an epoch of h jobs has h slots of N/h; with 1 it has N mod h slots of one node
    more than the others. With more, for each leader v, some slots of the sizes in (v - k, v], and
    slots of max(1, v - k) in the rest. Minima must not increase.
    """
    if inequity <= 1:
        counts = divisors(nodes) if inequity == 0 else range(min(nodes, len(descending)), 0, -1)
        even = (_even(nodes, h) for h in counts if h <= len(descending))
        return [pattern for pattern in even if pattern[-1][0] >= descending[-1]]
    maximal: list[Pattern] = []
    looked_at, until = 0, now() + seconds
    for leader in dict.fromkeys(descending):
        led = _Led(Counter(descending), leader, nodes, inequity)
        if len(led.widths) > MOST_WIDTHS:
            return None
        for pattern in led.patterns():
            looked_at += 1
            if pattern is not None:
                maximal.append(pattern)
            if len(maximal) > most or looked_at > LOOKS * most or now() > until:
                return None
    return maximal


def _even(nodes: int, jobs: int) -> Pattern:
    width, wider = divmod(nodes, jobs)
    if wider == 0:
        return ((width, jobs),)
    return ((width + 1, wider), (width, jobs - wider))


class _Led:
    """The patterns of epochs whose largest job has a given minimum."""

    def __init__(self, jobs: Counter[int], leader: int, nodes: int, inequity: int) -> None:
        self.floor = max(1, leader - inequity)
        self.nodes = nodes
        self.widths = [s for s in sorted(jobs, reverse=True) if self.floor < s <= leader]
        if leader == self.floor:  # jobs of one node
            self.widths = [leader]
        self.useful, total = [], 0
        for width in self.widths:
            total += jobs[width]
            self.useful.append(total)
        self.jobs = sum(n for s, n in jobs.items() if s <= leader)

    def patterns(self) -> Iterator[Pattern | None]:
        """Yield the maximal patterns, and None for each that is not."""
        for counts, left in self._counts(0, 0, self.nodes):
            rest = min(left // self.floor, self.jobs - sum(counts))
            if self._grows(counts, rest, left - rest * self.floor):
                yield None
                continue
            slots = [(w, n) for w, n in zip(self.widths, counts, strict=True) if n]
            if rest:
                slots.append((self.floor, rest))
            yield tuple(slots)

    def _counts(self, i: int, taken: int, left: int) -> Iterator[tuple[list[int], int]]:
        """Yield counts of slots of each width from the i-th on, and the nodes that are left."""
        if i == len(self.widths):
            yield [], left
            return
        width = self.widths[i]
        for count in range(min(left // width, self.useful[i] - taken), (0 if i else 1) - 1, -1):
            for counts, rest in self._counts(i + 1, taken + count, left - count * width):
                yield [count, *counts], rest

    def _grows(self, counts: list[int], rest: int, spare: int) -> bool:
        """Tell whether a slot could be wider, for a job that could use it: then not maximal."""
        taken = 0
        for i, (width, useful) in enumerate(zip(self.widths, self.useful, strict=True)):
            taken += counts[i]
            if taken >= useful:
                continue
            last = i + 1 == len(self.widths)
            narrower = self.floor if last else self.widths[i + 1]
            if (rest if last else counts[i + 1]) and width - narrower <= spare:
                return True
        return False
