"""Thresholds and optimal policies: exact values, closed forms, equations; none does better."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders.msfq import at_load, of_classes, one_or_all

from schedopt import evaluate, solve
from schedopt.formulations.constraints import ResponseTime
from schedopt.formulations.msfq import Threshold
from schedopt.formulations.msfq.process import Process
from schedopt.instances.errors import InputError
from schedopt.instances.files import encode, load, parse
from schedopt.instances.msfq import Deterministic, Instance, JobClass
from schedopt.policies.msfq.registration import plan
from schedopt.policies.msfq.simulation import simulate
from schedopt.policies.msfq.summary import summarize
from schedopt.policies.registry import registered
from schedopt.solvers.msfq.optimal_policy.relative_values import bound_policy_cost, edge_slopes
from schedopt.solvers.msfq.threshold.approximation import area, paper
from schedopt.solvers.msfq.threshold.exact import exact, exact_curve
from schedopt.solvers.result import Result


@pytest.mark.parametrize("k", [2, 8])
@pytest.mark.parametrize(("load", "near"), [(0.99, 1e-2), (0.999, 1e-3)])
def test_closed_forms_are_exact_where_no_phase_is_skipped(k: int, load: float, near: float) -> None:
    system = Threshold(at_load(k, load, p1=0.5)).system
    right = exact_curve(system)
    for curve in (area(system), paper(system)):
        np.testing.assert_allclose(curve.small, right.small, rtol=near)
        np.testing.assert_allclose(curve.large, right.large, rtol=near)


@pytest.mark.parametrize("load", [0.5, 0.95])
@pytest.mark.parametrize(("l", "variant"), [(31, "literal"), (8, "literal"), (12, "lazy")])
def test_exact_values_lie_in_simulated_intervals(load: float, l: int, variant: str) -> None:
    queue = at_load(32, load)
    model = Threshold(queue, variant=variant)  # type: ignore[arg-type]
    small, large = exact(model.system, l, variant)  # type: ignore[arg-type]
    rule = plan(queue, "msfq", threshold=l, variant=variant)
    found = summarize(queue, simulate(queue, rule, arrivals=5_000_000, seed=5), 5_000_000)
    ours = model.system.mean(small, large)
    assert isinstance(found.confidence, float)
    assert abs(ours - found.mean_response_time) < 1.6 * found.confidence  # 99.8%


def test_both_variants_are_msf_at_zero() -> None:
    system = Threshold(at_load(8, 0.8)).system
    assert exact(system, 0, "literal") == pytest.approx(exact(system, 0, "lazy"), rel=1e-10)


def test_area_comes_nearer_than_the_paper_and_both_overestimate() -> None:
    system = Threshold(at_load(32, 0.95)).system
    right, ours, theirs = (f(system) for f in (exact_curve, area, paper))
    for l in (10, 20, 31):
        assert right.small[l] < ours.small[l] < theirs.small[l]
    assert theirs.small[31] / right.small[31] - 1 < 0.04
    light = Threshold(at_load(32, 0.1)).system
    assert paper(light).small[16] > 1.5 * exact(light, 16)[0]
    assert not paper(light).assumption_ok[16]


@pytest.mark.parametrize(
    ("queue", "options", "says"),
    [
        (one_or_all(2, 1.5, 0.5), {}, "need 1: 0.75, need 2: 0.5"),
        (at_load(4, 0.5), {"method": "guess"}, "exact, area or paper"),
        (at_load(4, 0.5), {"method": "area", "variant": "lazy"}, "variant=literal"),
        (at_load(2000, 0.5), {}, "method=area"),
    ],
)
def test_what_a_threshold_refuses(queue: object, options: dict[str, object], says: str) -> None:
    with pytest.raises(InputError, match=says):
        solve(queue, options=options)


def test_all_thresholds_of_thousands_of_servers() -> None:
    system = Threshold(at_load(4096, 0.9, p1=0.999), method="area").system
    curve = area(system)
    best = int(np.nanargmin(system.mean(curve.small, curve.large)))
    assert 0 < best < 4096
    assert not np.isnan(curve.small).any()


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


@pytest.mark.slow
def test_two_servers_at_load_0_9() -> None:
    result = solve(small(), formulation="optimal-policy", options={"tolerance": 3e-7})
    assert result.objective == pytest.approx(9.642151, abs=3e-6)
    assert result.termination == result.solution_status == "optimal"
    assert result.bound < result.objective
    assert result.gap <= 1e-6


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e6])
def test_the_declared_program_is_solved_in_any_unit_of_time(unit: float) -> None:
    queue = of_classes(2, (1, 0.19 / unit, 1 / unit), (2, 0.02 / unit, 0.4 / unit))
    engine, declared = (
        solve(queue, formulation="optimal-policy", solver=s) for s in (None, "model")
    )
    assert declared.termination == "optimal"
    assert declared.objective == pytest.approx(engine.objective, rel=1e-5)


@pytest.mark.parametrize("queue", [at_load(2, 0.7), at_load(3, 0.6, objective="weighted")])
def test_it_bounds_every_policy_and_every_threshold(queue: Instance) -> None:
    bound = optimum(queue).bound
    assert bound is not None
    for variant in ("literal", "lazy"):
        best = solve(queue, options={"variant": variant})
        assert best.objective > bound
    compared = 0
    for name, policy in registered("msfq").items():
        if "arrivals" not in policy.options:
            continue  # for logs alone
        found = evaluate(queue, name, options={"arrivals": 20_000})
        if found.objective is not None and found.confidence is not None:
            compared += 1
            assert found.objective + 1.6 * found.confidence > bound, name
    assert compared >= 4


def cost_of(process: Process, decisions: Any) -> float:
    """Return a policy's long-run cost, infinite unless it is shown to be stable."""
    highest, k, width = decisions.shape
    found = None
    for _ in range(2):  # the first values tell how steep they are
        values = np.zeros((highest, k + 2, width)) if found is None else found.values
        steps = bound_policy_cost(process, decisions, edge_slopes(values))
        while True:
            try:
                next(steps)
            except StopIteration as ended:
                found = ended.value
                break
        if found is None:
            return np.inf
    return float(found.cost)


@pytest.mark.parametrize("l", [0, 1])
def test_a_given_policy_has_its_exact_value(l: int) -> None:
    system = Threshold(at_load(3, 0.6)).system
    decisions = np.ones((41, 3, 71), np.int8)
    decisions[1:, 1 : l + 1, :-1] = decisions[:, :, 0] = 0
    decisions[1:, 0, :-1] = 2
    times = exact(system, l, "lazy")
    for costs, expected in (((1 / system.l1, 0.0), times[0]), ((0.0, 1 / system.lk), times[1])):
        assert cost_of(Process(system, *costs), decisions) == pytest.approx(expected, rel=1e-6)


def test_a_policy_that_cannot_keep_up_costs_infinitely_much() -> None:
    system = Threshold(at_load(4, 0.9)).system
    decisions = np.ones((31, 4, 41), np.int8)  # large jobs start where no small one waits
    decisions[:, :, 0] = 0
    decisions[1:, 0, 0] = 2
    assert cost_of(Process(system, 1.0, 1.0), decisions) == np.inf


def test_what_is_stopped_early_is_a_policy_that_exists() -> None:
    queue = at_load(16, 0.95)
    result = solve(queue, formulation="optimal-policy", time_limit=0.0)
    assert result.termination == "time-limit"
    assert not result.violations
    assert any(result.objective == pytest.approx(exact_value(queue, l)) for l in range(15))
    assert 0.999 <= result.bound < result.objective


def exact_value(queue: Instance, l: int) -> float:
    system = Threshold(queue).system
    return float(system.mean(*exact(system, l, "lazy")))


FIXED = (
    JobClass(need=1, arrival_rate=1, service_rate=1),
    JobClass(need=4, arrival_rate=0.1, service_rate=1, sizes=Deterministic()),
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
def test_what_it_refuses(queue: Instance, options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        solve(queue, formulation="optimal-policy", options=options)
