"""The formulation `Allocation`: the shares of servers over time as a convex program."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.hesrpt.epochs import (
    ORDER,
    Bound,
    Epochs,
    Order,
    Rules,
    epochs_of,
    in_force,
    planned_allocation,
    positions,
    smiths_order,
)
from schedopt.instances.constraints import Constraint, check_rules, label
from schedopt.instances.errors import InputError
from schedopt.instances.extras import installed, require
from schedopt.instances.hesrpt import (
    Allocated,
    Amdahl,
    Instance,
    Power,
    check_meaning,
)
from schedopt.instances.hesrpt.speedups import Speedup
from schedopt.instances.options import Option, check_options

if TYPE_CHECKING:
    import cvxpy as cp

    from schedopt.formulations.hesrpt.programs import ConvexProgram

Floats = NDArray[np.float64]
MOST_JOBS = 3_000
"""Most jobs: an allocation lists the share of each job until it completes."""
RuleRow = tuple[Bound, "cp.Constraint"]
"""A limit on shares, and the row of the program that enforces it."""
Value = Callable[["cp.Variable"], "Floats | float"]
"""Returns the value of a variable."""


class Allocation:
    """Share servers to minimize flow times: the convex program of one completion order.

    Parameters
    ----------
    instance : Instance
        Servers and jobs, with side constraints.
    order : str or sequence of str, optional
        The jobs from the first to complete to the last, as a sequence or separated by commas.
        Without it `solve` searches all orders, and the program here is that of Smith's order.
    arrived : mapping of str to int
        For each job that arrives after time 0, the number of jobs that complete before; 0 by
        default.

    Attributes
    ----------
    model : cvxpy.Problem
        The program. Users may add constraints, or change or replace the objective.
    time : cvxpy.Expression
        The duration of each epoch, shape (E,). An epoch ends with a completion or an arrival.
    used : cvxpy.Expression
        Share times duration, shape (n,), for the pairs (job, epoch) in ``pairs``.
    completion : dict of str to cvxpy.Expression
        The completion time of each job.

    Raises
    ------
    InputError
        If an order or a constraint is wrong.

    Notes
    -----
    With d_e the duration of epoch e and a_je = theta_je d_e::

        minimize    sum_e W_e d_e
        subject to  sum_e d_e s_j(N a_je / d_e) >= x_j      for each job,
                    sum_j a_je <= d_e                       for each epoch,

    where job j has no share after its own epoch, and W_e is the total weight of the jobs in the
    system. Jobs may complete earlier than the order says, since the least value over all orders is
    the optimum. Source: heSRPT paper, section 3, with Theorem 3 for constant shares.
    """

    problem: ClassVar[str] = "hesrpt"
    name: ClassVar[str] = "allocation"
    engine: ClassVar[str] = "cvxpy"
    sense: ClassVar[Literal["maximize", "minimize"]] = "minimize"
    known_options: ClassVar[Mapping[str, Option]] = {"order": ORDER}
    tolerance: ClassVar[float] = 1e-6
    """The relative gap up to which an interior-point objective counts as optimal."""
    most_segments: ClassVar[int] = 2_000
    """Most segments of a piecewise linear speedup, each of which is a row of the program."""

    def __init__(
        self,
        instance: Instance,
        *,
        order: str | Sequence[str] | None = None,
        arrived: Mapping[str, int] | None = None,
    ) -> None:
        began = time.perf_counter()
        self.options: dict[str, object] = {}
        if order is not None:
            names = str(order) if isinstance(order, str | int | float) else ",".join(order)
            check_options({"order": names}, self.known_options, self.name)
            self.options["order"] = names
        found = len(instance.jobs)
        if found > MOST_JOBS:
            raise InputError(f"at most {MOST_JOBS:,} jobs", found=f"{found:,}", place="jobs")
        self.instance = instance
        self.given = order is not None
        self.last_first: Order = (
            smiths_order(instance) if order is None else positions(instance, order)
        )
        self.arrived = dict(arrived or {})
        self.added: list[Constraint] = []
        self._rows: list[RuleRow] = []
        self._stated = 0
        self._model: ConvexProgram | None = None
        self.rules = Rules(instance)
        for position, constraint in enumerate(instance.constraints):
            self.rules.take(constraint, label(constraint, position))
        self.seconds = time.perf_counter() - began

    @cached_property
    def epochs(self) -> Epochs:
        """The epochs of the order: the present jobs, and the event that ends each epoch."""
        return epochs_of(self.instance, self.last_first, self.arrived)

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs (job, epoch) in which the job is present."""
        return [(j, e) for e, jobs in enumerate(self.epochs.present) for j in jobs]

    @cached_property
    def unit(self) -> float:
        """The unit of time of rows and solvers, in which the objective is about 1."""
        instance = self.instance
        everyone = np.arange(len(instance.jobs))
        even = np.full(len(everyone), instance.servers / len(everyone))
        times = instance.sizes / instance.each("at", everyone, even) + instance.arrivals
        if instance.objective == "makespan":
            return float(times.max())
        return float(instance.costs @ times / instance.costs.sum())

    @cached_property
    def time(self) -> cp.Variable:
        """The duration of each epoch, shape (E,)."""
        import cvxpy as cp

        return cp.Variable(len(self.epochs.present), nonneg=True, name="d")

    @cached_property
    def used(self) -> cp.Variable:
        """Share times duration of each pair, shape (n,)."""
        import cvxpy as cp

        return cp.Variable(len(self.pairs), nonneg=True, name="a")

    @cached_property
    def _scaled(self) -> tuple[cp.Expression, cp.Expression]:
        """Durations, and shares times durations, in `unit`: the variables of the rows."""
        return self.time / self.unit, self.used / self.unit

    @cached_property
    def completion(self) -> dict[str, cp.Expression]:
        """The completion time of each job."""
        import cvxpy as cp

        return {
            self.instance.jobs[j].name: cp.sum(self.time[: e + 1])
            for e, (what, j) in enumerate(self.epochs.ends)
            if what == "completion"
        }

    @property
    def model(self) -> ConvexProgram:
        """The convex program; the user's changes to it are kept and solved."""
        if self._model is None:
            self._model = self._build()
        return self._model

    @model.setter
    def model(self, program: cp.Problem) -> None:
        own = self.model.declared
        self._model = type(self.model)(program.objective, program.constraints, own)

    def _build(self) -> ConvexProgram:
        """State the program of the Notes, with durations d and shares times durations a."""
        require("cvxpy", "model")
        import cvxpy as cp

        from schedopt.formulations.hesrpt.programs import ConvexProgram

        pairs = np.array(self.pairs, dtype=np.intp).reshape(-1, 2)
        job_of, epoch_of = pairs.T
        by_job = (job_of == np.arange(len(self.instance.jobs))[:, None]).astype(float)
        by_epoch = (epoch_of == np.arange(len(self.epochs.present))[:, None]).astype(float)

        d, a = self._scaled
        work, work_rows = self._work(job_of, epoch_of)
        levels = [self.instance.costs[jobs].sum() for jobs in self.epochs.present]  # W_e
        flow_times = self.instance.objective != "makespan"
        goal = cp.Minimize(np.array(levels) @ self.time if flow_times else cp.sum(self.time))
        rows = [
            *work_rows,  # work <= d s(N a / d), as a part of the job's size
            by_job @ work >= 1.0,  # each job is completed
            by_epoch @ a <= d,  # shares sum to at most 1
            *(
                cp.sum(d[: e + 1]) == self.instance.arrivals[j] / self.unit
                for e, (what, j) in enumerate(self.epochs.ends)
                if what == "arrival"
            ),
            *(row for _, row in self._side_rows()),  # side constraints
        ]
        return ConvexProgram(goal, rows)

    @property
    def changed(self) -> bool:
        """Whether the user has changed the program."""
        return self._model is not None and self._model.changed

    @property
    def goal_changed(self) -> bool:
        """Whether the user has changed its objective."""
        return self._model is not None and self._model.goal_changed

    def program(self, names: Collection[str]) -> cp.Problem:
        """Return a new program with only the named side constraints.

        Its objective is divided by the factor of `worth`.
        """
        side = self.side_constraints()
        gone = (row for name in side if name not in names for row in side[name])
        return self.model.without(gone, self.worth(1.0))

    def _work(
        self, job_of: NDArray[np.intp], epoch_of: NDArray[np.intp]
    ) -> tuple[cp.Expression, list[cp.Constraint]]:
        """Return the work of each pair as a part of the job's size, and the rows that limit it."""
        import cvxpy as cp

        sizes, (d, a) = self.instance.sizes[job_of], self._scaled
        done = cp.Variable(len(sizes), nonneg=True, name="work")
        work, rows = cp.multiply(1.0 / sizes, done), list[cp.Constraint]()
        for kind, speedup in enumerate(self.instance.speedups):
            mine = np.flatnonzero(self.instance.kinds[job_of] == kind)
            rows += self._work_of(speedup, a[mine], d[epoch_of[mine]], work[mine], sizes[mine])
        return work, rows

    def _work_of(
        self,
        speedup: Speedup,
        a: cp.Expression,
        d: cp.Expression,
        work: cp.Expression,
        sizes: Floats,
    ) -> list[cp.Constraint]:
        """Return the rows work <= d s(N a / d) / size of the pairs with one speedup."""
        import cvxpy as cp

        from schedopt.formulations.hesrpt.programs import amdahl_work, power_work, table_work

        servers, scale = self.instance.servers, self.unit / sizes
        done = cp.Variable(len(sizes), nonneg=True)
        if isinstance(speedup, Power):  # N^p is a factor of the work, so that shares remain
            scale = float(servers**speedup.p) * scale
            rows = power_work(speedup.p, a, d, done)
        elif isinstance(speedup, Amdahl):
            typical = servers / len(self.instance.jobs)
            rows = amdahl_work(speedup.parallel, typical, servers * a, d, done)
        else:
            k, s = speedup.breaks()
            if len(k) > self.most_segments:
                expected = f"speedups of {self.most_segments} points at most in a program"
                raise InputError(expected, found=str(len(k)), place="servers")
            rows = table_work((k, s), servers * a, d, done)
        return [*rows, work == cp.multiply(scale, done)]

    def add(self, *constraints: Constraint | cp.Constraint) -> Self:
        """Add side constraints or CVXPY constraints; `InputError` if one is not supported."""
        began = time.perf_counter()
        declared = [c for c in constraints if isinstance(c, Constraint)]
        natives = [c for c in constraints if not isinstance(c, Constraint)]
        check_rules(self.instance, [*self.added, *declared])
        for constraint in declared:
            name = label(constraint, len(self.instance.constraints) + len(self.added))
            check_meaning(constraint, name)
            self.rules.take(constraint, name)
            self.added.append(constraint)
        if self._model is not None:
            count = len(self._rows)
            self._model.state([row for _, row in self._side_rows()[count:]])
        if natives:
            self.model.constraints.extend(natives)
        self.seconds += time.perf_counter() - began
        return self

    def side_constraints(self) -> dict[str, list[cp.Constraint]]:
        """Return the CVXPY constraints of each side constraint and of the user, by name."""
        changed = self.changed
        rows: dict[str, list[cp.Constraint]] = {name: [] for name in self.rules.names}
        if not changed and not (rows and installed("cvxpy")):  # before all pairs are laid out
            return rows
        for bound, row in self._side_rows():
            rows[bound.name].append(row)
        if changed:
            rows["native constraints"] = self.model.added
        return rows

    def _side_rows(self) -> list[RuleRow]:
        """Return the rows of the side constraints on the shares of the jobs in each epoch."""
        import cvxpy as cp

        fresh = self.rules.bounds[self._stated :]
        self._stated = len(self.rules.bounds)
        at = {pair: i for i, pair in enumerate(self.pairs)} if fresh else {}
        time, used = self._scaled
        for e, jobs in enumerate(self.epochs.present if fresh else ()):
            for bound in in_force(fresh, jobs):
                taken = cp.sum(used[[at[j, e] for j in bound.jobs]])
                if bound.at_least > 0:
                    self._rows.append((bound, taken >= bound.at_least * time[e]))
                if bound.at_most < 1:
                    self._rows.append((bound, taken <= bound.at_most * time[e]))
        return self._rows

    def worth(self, goal: float) -> float:
        """Return the cost of a scaled objective value."""
        scale = 1.0 if self.instance.objective == "makespan" else float(self.instance.costs.sum())
        return goal * scale * self.unit

    def ordered(self, order: Sequence[int], arrived: Mapping[str, int] | None = None) -> Allocation:
        """Return the program of another order (positions, from the last job)."""
        names = [self.instance.jobs[j].name for j in reversed([int(i) for i in order])]
        program = Allocation(self.instance, order=names, arrived=arrived).add(*self.added)
        program.given = self.given
        return program

    def hint(self, solution: Allocated) -> Iterable[tuple[cp.Variable, float]]:
        """Yield nothing: an interior-point method does not use a warm start."""
        del solution
        return ()

    def decode(self, value: Value) -> Allocated:
        """Return the allocation of the variables' values, simulated until all jobs complete."""
        d, a = (np.maximum(np.asarray(value(of)), 0.0) for of in (self.time, self.used))
        used = np.zeros((len(d), len(self.instance.jobs)))
        used[[e for _, e in self.pairs], [j for j, _ in self.pairs]] = a
        rules = self.rules
        if self.changed:
            rules = rules.only(self.model.whole(self.side_constraints()))
        return planned_allocation(self.instance, self.epochs, d, used, rules)
