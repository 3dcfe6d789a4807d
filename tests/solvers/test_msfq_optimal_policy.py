"""The optimal policy: known values, the linear program, and that nothing does better."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from builders.msfq import at_load, one_or_all

from formulations.constraints import ResponseTime
from formulations.msfq import OptimalPolicy, Threshold
from instances.errors import InputError
from instances.files import load
from instances.msfq import Instance
from policies.registry import registered
from schedopt import evaluate, solve
from solvers.queues.chain import Box, iterate, table_of, two_threshold
from solvers.queues.exact import exact
from solvers.result import Result
from validation.msfq import program
from validation.msfq.chain import System as Raw

BUNDLED = Path(__file__).parent.parent.parent / "instances" / "msfq"


@cache
def optimum(queue: Instance) -> Result:
    result = solve(queue, formulation="optimal-policy")
    assert not result.violations
    return result


@cache
def small() -> Instance:
    queue: Instance = load(BUNDLED / "small.json")
    return queue


def test_two_servers_at_load_0_9() -> None:
    result = optimum(small())
    assert result.objective == pytest.approx(9.64215, abs=5e-6)
    assert result.bound is not None
    assert result.bound < result.objective
    assert result.gap is not None
    assert result.gap < 1e-5


@pytest.mark.parametrize("queue", [small(), at_load(4, 0.7), at_load(3, 0.6, objective="weighted")])
def test_it_bounds_every_policy_and_every_threshold(queue: Instance) -> None:
    bound = optimum(queue).bound
    assert bound is not None
    for variant in ("literal", "lazy"):
        best = solve(queue, options={"variant": variant})
        assert best.objective is not None
        assert best.objective > bound
    compared = 0
    for name, policy in registered("msfq").items():
        if "arrivals" not in policy.options:
            continue  # for logs alone
        found = evaluate(queue, name, options={"arrivals": 300_000})
        if found.objective is not None and found.confidence is not None:
            compared += 1
            assert found.objective + 1.6 * found.confidence > bound, name
    assert compared >= 4


@pytest.mark.parametrize("queue", [one_or_all(2, 0.4, 0.3), at_load(3, 0.5, objective="weighted")])
def test_value_iteration_and_the_linear_program_agree(queue: Instance) -> None:
    model = OptimalPolicy(queue)
    costs, box = (model.model.small_cost, model.model.large_cost), Box(24, 20)
    gain = 0.0
    for _, low, high in iterate(model.system, costs, box, blocked=True):
        gain = 0.5 * (low + high)
        if high - low < 1e-9:
            break
    theirs = program.optimum(Raw.of(queue), *costs, *box)
    assert gain == pytest.approx(theirs, rel=1e-6)


@pytest.mark.parametrize("l", [0, 1, 2])
def test_a_given_policy_on_the_chain_has_its_exact_value(l: int) -> None:
    system = Threshold(at_load(4, 0.7)).system
    box = Box(90, 60)
    table = table_of(two_threshold(l), system.k, box)
    times = exact(system, l, "lazy")
    for cost, expected in (((1 / system.l1, 0.0), times[0]), ((0.0, 1 / system.lk), times[1])):
        assert box.evaluate(system, cost, table) == pytest.approx(expected, rel=1e-4)


def test_a_good_two_threshold_rule_comes_within_three_percent() -> None:
    system = OptimalPolicy(small()).system
    costs, box = (1 / system.rate, 1 / system.rate), Box(90, 90)
    best = min(
        box.evaluate(system, costs, table_of(two_threshold(1, b0, b1, b2), 2, box), span=1e-6)
        for b0, b1, b2 in ((7, 0.5, 2), (8, 0.3, 1), (9, 0.2, 1))
    )
    objective = optimum(small()).objective
    assert objective is not None
    assert objective < best < 1.03 * objective


def test_the_table_is_read_off_in_letters() -> None:
    solution = optimum(small()).solution
    assert solution.at_empty[0][0] == "."
    assert solution.at_empty[0][1] == "S"
    assert solution.at_empty[5][0] == "L"
    assert "S" in solution.at_empty[1], "many small jobs go before a large one"
    assert len(solution.admit) == 1
    assert all(set(row) <= set("S-") for row in solution.admit[0])


@pytest.mark.parametrize(
    ("queue", "options", "says"),
    [
        (at_load(64, 0.5), {"most": 1000}, "larger option most"),
        (one_or_all(2, 1.5, 0.5), {}, "a load below 1"),
        (at_load(2, 0.5), {"tolerance": 0}, "above 0"),
    ],
)
def test_what_it_refuses(queue: Instance, options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        solve(queue, formulation="optimal-policy", options=options)
    with pytest.raises(InputError, match="no side constraints"):
        rule = ResponseTime(need=2, at_most=1.0)
        solve(at_load(2, 0.5), formulation="optimal-policy", constraints=[rule])


def test_a_time_limit_keeps_the_largest_box_so_far() -> None:
    result = solve(
        at_load(6, 0.9), formulation="optimal-policy", options={"tolerance": 1e-9}, time_limit=3.0
    )
    assert result.termination == "time-limit"
    assert result.solution_status in ("feasible", "none")


@pytest.mark.parametrize("load", [0.8, 0.95])
def test_an_iteration_that_runs_away_is_no_answer(load: float) -> None:
    queue = at_load(16, load)
    result = solve(queue, formulation="optimal-policy", time_limit=3)
    assert not result.proven
    for number in (result.objective, result.bound):
        assert number is None or number >= 1.0, "no job responds faster than it is served"
