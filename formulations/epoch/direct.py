"""The direct model of a partition: who is in which epoch, on how many nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from schedopt.formulations.cp_sat import WholeModel
from schedopt.formulations.epoch.writing import Epochs
from schedopt.formulations.protocol import Hints, Value
from schedopt.instances.epoch import Instance

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import IntVar


class Direct(WholeModel):
    """Which epoch each job is in, and how many nodes it gets there: x[j, e] and A[j, e].

    An epoch has the name of its leader, the first of its jobs by size; so e stands for a job too,
    and x[e, e] says that there is such an epoch.
    """

    def __init__(self, instance: Instance) -> None:
        super().__init__()
        self.instance = instance
        order = instance.descending
        self.x: dict[tuple[int, int], IntVar] = {}
        self.a: dict[tuple[int, int], IntVar] = {}
        for i, e in enumerate(order):
            self._epoch(e, order[i:])
        for i, j in enumerate(order):  # every job is in one epoch
            self.model.add_exactly_one(self.x[j, e] for e in order[: i + 1])
        self.model.minimize(instance.nodes * sum(self.x[e, e] for e in order))

    def _epoch(self, e: int, members: Sequence[int]) -> None:
        """State the epoch that job e leads: its jobs share all nodes, as evenly as k asks."""
        model, nodes, k = self.model, self.instance.nodes, self.instance.inequity
        minima = self.instance.minima.tolist()
        least = model.new_int_var(0, nodes, f"least[{e}]")
        for j in members:
            x = self.x[j, e] = model.new_bool_var(f"x[{j},{e}]")
            a = self.a[j, e] = model.new_int_var(0, nodes, f"A[{j},{e}]")
            model.add(a >= max(minima[j], minima[e] - k, 1) * x)
            model.add(a <= nodes * x)
            model.add_implication(x, self.x[e, e])
            model.add(a >= least).only_enforce_if(x)
            model.add(a <= least + k).only_enforce_if(x)
        model.add(sum(self.a[j, e] for j in members) == nodes * self.x[e, e])

    def together(self, jobs: Sequence[int], asked: IntVar) -> None:
        """State, where it is asked for, that jobs are all in one epoch."""
        first, *others = jobs
        for j in others:
            for e in self.instance.descending:  # 0: the job is too large for that epoch
                mine, theirs = self.x.get((first, e), 0), self.x.get((j, e), 0)
                self.model.add(mine == theirs).only_enforce_if(asked)

    def apart(self, jobs: Sequence[int], asked: IntVar) -> None:
        """State, where it is asked for, that no two of the jobs are in one epoch."""
        for e in self.instance.descending:
            mine = [self.x[j, e] for j in jobs if (j, e) in self.x]
            if len(mine) > 1:
                self.model.add(sum(mine) <= 1).only_enforce_if(asked)

    def epochs(self, value: Value) -> Epochs:
        """Return who is where."""
        order = self.instance.descending
        mine = {
            e: [j for j in order if (j, e) in self.x and value(self.x[j, e]) > 0.5] for e in order
        }
        return [epoch for epoch in mine.values() if epoch]

    def hints(self, epochs: Epochs) -> Hints:
        """Yield who is where."""
        rank = {j: i for i, j in enumerate(self.instance.descending)}
        leader = {j: min(epoch, key=rank.__getitem__) for epoch in epochs for j in epoch}
        for (j, e), x in self.x.items():
            yield x, float(leader[j] == e)
