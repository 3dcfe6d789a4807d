"""Searches over completion orders: bounds hold, and solutions satisfy the side constraints."""

import numpy as np
from builders.hesrpt import cluster

import schedopt
from schedopt.instances.constraints import Shares
from schedopt.instances.hesrpt import Amdahl, Power, Table
from schedopt.policies.registry import registered


def test_allocation_of_seventy_jobs_has_a_gap_below_one_percent() -> None:
    random = np.random.Generator(np.random.PCG64(1))
    tabled = Table(points=((1, 1), (8, 6), (32, 14), (100, 20)))
    own = [
        (
            Power(p=float(random.uniform(0.2, 0.95))),
            Amdahl(parallel=float(random.uniform(0.7, 0.999))),
            tabled,
        )[j % 3]
        for j in range(70)
    ]
    weights, objective = random.integers(1, 5, 70), "weighted-flow-time"
    sizes = random.pareto(1.5, 70) + 1
    instance = cluster(sizes, Power(p=0.5), 100, weights=weights, own=own, objective=objective)
    result = schedopt.solve(instance)
    assert result.violations == () and result.bound is not None and result.gap is not None
    assert not result.proven and result.gap < 0.01
    assert result.bound <= schedopt.evaluate(instance, "equi").objective


def test_jobs_with_arrivals_are_proven_and_no_policy_beats_them() -> None:
    random = np.random.Generator(np.random.PCG64(6))
    sizes, arrivals = random.pareto(1.5, 5) + 1, np.cumsum(random.exponential(0.3, 5))
    own = [Power(p=p) for p in (0.3, 0.5, 0.7, 0.9, 0.3)]
    more = {"weights": [1, 2, 3, 4, 1], "objective": "weighted-flow-time"}
    instance = cluster(sizes, None, own=own, arrivals=arrivals - arrivals[0], **more)
    result = schedopt.solve(instance)
    assert result.termination == "optimal"
    for name in ("equi", "srpt", "hell", "replan"):
        played = registered("hesrpt")[name].run(instance)
        assert instance.objective_of(played) >= result.objective * (1 - 2e-6)


def test_allocation_proves_a_makespan_under_a_cap() -> None:
    cap = Shares(jobs=tuple(f"j{i}" for i in range(0, 10, 2)), at_most=0.1, name="cap")
    own, arrivals = [Power(p=0.5 + 0.04 * i) for i in range(10)], [0.05 * i for i in range(10)]
    more = {"objective": "makespan", "constraints": (cap,)}
    sizes = [1.0 + i % 3 for i in range(10)]
    result = schedopt.solve(cluster(sizes, None, own=own, arrivals=arrivals, **more))
    assert result.proven and result.violations == ()
