"""Thresholds, optimal policies and bounds of logs: exact values, equations; none does better."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from builders.effort import tried
from builders.msfq import (
    at_load,
    least,
    least_cost,
    of_classes,
    one_or_all,
    queue_of,
    random_jobs,
    random_parts,
    with_releases,
)
from hypothesis import example
from hypothesis import strategies as st

import schedopt
from schedopt import evaluate, solve
from schedopt.formulations.constraints import ResponseTime
from schedopt.formulations.msfq import LogBound, Threshold
from schedopt.formulations.msfq.log_bound import Ticks
from schedopt.instances.errors import InputError
from schedopt.instances.files import encode, load, parse
from schedopt.instances.msfq import Empirical, Instance, JobClass
from schedopt.instances.msfq.logs import Jobs
from schedopt.policies.msfq.logs.registration import LOG_POLICIES, replay_log
from schedopt.policies.msfq.registration import plan
from schedopt.policies.msfq.simulation import simulate
from schedopt.policies.msfq.summary import summarize
from schedopt.policies.registry import registered
from schedopt.solvers.msfq.log_bound.relaxations import relaxation_bounds
from schedopt.solvers.msfq.optimal_policy import PolicyEquations, count_jobs
from schedopt.solvers.msfq.threshold.approximation import area, paper
from schedopt.solvers.msfq.threshold.exact import exact, exact_curve
from schedopt.solvers.result import Result
from schedopt.validation.msfq.chain import System, table_times


@pytest.mark.parametrize(("l", "load"), [(31, 0.5), (8, 0.95)])
def test_exact_values_lie_in_simulated_intervals(l: int, load: float) -> None:
    queue = at_load(32, load)
    system = Threshold(queue).system
    rule = plan(queue, "msfq", threshold=l)
    found = summarize(queue, simulate(queue, rule, arrivals=1_000_000, seed=5), 1_000_000)
    assert isinstance(found.confidence, float)
    ours = system.mean(*exact(system, l))
    assert abs(ours - found.mean_response_time) < 1.6 * found.confidence  # 99.8%


def test_area_approximation_is_closer_than_the_papers_and_both_overestimate() -> None:
    system = Threshold(at_load(16, 0.95)).system
    right, ours, theirs = (f(system) for f in (exact_curve, area, paper))
    for l in (5, 10, 15):
        assert right.small[l] < ours.small[l] < theirs.small[l]
    assert theirs.small[15] / right.small[15] - 1 < 0.06
    light = Threshold(at_load(32, 0.1)).system
    assert paper(light).small[16] > 1.5 * exact(light, 16)[0]
    assert not paper(light).assumption_ok[16]


@pytest.mark.parametrize(
    ("queue", "options", "says"),
    [
        (one_or_all(2, 1.5, 0.5), {}, "need 1: 0.75, need 2: 0.5"),
        (at_load(4, 0.5), {"method": "guess"}, "exact, area or paper"),
        (at_load(2000, 0.5), {}, "method=area"),
    ],
)
def test_threshold_refuses_wrong_queues_and_options(
    queue: object, options: dict[str, object], says: str
) -> None:
    with pytest.raises(InputError, match=says):
        solve(queue, options=options)


BUNDLED = Path(__file__).parent.parent.parent / "instances" / "msfq"


def optimum(queue: Instance) -> Result:
    return _optimum(encode(queue))


@cache
def _optimum(queue: bytes) -> Result:
    result = solve(parse(queue), formulation="optimal-policy", gap=1e-4)
    assert not result.violations
    return result


@cache
def small() -> Instance:
    queue: Instance = load(BUNDLED / "small.json")
    return queue


@pytest.mark.parametrize(
    ("k", "unit", "objective"), [(2, 1e-3, "mean"), (3, 1.0, "weighted"), (2, 1e6, "mean")]
)
def test_optimal_policy_equals_a_linear_program(k: int, unit: float, objective: str) -> None:
    rates = 0.19 / unit, 0.02 / unit, 1 / unit, 0.4 / unit
    queue = one_or_all(k, *rates, objective=objective)
    result = solve(queue, formulation="optimal-policy")
    assert result.proven and result.violations == ()
    weights = queue.weights()
    costs = weights[0] / rates[0], weights[1] / rates[1]
    assert result.objective == pytest.approx(least_cost(k, rates, costs, (16, 9)), rel=1e-6)


def test_optimal_policy_bounds_every_policy() -> None:
    queue = at_load(3, 0.6)
    bound = optimum(queue).bound
    assert bound is not None
    assert solve(queue).objective > bound
    compared = 0
    for name, policy in registered("msfq").items():
        if "arrivals" not in policy.options:
            continue  # for logs alone
        found = evaluate(queue, name, options={"arrivals": 20_000})
        if found.objective is not None and found.confidence is not None:
            compared += 1
            assert found.objective + 1.6 * found.confidence > bound, name
    assert compared >= 4


def test_optimal_policy_is_within_the_gap_by_an_independent_chain() -> None:
    queue = one_or_all(5, 0.834, 1.67e-5, 1.0, 0.1)
    result = solve(queue, formulation="optimal-policy")
    system = System.of(queue)
    pair = table_times(system, result.solution)
    assert result.solution_status == "optimal"
    cost = system.objective("mean", *pair)
    assert result.bound < cost < result.bound * (1 + 1e-6)


def test_optimal_policy_at_a_time_limit_is_a_threshold() -> None:
    queue = at_load(16, 0.95)
    result = solve(queue, formulation="optimal-policy", time_limit=0.0)
    assert result.termination == "time-limit"
    assert not result.violations
    assert 0.999 <= result.bound < result.objective < 50


@pytest.mark.parametrize("l", [0, 1])
def test_cost_of_lazy_msfq_is_that_of_its_decisions(l: int) -> None:
    system = Threshold(at_load(3, 0.6)).system
    decisions = np.ones((62, 3, 102), np.int8)
    decisions[:, :, 0] = 0
    decisions[1:, 1 : l + 1, :-2] = 0
    decisions[1:, 0, :-2] = 2
    equations = PolicyEquations(decisions, system)
    rates = system.l1, system.lk
    expected = exact(system, l, lazy=True)
    for jobs, rate, time in zip(count_jobs(3, equations.shape), rates, expected, strict=True):
        assert equations.solve(jobs)[0] / rate == pytest.approx(time, rel=1e-6)


FIXED = (
    JobClass(need=1, arrival_rate=1, service_rate=1),
    JobClass(need=4, arrival_rate=0.1, service_rate=1, sizes=Empirical(values=(1,))),
)


@pytest.mark.parametrize(
    ("queue", "options", "says"),
    [
        (at_load(64, 0.5), {"most": 1000}, "larger option most"),
        (one_or_all(2, 1.5, 0.5), {}, "a load below 1"),
        (at_load(2, 0.5), {"tolerance": 0}, "above 0"),
        (at_load(2, 0.5, constraints=(ResponseTime(need=2, at_most=1.0),)), {}, "no side"),
        (of_classes(4, (1, 0.8, 1.0), (2, 0.4, 1.0), (4, 0.2, 1.0)), {}, "one-or-all"),
        (Instance(name="fixed", servers=4, classes=FIXED), {}, r"classes\[1\]"),
    ],
    ids=range(6),
)
def test_optimal_policy_refuses_wrong_queues_and_options(
    queue: Instance, options: dict[str, Any], says: str
) -> None:
    with pytest.raises(InputError, match=says):
        solve(queue, formulation="optimal-policy", options=options)


SEEDS = st.integers(0, 2**32 - 1)
OBJECTIVES = st.sampled_from(["mean", "weighted"])


def bounds(queue: Instance) -> dict[str, float]:
    return relaxation_bounds(Ticks.of(queue), weighted=queue.objective == "weighted")


def values(queue: Instance, starts: Any) -> float:
    response = starts + queue.jobs.run - queue.jobs.submit
    weights = queue.jobs.need * queue.jobs.run if queue.objective == "weighted" else None
    return float(np.average(response, weights=weights))


@tried(30, seed=SEEDS, objective=OBJECTIVES, big=st.sampled_from([1.0, 0.1, 1e9, 1 / 3]))
@example(seed=6795789, objective="mean", big=1.0)
def test_log_bound_holds_for_every_policy(seed: int, objective: str, big: float) -> None:
    jobs, servers = random_jobs(seed, 12)
    times = [jobs.submit * big, jobs.run * big]
    users = [f"u{i % 2}" for i in range(len(jobs))]
    jobs = Jobs.of(times[0], jobs.need, times[1], user=users)
    queue = queue_of(jobs, servers, objective=objective)
    result = schedopt.solve(LogBound(queue, rounds=60), certificate=True)
    assert result.violations == ()
    assert result.bound_checked
    assert result.bound >= max(bounds(queue).values()) * (1 - 1e-9)
    for name in LOG_POLICIES:
        assert result.bound <= values(queue, replay_log(queue, name, "exact")) * (1 + 1e-9)


def bound_of(part: Any, resource: str, weighted: bool) -> float:
    """Return what one resource alone proves by the plain relaxations."""
    return max(relaxation_bounds(part.ticks[resource], weighted=weighted, of=resource).values())


@tried(80, seed=SEEDS, objective=OBJECTIVES, releases=st.booleans())
def test_log_bound_of_several_resources_holds(seed: int, objective: str, releases: bool) -> None:
    queue = random_parts(seed, 5, objective=objective)
    queue = with_releases(queue, seed) if releases else queue
    best = least(queue)
    model = LogBound(queue, rounds=60)
    result = schedopt.solve(model, certificate=True)
    assert result.violations == ()
    assert result.bound_checked
    assert result.bound <= best * (1 + 1e-9) <= result.objective * (1 + 2e-9)
    weighted = objective == "weighted"
    alone = [max(bound_of(part, one, weighted) for one in part.ticks) for part in model.parts]
    heavy = [float(part.weight) for part in model.parts]
    shown = np.average(alone, weights=heavy) + float(model.delay)
    assert result.bound >= shown * (1 - 1e-9)
    # No certificate proves what is not true, whatever prices it makes up.
    draw = np.random.default_rng(seed)
    made_up = json.loads(msgspec.json.encode(model.certificate()))
    for part in made_up["parts"]:
        cells = int(draw.integers(1, 6))
        part["grid"] = np.cumsum(draw.integers(1, 9, cells + 1)).tolist()
        names = ["servers", *queue.jobs.needs.names]
        part["prices"] = {name: draw.integers(0, part["unit"], cells).tolist() for name in names}
    parts = made_up["parts"]
    forged = [made_up, model.certificate(), made_up | {"parts": parts * 2}]
    forged += [made_up | {"parts": parts[1:]}, made_up | {"kind": "server-prices"}]
    for certificate in forged:
        claim = msgspec.structs.replace(
            result.document(), bound=best * 1.001, certificate=certificate, proved_by=None
        )
        assert schedopt.check(queue, claim).bound != "re-proved"


@pytest.mark.parametrize(
    ("jobs", "servers"),
    [
        (Jobs.of([0, 1, 2], [2**31 - 1] * 3, [1, 2, 3]), 2**31 - 1),
        (Jobs.of([0, 1e-300], [3, 3], [1e-300, 1e-300]), 5),
        (Jobs.of([1e15, 1e15 + 1], [3, 3], [1e14, 1e-3]), 5),
    ],
)
@pytest.mark.parametrize("objective", ["mean", "weighted"])
def test_log_bound_of_extreme_numbers_is_valid(jobs: Jobs, servers: int, objective: str) -> None:
    queue = queue_of(jobs, servers, objective=objective)
    result = schedopt.solve(LogBound(queue), threads=1)
    assert result.violations == ()
    assert result.bound <= (result.objective or 0.0) * (1 + 1e-9)


@pytest.mark.parametrize(("objective", "optimum"), [("mean", 336.475), ("weighted", 993.252930)])
def test_bound_of_forty_jobs_is_near_a_proven_optimum(objective: str, optimum: float) -> None:
    """The optima were proven by a search over partial schedules, in an earlier version."""
    draw = np.random.default_rng(8)
    jobs = Jobs.of(
        np.sort(draw.integers(0, 4000, 40)),
        draw.choice([1, 4, 16, 60, 130], 40),
        np.rint(draw.lognormal(5, 1, 40)) + 1,
    )
    result = schedopt.solve(LogBound(queue_of(jobs, 240, objective=objective)))
    assert 0.9 * optimum < (result.bound or 0.0) <= optimum
    assert optimum <= (result.objective or 0.0) * (1 + 1e-9)
