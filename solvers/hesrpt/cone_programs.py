"""Conic program of one timeline, in Clarabel's own form, and the bound that its dual values prove.

It is the program that `formulations.hesrpt.Allocation` declares for its order. CVXPY takes longer
to compile the program than Clarabel to solve it, so it is not used here.
"""

from collections.abc import Collection
from dataclasses import dataclass
from math import fsum, inf
from typing import Any, NamedTuple

import numpy as np

from schedopt.formulations.hesrpt import Allocation
from schedopt.formulations.hesrpt.cones import cone_chain
from schedopt.formulations.hesrpt.epochs import Bound, bounds_of, in_force
from schedopt.instances.hesrpt import Allocated, Amdahl, Power, points
from schedopt.solvers import clarabel
from schedopt.solvers.hesrpt.earning_kernels import gains, most_earned
from schedopt.solvers.hesrpt.speedup_kernels import Curves, Floats, Ints, curves

NO_CHEAPER = 1e-6
"""Solutions whose cost exceeds the incumbent by more than this fraction are not decoded."""


class Duals(NamedTuple):
    """Dual values of the program, as prices."""

    work: Floats  # of a unit of each job's work, (M,)
    servers: Floats  # of all servers for a unit of time, in each epoch, (E,)
    # epoch, bound, price: over 0 for a floor, below 0 for a cap
    rules: list[tuple[int, Bound, float]]


def bound_by_prices(program: Allocation, duals: Duals) -> tuple[float, Floats] | None:
    """Return a lower bound for the program's order, and the work prices that prove it.

    Returns None if the prices prove nothing. Prices are scaled until they are feasible. Prices of
    servers and rules are used only for rules that the kernels do not support.
    """
    instance, lam = program.instance, duals.work
    bounds = bounds_of(program.rules, len(instance.jobs))
    c = curves(instance, bounds)
    levels = program.levels

    def earn(prices: Floats, e: int) -> float:
        here = np.array(program.epochs.present[e], dtype=np.int64)
        own = np.zeros(len(c.team_leasts) + 1)
        value = float(most_earned(c, prices, here, len(here), len(here), own))
        if not bounds.whole:
            value = min(value, _most_earned_at(c, prices, here, e, duals))
        return value

    most = np.array([earn(lam, e) for e in range(len(levels))])
    marks = [e for e, (what, _) in enumerate(program.epochs.ends) if what == "arrival"]
    after = slice(marks[-1] + 1 if marks else 0, None)
    with np.errstate(divide="ignore"):
        scale = float(np.min(levels[after] / most[after], initial=inf, where=most[after] > 0))
    if not np.isfinite(scale) or scale <= 0:
        return None
    scale = min(scale, 1.0) if marks else scale
    lam = scale * lam
    bound = (lam * instance.sizes).tolist()
    start, first = 0.0, 0
    for mark in marks:  # an epoch that lasts until a known time costs what is not earned in it
        spare = float(np.min(levels[first : mark + 1] - scale * most[first : mark + 1]))
        end = float(instance.arrivals[program.epochs.ends[mark][1]])
        bound.append(spare * (end - start))
        start, first = end, mark + 1
    return fsum(bound), lam


def _most_earned_at(c: Curves, lam: Floats, here: Ints, e: int, duals: Duals) -> float:
    """Return an upper bound on the value of work in an epoch, from the dual values."""
    index = {int(j): i for i, j in enumerate(here)}
    rents = np.full(len(here), duals.servers[e])
    value = float(duals.servers[e])
    for epoch, bound, multiplier in duals.rules:
        if epoch == e:
            rents[[index[j] for j in bound.jobs]] -= multiplier
            value -= multiplier * (bound.at_least if multiplier > 0 else bound.at_most)
    k = np.zeros(len(here))
    return value + float(gains(c, lam, here, rents / c.servers, k))


@dataclass(frozen=True)
class Solved:
    """The result of one order's program: a simulated solution, and a bound that prices prove.

    The bound holds whatever the accuracy of the dual values. It is None if they prove nothing.
    """

    status: clarabel.Status
    solution: Allocated | None = None
    bound: float | None = None
    prices: Floats | None = None


def solve_program(
    program: Allocation, time_limit: float | None = None, known: float = inf
) -> Solved:
    """Solve the program of an allocation's order.

    Parameters
    ----------
    program : Allocation
    time_limit : float or None
        Seconds.
    known : float
        The cost of a known solution; a solution that is not cheaper is not decoded.
    """
    rows = _Rows(program, program.rules.names)
    status, x, z = clarabel.solve_cones(rows.costs(), rows.cones, time_limit)
    if status != "solved":
        return Solved(status)
    proven = bound_by_prices(program, rows.duals(z))
    if program.worth(float(rows.costs() @ x)) > known * (1.0 + NO_CHEAPER):
        return Solved("solved", None, *(proven or ()))
    solution = program.read(x[: rows.epochs], x[rows.epochs : rows.epochs + rows.pairs])
    return Solved("solved", solution, *(proven or ()))


def feasible(program: Allocation, names: Collection[str]) -> bool:
    """Return False if a program with only the named side constraints is infeasible."""
    rows = _Rows(program, names)
    return clarabel.solve_cones(rows.costs(), rows.cones)[0] != "infeasible"


class _Rows:
    """The rows of a program. Variables are d for each epoch, and a and the work for each pair."""

    def __init__(self, program: Allocation, names: Collection[str]) -> None:
        self.program, self.instance = program, program.instance
        self.epochs, self.pairs = len(program.epochs.present), len(program.pairs)
        self.jobs = np.array([j for j, _ in program.pairs], dtype=np.intp)
        self.at = np.array([e for _, e in program.pairs], dtype=np.intp)
        self.cones = clarabel.Cones(self.epochs + 2 * self.pairs)
        self._arrivals()
        everything = np.arange(self.cones.variables)
        self.cones.at_most(np.zeros(len(everything)), [(everything, -1.0)])
        own, epochs = self.epochs + np.arange(self.pairs), np.arange(self.epochs)
        ones = np.ones(self.pairs)
        done = self.jobs, own + self.pairs, -ones
        self.work = self.cones.at_most(-np.ones(len(self.instance.jobs)), done)
        used = (
            np.append(self.at, epochs),
            np.append(own, epochs),
            np.append(ones, -np.ones(self.epochs)),
        )
        self.servers = self.cones.at_most(np.zeros(self.epochs), used)
        self._rules(names)
        for kind in range(len(self.instance.speedups)):
            self._speedup(kind, np.flatnonzero(self.instance.kinds[self.jobs] == kind))

    def costs(self) -> Floats:
        """Return the objective, scaled to about 1."""
        costs = np.zeros(self.cones.variables)
        costs[: self.epochs] = self.program.levels / self.program.scale
        return costs

    def _arrivals(self) -> None:
        """Add rows that fix the ends of epochs at arrivals."""
        for e, (what, j) in enumerate(self.program.epochs.ends):
            if what == "arrival":
                epochs, row = np.arange(e + 1), np.zeros(e + 1, np.intp)
                end = np.array([self.instance.arrivals[j] / self.program.unit])
                self.cones.equal(end, (row, epochs, np.ones(e + 1)))

    def _rules(self, names: Collection[str]) -> None:
        """Add rows for the side constraints on the shares of the present jobs."""
        rules = self.program.rules.only(names)
        pair = {key: i for i, key in enumerate(self.program.pairs)} if rules.bounds else {}
        self.asked: list[tuple[int, Bound, float]] = []
        rows, columns, values = list[int](), list[int](), list[float]()
        for e, jobs in enumerate(self.program.epochs.present if rules.bounds else ()):
            for bound in in_force(rules.bounds, jobs):
                floor = [(1.0, bound.at_least)] * (bound.at_least > 0)
                for sign, share in [*floor, *[(-1.0, bound.at_most)] * (bound.at_most < 1)]:
                    own = [self.epochs + pair[j, e] for j in bound.jobs]
                    rows += [len(self.asked)] * (len(own) + 1)
                    columns += [*own, e]
                    values += [*([-sign] * len(own)), sign * share]
                    self.asked.append((e, bound, sign))
        where = np.array(rows, np.intp), np.array(columns, np.intp), np.array(values)
        self.rules = self.cones.at_most(np.zeros(len(self.asked)), where)

    def _speedup(self, kind: int, mine: Ints) -> None:
        """Add the cones of a speedup: the work is at most d_e s_j(N a_je / d_e)."""
        instance, speedup = self.instance, self.instance.speedups[kind]
        servers, zeros = float(instance.servers), np.zeros(len(mine))
        a, d = self.epochs + mine, self.at[mine]
        work, size = a + self.pairs, instance.sizes[self.jobs[mine]] / self.program.unit
        p = speedup.p if isinstance(speedup, Power) else 0.0
        f = speedup.parallel if isinstance(speedup, Amdahl) else 0.0
        if not len(mine):
            return
        if p == 1.0 or f == 1.0:
            self.cones.at_most(zeros, [(work, size / servers), (a, -1.0)])
        elif isinstance(speedup, Power):  # N^p is taken out, that shares remain
            self._tower(p, [[(a, 1.0)], [(d, 1.0)], [(work, size / servers**p)]])
        elif isinstance(speedup, Amdahl):
            # U² <= (U + V)(U - work) with U = d/(1 - f), V = N a/f, brought to one size.
            scale = 1.0 + (1.0 - f) * servers / (len(instance.jobs) * f)
            u, v = 1.0 / (1.0 - f), servers / f
            x = [(d, u / scale), (a, v / scale)]
            y: clarabel.Terms = [(d, u * scale), (work, -size * scale)]
            self.cones.below_means([(d, u)], x, y)
        else:
            k, s = points(speedup, instance.servers)
            self.cones.at_most(zeros, [(work, size), (d, -float(s[-1]))])
            for i in range(len(k) - 1):
                slope = (s[i + 1] - s[i]) / (k[i + 1] - k[i])
                level = float(s[i] - slope * k[i])
                steep = -slope * servers
                self.cones.at_most(zeros, [(work, size), (d, -level), (a, steep)])

    def _tower(self, p: float, terms: list[list[tuple[Ints, Any]]]) -> None:
        """Add work <= a^p d^(1-p) for terms of a, d and work in units of similar size."""
        floors = cone_chain(p)
        for z, _, _ in floors:
            if z == len(terms):
                terms.append([(self.cones.new(len(terms[0][0][0])), 1.0)])
        for z, x, y in floors:
            self.cones.below_means(terms[z], terms[x], terms[y])

    def duals(self, z: Floats) -> Duals:
        """Return the solver's dual values as prices."""
        scale = self.program.scale

        def cost(rows: slice) -> Any:
            return np.maximum(z[rows], 0.0) * scale

        work = cost(self.work) * self.program.unit / self.instance.sizes
        rules = zip(self.asked, cost(self.rules).tolist(), strict=True)
        return Duals(
            work, cost(self.servers), [(e, bound, sign * c) for (e, bound, sign), c in rules if c]
        )
