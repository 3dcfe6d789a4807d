"""Allocation: how to share servers between parallelizable jobs, as a convex program."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import cvxpy as cp
import numpy as np

from formulations.hesrpt.cones import amdahl_work, power_work, table_work
from formulations.hesrpt.orders import ORDER, OrderSearch, positions
from formulations.hesrpt.prices import points
from formulations.hesrpt.proof import proven_by_prices
from formulations.hesrpt.replay import as_planned, replayed
from formulations.hesrpt.rules import Rules
from instances.constraints import Constraint, check_names, check_references, label
from instances.errors import InputError
from instances.hesrpt import Allocated, Amdahl, Instance, Power, check_meaning
from instances.options import Option, checked

MOST_SEGMENTS = 2_000
"""Segments of a speedup up to which it is written as rows of a program."""


class Allocation:
    """Share the servers so that jobs complete early: the program for one completion order.

    Parameters
    ----------
    instance : Instance
        Servers and jobs; its side constraints are taken over.
    order : str or sequence of str, optional
        The jobs, the first to complete first, as a sequence or with commas between. Without one,
        `solve` searches all orders, and the program here is that of Smith's order.
    arrived : mapping of str to int
        For jobs that arrive after time 0: how many jobs complete before each arrives; none where
        not given.

    Attributes
    ----------
    model : cvxpy.Problem
        Made anew from what has been added so far.
    time : cvxpy.Expression
        How long each epoch lasts, shape (E,). An epoch ends at a completion or an arrival.
    used : cvxpy.Variable
        Share times time of each job in each epoch in which it is in the system, shape (n,), for the
        pairs (job, epoch) of ``pairs``.
    completion : dict of str to cvxpy.Expression
        When each job completes.

    Raises
    ------
    InputError
        If an order or a constraint is not right.

    Notes
    -----
    With d_e the duration of epoch e and a_je = theta_je·d_e::

        minimize    sum_e W_e d_e
        subject to  sum_e d_e s_j(N a_je / d_e) >= x_j      for each job,
                    sum_j a_je <= d_e                       for each epoch,

    where job j works in no epoch after its own and W_e is the cost rate of the jobs in the system.
    It is not asked that jobs complete no earlier than the order says: the least value over all
    orders is the optimum. Source: heSRPT paper, section 3, with Theorem 3 for constant shares.
    """

    problem: ClassVar[str] = "hesrpt"
    name: ClassVar[str] = "allocation"
    engine: ClassVar[str] = "cvxpy"
    sense: ClassVar[Literal["maximize", "minimize"]] = "minimize"
    known_options: ClassVar[dict[str, Option]] = {"order": ORDER}
    tolerance: ClassVar[float] = 1e-6
    """How far from its bound an objective of the interior-point method may be called optimal."""

    def __init__(
        self,
        instance: Instance,
        *,
        order: str | Sequence[str] | None = None,
        arrived: Mapping[str, int] | None = None,
    ) -> None:
        began = time.perf_counter()
        if order is not None and not isinstance(order, str | int | float):
            order = ",".join(order)
        checked({} if order is None else {"order": order}, self.known_options, self.name)
        self.instance = instance
        self.given = order is not None
        search = OrderSearch(
            instance, order=None if order is None else positions(instance, str(order))
        )
        self.last_first = search.order
        self.arrived = dict(arrived or {})
        self.options: dict[str, Any] = {} if order is None else {"order": str(order)}
        self.added: list[Constraint] = []
        self.natives: list[Any] = []
        self.rules = Rules(instance)
        for position, constraint in enumerate(instance.constraints):
            self.rules.take(constraint, label(constraint, position))
        self.seconds = time.perf_counter() - began

    @cached_property
    def present(self) -> list[list[int]]:
        """Who is in the system in each epoch, as positions."""
        return self._laid_out[0]

    @cached_property
    def ends(self) -> list[tuple[str, int]]:
        """What ends each epoch: the ``completion`` or the ``arrival`` of a job."""
        return self._laid_out[1]

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """Each job with each epoch in which it is in the system."""
        return [(j, e) for e, jobs in enumerate(self.present) for j in jobs]

    @cached_property
    def _laid_out(self) -> tuple[list[list[int]], list[tuple[str, int]]]:
        """Lay out the epochs: who is in the system in each, and what ends it."""
        instance, names = self.instance, [job.name for job in self.instance.jobs]
        arrivals = sorted((float(r), j) for j, r in enumerate(instance.arrivals) if r > 0)
        here = {j for j, r in enumerate(instance.arrivals) if r == 0}
        waiting = list(arrivals)
        present: list[list[int]] = []
        ends: list[tuple[str, int]] = []
        for completed, j in enumerate(int(i) for i in self.last_first[::-1]):
            while waiting and (
                self.arrived.get(names[waiting[0][1]], 0) <= completed
                or j in {other for _, other in waiting}
            ):
                present.append(sorted(here))
                ends.append(("arrival", waiting[0][1]))
                here.add(waiting.pop(0)[1])
            present.append(sorted(here))
            ends.append(("completion", j))
            here.remove(j)
        return present, ends

    @cached_property
    def unit(self) -> float:
        """The unit of time inside the program, in which the objective is about 1."""
        instance = self.instance
        everyone = np.arange(len(instance.jobs))
        even = np.full(len(everyone), instance.servers / len(everyone))
        times = instance.sizes / instance.each("at", everyone, even) + instance.arrivals
        if instance.objective == "makespan":
            return float(times.max())
        return float(instance.costs @ times / instance.costs.sum())

    @cached_property
    def _d(self) -> Any:
        return cp.Variable(len(self.present), nonneg=True, name="d")

    @cached_property
    def _a(self) -> Any:
        return cp.Variable(len(self.pairs), nonneg=True, name="a")

    @cached_property
    def _scaled(self) -> float:
        """What the scaled objective counts, so that it is about 1."""
        if self.instance.objective == "makespan":
            return 1.0
        return float(self.instance.costs.sum())

    @cached_property
    def time(self) -> Any:
        """How long each epoch lasts, shape (E,)."""
        return self.unit * self._d

    @cached_property
    def used(self) -> Any:
        """Share times time of each pair, shape (n,)."""
        return self.unit * self._a

    @cached_property
    def completion(self) -> dict[str, Any]:
        """When each job completes."""
        return {
            self.instance.jobs[j].name: self.unit * cp.sum(self._d[: e + 1])
            for e, (what, j) in enumerate(self.ends)
            if what == "completion"
        }

    def levels(self) -> Any:
        """Return W_e, the cost rate of each epoch, shape (E,)."""
        if self.instance.objective == "makespan":
            return np.ones(len(self.present))
        return np.array([self.instance.costs[jobs].sum() for jobs in self.present])

    @cached_property
    def _core(self) -> list[Any]:
        """The program's own constraints: work, servers, arrivals."""
        return [*self._all_work_is_done(), *self._servers_suffice(), *self._arrivals_are_kept()]

    def _all_work_is_done(self) -> list[Any]:
        """State that each job's work is done in the epochs in which it is in the system."""
        instance = self.instance
        jobs = np.array([j for j, _ in self.pairs])
        epochs = np.array([e for _, e in self.pairs])
        work = cp.Variable(len(self.pairs), nonneg=True, name="work")  # as a part of the job's size
        rows: list[Any] = []
        for kind, speedup in enumerate(instance.speedups):
            mine = np.flatnonzero(instance.kinds[jobs] == kind)
            sizes = instance.sizes[jobs[mine]]
            a, d = self._a[mine], self._d[epochs[mine]]
            rows += self._work_of(speedup, a, d, work[mine], sizes)
        by_job = np.zeros((len(instance.jobs), len(self.pairs)))
        by_job[jobs, np.arange(len(self.pairs))] = 1.0
        self._done = by_job @ work >= 1.0
        return [*rows, self._done]

    def _work_of(self, speedup: Any, a: Any, d: Any, work: Any, sizes: Any) -> list[Any]:
        """State what pairs of one speedup do, each as a part of its job's size."""
        servers, scale = self.instance.servers, self.unit / sizes
        done = cp.Variable(len(sizes), nonneg=True)
        if isinstance(speedup, Power):  # N^p is taken out, that shares remain
            scale = float(servers**speedup.p) * scale
            rows = power_work(speedup.p, a, d, done)
        elif isinstance(speedup, Amdahl):
            typical = servers / len(self.instance.jobs)
            rows = amdahl_work(speedup.parallel, typical, servers * a, d, done)
        else:
            k, s = points(speedup, servers)
            if len(k) > MOST_SEGMENTS:
                raise InputError(
                    f"speedups of {MOST_SEGMENTS} points at most in a program",
                    found=str(len(k)),
                    place="servers",
                )
            rows = table_work((k, s), servers * a, d, done)
        return [*rows, work == cp.multiply(scale, done)]

    def _servers_suffice(self) -> list[Any]:
        """State that the shares of each epoch sum to 1 at most."""
        by_epoch = np.zeros((len(self.present), len(self.pairs)))
        by_epoch[[e for _, e in self.pairs], np.arange(len(self.pairs))] = 1.0
        return [by_epoch @ self._a <= self._d]

    def _arrivals_are_kept(self) -> list[Any]:
        """State that epochs which end at an arrival end then."""
        return [
            cp.sum(self._d[: e + 1]) == self.instance.arrivals[j] / self.unit
            for e, (what, j) in enumerate(self.ends)
            if what == "arrival"
        ]

    @property
    def model(self) -> Any:
        """The program as it stands."""
        return self.program(self.side())

    def program(self, names: Iterable[str]) -> Any:
        """Return the program with some of its side constraints, by name."""
        goal = cp.Minimize((self.levels() / self._scaled) @ self._d)
        side = self.side()
        return cp.Problem(goal, [*self._core, *(row for name in names for row in side[name])])

    def add(self, *constraints: Any) -> Self:
        """Add side constraints to those of the instance, or native constraints of CVXPY.

        Raises
        ------
        InputError
            If one names a job or group that does not exist, has a name that is taken, or is of a
            kind that shares of servers cannot take.
        """
        began = time.perf_counter()
        declared = [c for c in constraints if not isinstance(c, cp.Constraint)]
        together = [*self.instance.constraints, *self.added, *declared]
        check_names(together)
        check_references(together, self.instance.index, self.instance.groups)
        for constraint in declared:
            name = label(constraint, len(self.instance.constraints) + len(self.added))
            check_meaning(constraint, name)
            self.rules.take(constraint, name)
            self.added.append(constraint)
        self.natives += [c for c in constraints if isinstance(c, cp.Constraint)]
        self.seconds += time.perf_counter() - began
        return self

    def side(self) -> dict[str, list[Any]]:
        """Return the CVXPY constraints behind each side constraint, native ones too, by name."""
        if not self.rules.names and not self.natives:  # before all pairs are laid out
            return {}
        at = {pair: i for i, pair in enumerate(self.pairs)}
        found: dict[str, list[Any]] = {name: [] for name in self.rules.names}
        for e, jobs in enumerate(self.present):
            for bound in self.rules.in_force(jobs):
                taken = cp.sum(self._a[[at[j, e] for j in bound.jobs]])
                if bound.at_least > 0:
                    found[bound.name].append(taken >= bound.at_least * self._d[e])
                if bound.at_most < 1:
                    found[bound.name].append(taken <= bound.at_most * self._d[e])
        if self.natives:
            found["native constraints"] = list(self.natives)
        return found

    def plain(self) -> bool:
        """Tell whether nothing but the jobs' work and the servers bind: then prices solve it."""
        late = bool(self.instance.arrivals.any())
        return not (self.rules.names or self.natives or late)

    def ordered(self, order: Sequence[int], arrived: Mapping[str, int] | None = None) -> Allocation:
        """Return the program of another order (positions, from the last), with the same rules."""
        names = [self.instance.jobs[j].name for j in reversed([int(i) for i in order])]
        program = Allocation(self.instance, order=names, arrived=arrived).add(*self.added)
        program.given = self.given
        return program

    def hint(self, solution: Any) -> Iterable[tuple[Any, float]]:
        """Yield nothing: an interior-point method has no use for a start."""
        del solution
        return ()

    def decode(self, value: Callable[[Any], Any]) -> Allocated:
        """Turn values of the variables into shares, played until each job is really done."""
        d = self.unit * np.asarray(value(self._d))
        a = self.unit * np.asarray(value(self._a))
        shares = np.zeros((len(self.present), len(self.instance.jobs)))
        for (j, e), amount in zip(self.pairs, a, strict=True):
            shares[e, j] = max(float(amount), 0.0)
        what = (self.instance, self.present, self.ends, np.maximum(d, 0.0), shares)
        if self.instance.arrivals.any():
            return replayed(*what)
        planned = as_planned(*what, rules=self.rules)
        if self.given or self.rules.names or self.natives:  # which hold for these epochs only
            return planned
        return min(planned, replayed(*what), key=self._cost)

    def _cost(self, solution: Allocated) -> float:
        return self.instance.objective_of(solution)

    def bound(self) -> float | None:
        """Return the lower bound that the solver's dual values prove, whatever their accuracy.

        None with native constraints, of whose dual values nothing is known.
        """
        if self.natives or self._done.dual_value is None:
            return None
        lam = np.maximum(np.asarray(self._done.dual_value, dtype=np.float64), 0.0)
        lam = lam * self.unit * self._scaled / self.instance.sizes
        return proven_by_prices(self, lam)
