"""Partition: jobs into as few epochs as can be, for any inequity k."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, runtime_checkable

from schedopt.formulations.cp_sat import WholeModel
from schedopt.formulations.protocol import Hints, Settings, Value
from schedopt.instances.constraints import Apart, Constraint, Together
from schedopt.instances.epoch import Epoch, Instance, Partitioned, partitioned
from schedopt.instances.errors import InputError
from schedopt.instances.options import Option

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import IntVar

Epochs = list[list[int]]
"""For each epoch the positions of its jobs."""


@runtime_checkable
class CustomConstraint(Protocol):
    """A side constraint of a user's own kind, which states itself in the model."""

    def state(self, partition: Partition, asked: IntVar) -> None:
        """Add its rows to the model, enforced where ``asked`` is true."""
        ...


class Partition(WholeModel):
    """Partition the jobs into the fewest epochs; in each all nodes are shared as k allows.

    Parameters
    ----------
    instance : Instance
        Nodes, inequity, jobs; its side constraints are taken over.

    Attributes
    ----------
    model : cp_model.CpModel
        Which epoch each job is in, and on how many nodes; built when first asked for. Add native
        constraints as you like: `x[job name, leader's name]` says whether a job is in the epoch
        that a job leads, the first of it by size; `nodes` has the nodes that it gets there.

    Raises
    ------
    InputError
        If there is a side constraint of a kind that a partition cannot take.

    Notes
    -----
    Source: McCann and Zahorjan, TR 94-10-05, University of Washington, 1994, section 4.2; the paper
    computed it for k <= 1. The overhead is N for each epoch.
    """

    problem: ClassVar[str] = "epoch"
    name: ClassVar[str] = "partition"
    sense: ClassVar[Literal["maximize", "minimize"]] = "minimize"
    known_options: ClassVar[Mapping[str, Option]] = {}

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)
        self.options: Settings = {}
        self._x: dict[tuple[int, int], IntVar] = {}
        self._nodes: dict[tuple[int, int], IntVar] = {}
        for name, rule in self.rules.items():
            self._accept_rule(rule, name)

    @property
    def x(self) -> dict[tuple[str, str], IntVar]:
        """Whether a job is in the epoch that another leads, by names."""
        return self._by_name(self._x)

    @property
    def nodes(self) -> dict[tuple[str, str], IntVar]:
        """How many nodes a job has in the epoch that another leads, by names."""
        return self._by_name(self._nodes)

    def _by_name(self, variables: dict[tuple[int, int], IntVar]) -> dict[tuple[str, str], IntVar]:
        self.model  # noqa: B018 - builds it
        jobs = self.instance.jobs
        return {(jobs[j].name, jobs[e].name): x for (j, e), x in variables.items()}

    def _build(self) -> None:
        order = self.instance.descending
        for i, e in enumerate(order):
            self._epoch(e, order[i:])
        for i, j in enumerate(order):  # every job is in one epoch
            self.model.add_exactly_one(self._x[j, e] for e in order[: i + 1])
        self.model.minimize(self.instance.nodes * sum(self._x[e, e] for e in order))

    def _epoch(self, e: int, members: Sequence[int]) -> None:
        """State the epoch led by job e: its jobs share all nodes within the inequity k."""
        model, nodes, k = self.model, self.instance.nodes, self.instance.inequity
        minima = self.instance.minima.tolist()
        least = model.new_int_var(0, nodes, f"least[{e}]")
        for j in members:
            x = self._x[j, e] = model.new_bool_var(f"x[{j},{e}]")
            a = self._nodes[j, e] = model.new_int_var(0, nodes, f"A[{j},{e}]")
            model.add(a >= max(minima[j], minima[e] - k, 1) * x)
            model.add(a <= nodes * x)
            model.add_implication(x, self._x[e, e])
            model.add(a >= least).only_enforce_if(x)
            model.add(a <= least + k).only_enforce_if(x)
        model.add(sum(self._nodes[j, e] for j in members) == nodes * self._x[e, e])

    def _accept_rule(self, rule: Constraint, name: str) -> None:
        if not isinstance(rule, Together | Apart | CustomConstraint):
            expected = "a kind that a partition can take (one of 'together', 'apart')"
            raise InputError(expected, found=repr(rule.kind()))
        if self.changed:
            raise InputError("side constraints before native ones", found="native ones")

    def _state(self, rule: Constraint, name: str) -> None:
        model, asked = self.model, self.literal(name)
        if isinstance(rule, CustomConstraint):
            rule.state(self, asked)
        elif isinstance(rule, Together | Apart):
            members = [self.instance.index[job] for job in dict.fromkeys(rule.jobs)]
            for e in self.instance.descending:
                if isinstance(rule, Together):  # 0: the job is too large for that epoch
                    first, *others = (self._x.get((j, e), 0) for j in members)
                    for other in others:
                        model.add(first == other).only_enforce_if(asked)
                else:
                    inside = [self._x[j, e] for j in members if (j, e) in self._x]
                    model.add(sum(inside) <= 1).only_enforce_if(asked)

    def hint(self, solution: Partitioned) -> Hints:
        """Yield a value for each variable that a known partition gives one."""
        index = self.instance.index
        epochs = [[index[name] for name in epoch.nodes] for epoch in solution.epochs]
        rank = {j: i for i, j in enumerate(self.instance.descending)}
        leader = {j: min(epoch, key=rank.__getitem__) for epoch in epochs for j in epoch}
        for (j, e), x in self._x.items():
            yield x, float(leader[j] == e)

    def decode(self, value: Value) -> Partitioned:
        """Turn values of the variables into epochs, with allotments as even as can be.

        Where the user changed the model, the allotments are what it says.
        """
        jobs, order = self.instance.jobs, self.instance.descending
        mine = [(e, [j for j in order if value(self._x.get((j, e), 0)) > 0.5]) for e in order]
        mine = [(e, epoch) for e, epoch in mine if epoch]
        if not self.changed:
            return partitioned(self.instance, [epoch for _, epoch in mine])
        epochs = []
        for e, epoch in mine:
            nodes = {jobs[j].name: round(value(self._nodes[j, e])) for j in epoch}
            epochs.append(Epoch(duration=len(epoch) / len(jobs), nodes=nodes))
        return Partitioned(epochs=tuple(epochs))
