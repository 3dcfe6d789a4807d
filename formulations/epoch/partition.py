"""Partition: the fewest epochs, for any inequity k."""

from __future__ import annotations

from collections.abc import Mapping
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
    """A user's kind of side constraint, which states its own rows."""

    def state(self, partition: Partition, asked: IntVar) -> None:
        """Add its rows to the model, enforced where ``asked`` is true."""
        ...


class Partition(WholeModel):
    """Partition the jobs into the fewest epochs, in each of which all nodes are shared.

    Parameters
    ----------
    instance : Instance
        Nodes, inequity, jobs; its side constraints are part of the model.

    Attributes
    ----------
    model : cp_model.CpModel
        The CP-SAT model, see Notes, built when it is first asked for; users can change it.
    x : dict of (str, str) to IntVar
        Whether a job is in the epoch that another job leads, by names.
    nodes : dict of (str, str) to IntVar
        The nodes of the job in that epoch.

    Raises
    ------
    InputError
        If a side constraint does not apply to partitions.

    Notes
    -----
    The first job of an epoch by minimum, the largest first, leads it. With x_je = 1 if job j is in
    the epoch that job e leads, A_je the nodes of j there, M_j the minimum of job j, and l_e the
    fewest nodes in the epoch::

        minimize    N sum_e x_ee
        subject to  sum_e x_je = 1                        each job j
                    x_je <= x_ee                          no epoch without its leader
                    sum_j A_je = N x_ee                   each epoch e
                    max(M_j, M_e - k, 1) x_je <= A_je <= N x_je
                    l_e <= A_je <= l_e + k                if x_je = 1

    Source: McCann and Zahorjan, TR 94-10-05, University of Washington, 1994, section 4.2; the paper
    solved it for k <= 1. The overhead of an epoch is N.
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
        """Whether a job is in the epoch that another job leads, by names."""
        return self._by_name(self._x)

    @property
    def nodes(self) -> dict[tuple[str, str], IntVar]:
        """The nodes of a job in the epoch that another job leads, by names."""
        return self._by_name(self._nodes)

    def _by_name(self, variables: dict[tuple[int, int], IntVar]) -> dict[tuple[str, str], IntVar]:
        """Return the variables of the built model by names in place of positions."""
        self.model  # noqa: B018 - builds it
        jobs = self.instance.jobs
        return {(jobs[j].name, jobs[e].name): x for (j, e), x in variables.items()}

    def _build(self) -> None:
        """State the model of the Notes, epoch by epoch."""
        model, order = self.model, self.instance.descending
        nodes, k = self.instance.nodes, self.instance.inequity
        minima = self.instance.minima.tolist()

        for i, e in enumerate(order):  # the epoch that job e leads
            least = model.new_int_var(0, nodes, f"least[{e}]")
            for j in order[i:]:
                x = self._x[j, e] = model.new_bool_var(f"x[{j},{e}]")
                a = self._nodes[j, e] = model.new_int_var(0, nodes, f"A[{j},{e}]")
                model.add(a >= max(minima[j], minima[e] - k, 1) * x)
                model.add(a <= nodes * x)
                model.add_implication(x, self._x[e, e])
                model.add(a >= least).only_enforce_if(x)
                model.add(a <= least + k).only_enforce_if(x)
            model.add(sum(self._nodes[j, e] for j in order[i:]) == nodes * self._x[e, e])

        for i, j in enumerate(order):  # each job is in one epoch
            model.add_exactly_one(self._x[j, e] for e in order[: i + 1])

        model.minimize(nodes * sum(self._x[e, e] for e in order))

    def _accept_rule(self, rule: Constraint, name: str) -> None:
        """Raise `InputError` for another kind, or after the user has changed the model."""
        if not isinstance(rule, Together | Apart | CustomConstraint):
            expected = "a kind that a partition can take (one of 'together', 'apart')"
            raise InputError(expected, found=repr(rule.kind()))
        if self.changed:
            raise InputError("side constraints added before native ones", found="native ones")

    def _state(self, rule: Constraint, name: str) -> None:
        """State a side constraint, enforced by its own literal."""
        model, asked = self.model, self.literal(name)
        if isinstance(rule, CustomConstraint):
            rule.state(self, asked)
        elif isinstance(rule, Together | Apart):
            members = [self.instance.index[job] for job in dict.fromkeys(rule.jobs)]
            for e in self.instance.descending:
                if isinstance(rule, Together):  # 0 if the job is too large for the epoch
                    first, *others = (self._x.get((j, e), 0) for j in members)
                    for other in others:
                        model.add(first == other).only_enforce_if(asked)
                else:
                    inside = [self._x[j, e] for j in members if (j, e) in self._x]
                    model.add(sum(inside) <= 1).only_enforce_if(asked)

    def hint(self, solution: Partitioned) -> Hints:
        """Yield the value of each x for a known partition."""
        index = self.instance.index
        epochs = [[index[name] for name in epoch.nodes] for epoch in solution.epochs]
        rank = {j: i for i, j in enumerate(self.instance.descending)}
        leader = {j: min(epoch, key=rank.__getitem__) for epoch in epochs for j in epoch}
        for (j, e), x in self._x.items():
            yield x, float(leader[j] == e)

    def decode(self, value: Value) -> Partitioned:
        """Turn values of the variables into epochs, with the most even allotments.

        If the user has changed the model, the allotments are those of its solution.
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
