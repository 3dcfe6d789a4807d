"""A partition by counts: how many jobs of each size each epoch holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from schedopt.formulations.epoch.writing import Epochs, Form, Source
from schedopt.formulations.protocol import Hints, Value
from schedopt.instances.arithmetic import divisors
from schedopt.instances.constraints import Apart, Constraint, Together, label

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import IntVar, LinearExprT


class Counts(Form):
    """How many jobs of each size each epoch holds, and which sort of epoch it is.

    With k >= 1 the sort is the largest minimum v: all jobs get max(M, v - k, 1) nodes at least.
    With k = 0 it is the number of jobs h, which divides N. Sorts do not decrease from epoch to
    epoch, since their order is free. Only jobs that side constraints speak of are told apart:
    z[j, e] says that one is in an epoch.

    Parameters
    ----------
    source : Partition
        Its side constraints are of the kinds ``together`` and ``apart``.
    most : int
        Epochs that suffice.
    """

    form: ClassVar[str] = "counts"

    def __init__(self, source: Source, most: int) -> None:
        super().__init__(source)
        instance, model = self.instance, self.model
        self.minima: list[int] = instance.minima.tolist()
        jobs = Counter(self.minima[j] for j in instance.descending)
        self.sizes = list(jobs)  # the largest first
        ways = [h for h in divisors(instance.nodes) if h <= len(self.minima)]
        self.sorts = ways[::-1] if instance.inequity == 0 else self.sizes
        self.n: list[dict[int, IntVar]] = []
        self.sort: list[dict[int, IntVar]] = []
        before: LinearExprT | None = None
        for e in range(most):
            before = self._epoch(e, jobs, before)
        for size, count in jobs.items():
            model.add(sum(n[size] for n in self.n) == count)
        rules = [*instance.constraints, *source.added]
        self.z: list[dict[int, IntVar]] = self._told_apart(rules)
        for position, rule in enumerate(rules):
            self._state(rule, label(rule, position))
        model.minimize(instance.nodes * sum(x for sort in self.sort for x in sort.values()))
        self.stated()

    def _epoch(self, e: int, jobs: Counter[int], before: LinearExprT | None) -> LinearExprT:
        """State one epoch, of a rank no lower than that of the epoch before; return its rank."""
        model, nodes = self.model, self.instance.nodes
        n = {s: model.new_int_var(0, min(c, nodes // s), f"n[{e},{s}]") for s, c in jobs.items()}
        sort = {v: model.new_bool_var(f"sort[{e},{v}]") for v in self.sorts}
        model.add_at_most_one(sort.values())
        for v, is_v in sort.items():
            self._sorted(n, v, is_v)
        model.add(sum(n.values()) == 0).only_enforce_if([~x for x in sort.values()])
        # Unused epochs come last.
        rank = len(sort) - sum((len(sort) - i) * x for i, x in enumerate(sort.values()))
        if before is not None:
            model.add(before <= rank)
        self.n.append(n)
        self.sort.append(sort)
        return rank

    def _sorted(self, n: dict[int, IntVar], v: int, is_v: IntVar) -> None:
        """State what an epoch of a sort may hold."""
        model, nodes, k = self.model, self.instance.nodes, self.instance.inequity
        widest = nodes // v if k == 0 else v
        for size, count in n.items():
            if size > widest:
                model.add(count == 0).only_enforce_if(is_v)
        if k == 0:
            model.add(sum(n.values()) == v).only_enforce_if(is_v)
        else:
            floor = max(1, v - k)
            used = sum(max(size, floor) * count for size, count in n.items() if size <= v)
            model.add(used <= nodes).only_enforce_if(is_v)
            model.add(n[v] >= 1).only_enforce_if(is_v)

    def _told_apart(self, rules: Sequence[Constraint]) -> list[dict[int, IntVar]]:
        """Say for each epoch which of the jobs that side constraints speak of it holds."""
        model = self.model
        some = sorted({j for rule in rules for j in self._members(rule)})
        z = [{j: model.new_bool_var(f"z[{j},{e}]") for j in some} for e in range(len(self.n))]
        for j in some:
            model.add_exactly_one(here[j] for here in z)
        sizes = Counter(self.minima[j] for j in some)
        for here, n in zip(z, self.n, strict=True):
            for size in sizes:
                model.add(sum(here[j] for j in some if self.minima[j] == size) <= n[size])
        return z

    def _members(self, rule: Constraint) -> list[int]:
        if not isinstance(rule, Together | Apart):
            raise TypeError(f"no form by counts with a side constraint of kind {rule.kind()}")
        return [self.instance.index[job] for job in dict.fromkeys(rule.jobs)]

    def _state(self, rule: Constraint, name: str) -> None:
        """State a side constraint, asked for by a literal of its own."""
        model = self.model
        asked = self.literal(name)
        first, *others = self._members(rule)
        for here in self.z:
            if isinstance(rule, Together):
                for j in others:
                    model.add(here[first] == here[j]).only_enforce_if(asked)
            elif others:
                model.add(sum(here[j] for j in (first, *others)) <= 1).only_enforce_if(asked)

    def epochs(self, value: Value) -> Epochs:
        """Deal the jobs of each size out to the epochs, those told apart where they are to be."""
        told = {j for here in self.z for j in here}
        left: dict[int, list[int]] = {
            s: [j for j in self.instance.descending if self.minima[j] == s and j not in told]
            for s in self.sizes
        }
        epochs: Epochs = []
        for n, here in zip(self.n, self.z, strict=True):
            epoch = [j for j, x in here.items() if value(x) > 0.5]
            mine = Counter(self.minima[j] for j in epoch)
            epoch += [
                left[s].pop(0) for s, x in n.items() for _ in range(round(value(x)) - mine[s])
            ]
            epochs += [epoch] if epoch else []
        return epochs

    def hints(self, epochs: Epochs) -> Hints:
        """Yield the counts and sorts of known epochs, where there are variables enough."""
        k = self.instance.inequity
        found = [Counter(self.minima[j] for j in epoch) for epoch in epochs]
        marks = [len(epoch) if k == 0 else max(c) for epoch, c in zip(epochs, found, strict=True)]
        order = sorted(range(len(epochs)), key=lambda e: marks[e] if k == 0 else -marks[e])
        for e, (n, sort, here) in enumerate(zip(self.n, self.sort, self.z, strict=True)):
            used = e < len(order)
            for size, count in n.items():
                yield count, float(found[order[e]][size]) if used else 0.0
            for v, is_v in sort.items():
                yield is_v, float(used and marks[order[e]] == v)
            for j, is_here in here.items():
                yield is_here, float(used and j in epochs[order[e]])
