"""The search over timelines against the program of every timeline, and policies against it."""

from __future__ import annotations

from math import inf

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedopt.formulations.hesrpt import Allocation
from schedopt.formulations.hesrpt.epochs import timelines
from schedopt.instances.hesrpt import Amdahl, Instance, Job, Power
from schedopt.policies.registry import registered
from schedopt.solvers.door import solve
from schedopt.solvers.hesrpt.programs import solve_program
from schedopt.solvers.hesrpt.timelines import TimelineSearch
from schedopt.solvers.result import Limits

SPEEDUPS = st.sampled_from([Power(p=0.5), Power(p=0.9), Power(p=1.0), Amdahl(parallel=0.75)])
JOBS = st.lists(
    st.tuples(
        st.sampled_from([0.5, 1.0, 1.0, 3.0]),
        st.sampled_from([1.0, 1.0, 2.5]),
        st.sampled_from([0.0, 0.0, 0.1, 0.1, 0.25]),
        SPEEDUPS,
    ),
    min_size=2,
    max_size=3,
)


def _instance(jobs: list[tuple[float, float, float, Power | Amdahl]]) -> Instance:
    return Instance(
        name="late",
        servers=10,
        objective="weighted-flow-time",
        jobs=tuple(
            Job(name=f"j{i}", size=x, weight=w, arrival=r, speedup=s)
            for i, (x, w, r, s) in enumerate(jobs)
        ),
    )


@settings(max_examples=5, deadline=None)
@given(jobs=JOBS)
def test_what_the_search_proves_is_the_least_over_the_programs_of_all_timelines(
    jobs: list[tuple[float, float, float, Power | Amdahl]],
) -> None:
    instance = _instance(jobs)
    if not instance.arrivals.any():
        instance = _instance([(x, w, r + 0.1 * i, s) for i, (x, w, r, s) in enumerate(jobs)])
    result = solve(Allocation(instance), Limits())
    best = inf
    for order, arrived in timelines(instance):
        found = solve_program(Allocation(instance).ordered(order, arrived))
        if found.solution is not None:
            best = min(best, instance.objective_of(found.solution))
    assert result.termination == "optimal"
    assert result.objective == pytest.approx(best, rel=1e-6)
    assert result.bound is not None
    assert result.bound <= best * (1 + 1e-9)


def test_eight_jobs_with_arrivals_are_proven_and_no_policy_beats_them() -> None:
    random = np.random.Generator(np.random.PCG64(6))
    sizes, gaps = random.pareto(1.5, 8) + 1, random.exponential(0.3, 8)
    jobs = [
        (float(x), float(w), float(r), Power(p=float(p)))
        for x, w, r, p in zip(
            sizes,
            [1, 2, 3, 4] * 2,
            np.cumsum(gaps) - gaps[0],
            [0.3, 0.5, 0.7, 0.9] * 2,
            strict=True,
        )
    ]
    instance = _instance(jobs)
    result = solve(Allocation(instance), Limits(time_limit=30.0))
    assert result.termination == "optimal"
    assert result.objective is not None
    for name in ("equi", "srpt", "hell", "replan"):
        played = registered("hesrpt")[name].run(instance)
        assert instance.objective_of(played) >= result.objective * (1 - 2e-6)


def test_replanning_is_optimal_where_all_are_there_from_the_start() -> None:
    jobs = [(1.0, 1.0, 0.0, Power(p=0.5)), (2.0, 3.0, 0.0, Power(p=0.8))]
    instance = _instance([*jobs, (0.7, 1.0, 0.0, Amdahl(parallel=0.9))])
    played = registered("hesrpt")["replan"].run(instance)
    optimum = solve(Allocation(instance), Limits()).objective
    assert instance.objective_of(played) == pytest.approx(optimum, rel=1e-9)


def test_a_search_that_is_cut_short_has_a_bound_below_the_optimum() -> None:
    jobs = [(1.0, 1.0, 0.1 * i, Power(p=0.3 + 0.1 * i)) for i in range(6)]
    instance = _instance(jobs)
    search = TimelineSearch(instance)
    search.advance(-inf)
    whole = solve(Allocation(msgspec.structs.replace(instance)), Limits())
    assert whole.objective is not None
    assert min(search.rest, search.value) <= whole.objective * (1 + 1e-9)
    assert search.value >= whole.objective * (1 - 1e-6)
