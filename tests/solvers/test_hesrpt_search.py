"""Searches over completion orders: bounds hold, and solutions satisfy the side constraints."""

from math import inf
from random import Random
from typing import Any

import msgspec
import numpy as np
import pytest
from builders.effort import ALL, tried
from builders.hesrpt import cluster, speedups, tables, various
from contract.hesrpt import allocation
from hypothesis import assume
from hypothesis import strategies as st

import schedopt
from schedopt.instances.constraints import FairShare, Shares
from schedopt.instances.hesrpt import Amdahl, Instance, Job, Power, Table
from schedopt.policies.hesrpt.shares import equi
from schedopt.policies.hesrpt.simulator import simulate
from schedopt.policies.registry import registered
from schedopt.solvers.hesrpt.dominance import count_sets
from schedopt.solvers.hesrpt.lagrangian import (
    LagrangianSearch,
    is_steep,
)
from schedopt.solvers.hesrpt.order_search import order_search


def many(jobs: int, seed: int, servers: int = 100) -> Instance:
    """Draw jobs of powers, of Amdahl's law and of tables by turns, with Pareto sizes."""
    random = np.random.Generator(np.random.PCG64(seed))
    tabled = Table(points=((1, 1), (8, 6), (32, 14), (100, 20)))
    own = [
        (
            Power(p=float(random.uniform(0.2, 0.95))),
            Amdahl(parallel=float(random.uniform(0.7, 0.999))),
            tabled,
        )[j % 3]
        for j in range(jobs)
    ]
    sizes, weights = random.pareto(1.5, jobs) + 1, random.integers(1, 5, jobs)
    objective = "weighted-flow-time"
    return cluster(sizes, Power(p=0.5), servers, weights=weights, own=own, objective=objective)


def late(jobs: list[tuple[float, float, float, Power | Amdahl]], **more: Any) -> Instance:
    """Build jobs of a size, weight, arrival and speedup."""
    made = (
        Job(name=f"j{i}", size=x, weight=w, arrival=r, speedup=s)
        for i, (x, w, r, s) in enumerate(jobs)
    )
    objective = more.pop("objective", "weighted-flow-time")
    return Instance(name="late", servers=10, objective=objective, jobs=tuple(made), **more)


def ended(search: Any) -> Any:
    """Return a search at its end."""
    while not search.advance(inf):
        pass
    return search


@tried(40, various(5, st.one_of(speedups, tables, st.just(Power(p=1.0)))))
def test_lagrangian_search_of_few_jobs_encloses_the_optimum(instance: Instance) -> None:
    assume(not is_steep(instance))
    search, found = ended(order_search(instance)), ended(LagrangianSearch(instance))
    assert 0.0 < found.bound <= search.value * (1 + 1e-12)
    assert found.value >= search.value * (1 - 1e-6)
    after, placed = found.rents.precedences(search.value * 1.0001), 0
    for name in reversed(search.solution().order):  # as played: with ties not the one searched
        j = instance.index[name]
        assert int(after[j]) & ~placed == 0
        placed |= 1 << j


def test_lagrangian_bound_leaves_few_orders_of_twenty_jobs() -> None:
    found = ended(LagrangianSearch(many(20, 1)))
    assert found.value - found.rents.bound < 0.01 * found.value
    assert 20 < count_sets(found.rents.precedences(found.value), 1 << 20) < 1 << 12
    assert count_sets(np.array([2, 1]), 10) == 0


def test_allocation_of_seventy_jobs_has_a_gap_below_one_percent() -> None:
    instance = many(70, 1)
    result = schedopt.solve(instance, time_limit=60)
    assert result.violations == () and result.bound is not None and result.gap is not None
    assert not result.proven and result.gap < 0.01
    ends, _ = simulate(instance, equi, record=False)
    assert result.bound <= float(instance.costs @ ends)


TEAMS = st.sampled_from(
    [
        FairShare(by="team", at_most={"a": 0.5}, name="cap"),
        FairShare(by="team", at_most={"a": 0.3, "b": 0.4}, name="caps"),
        FairShare(by="team", at_least={"a": 0.2, "b": 0.3}, name="floors"),
        FairShare(by="team", at_least={"b": 0.1}, at_most={"a": 0.4}, name="both"),
    ]
)


@tried(15, various(5, st.one_of(speedups, tables)), TEAMS)
def test_lagrangian_bound_with_teams_holds(instance: Instance, rule: FairShare) -> None:
    assume(len(instance.jobs) > 1 and not is_steep(instance))  # that there are two teams
    ruled = msgspec.structs.replace(instance, constraints=(rule,))
    best = schedopt.solve(ruled, solver="branch-and-bound")
    found = schedopt.solve(ruled, solver="lagrangian")
    assert best.objective is not None and best.proven and best.violations == ()
    assert found.violations == () and found.objective is not None
    assert found.bound is not None and 0.0 < found.bound <= best.objective * (1 + 1e-9)
    assert found.objective >= best.objective * (1 - 1e-6)


def test_allocation_at_time_limit_zero_is_feasible() -> None:
    instance = many(200, 5)
    result = schedopt.solve(instance, time_limit=0.0)
    assert result.solution_status == "feasible" and result.violations == ()
    assert result.bound is not None and 0.0 < result.bound < (result.objective or 0.0)


def test_jobs_with_arrivals_are_proven_and_no_policy_beats_them() -> None:
    count = 8 if ALL else 6
    random = np.random.Generator(np.random.PCG64(6))
    sizes, gaps = random.pareto(1.5, count) + 1, random.exponential(0.3, count)
    powers = [Power(p=(0.3, 0.5, 0.7, 0.9)[i % 4]) for i in range(count)]
    weights, arrivals = [1.0 + i % 4 for i in range(count)], np.cumsum(gaps) - gaps[0]
    instance = late(list(zip(sizes.tolist(), weights, arrivals.tolist(), powers, strict=True)))
    result = schedopt.solve(instance)
    assert result.termination == "optimal"
    assert result.objective is not None
    for name in ("equi", "srpt", "hell", "replan"):
        played = registered("hesrpt")[name].run(instance)
        assert instance.objective_of(played) >= result.objective * (1 - 2e-6)


def test_allocation_proves_a_makespan_under_a_cap() -> None:
    jobs = [(1.0 + i % 3, 1.0, 0.05 * i, Power(p=0.5 + 0.04 * i)) for i in range(10)]
    cap = Shares(jobs=tuple(f"j{i}" for i in range(0, 10, 2)), at_most=0.1, name="cap")
    result = schedopt.solve(late(jobs, objective="makespan", constraints=(cap,)))
    assert result.proven and result.violations == ()


@pytest.mark.parametrize(("seed", "least"), [(41, 0.9), (43, 55.312060931924776)])
def test_allocation_of_a_given_order_ignores_policies(seed: int, least: float) -> None:
    """A policy's schedule in another order is no solution: for the second seed it has 30.03."""
    result = schedopt.solve(allocation(Random(seed)), threads=1)  # noqa: S311
    assert result.violations == ()
    assert result.proven and result.objective == pytest.approx(least, rel=1e-6)
