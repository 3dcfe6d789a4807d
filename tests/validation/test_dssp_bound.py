"""Bounds on selections are re-proved where they hold, and never where they do not."""

import copy
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import msgspec
import numpy as np
import pytest
from builders.dssp import best_exactly, delicate
from builders.effort import tried
from hypothesis import strategies as st

from schedopt import check, solve
from schedopt.formulations.constraints import FairShare
from schedopt.formulations.dssp import Selection
from schedopt.instances.constraints import Constraint, Seats
from schedopt.instances.dssp import Instance, Job
from schedopt.solvers.dssp.selection.branch_and_bound.certificate import certify
from schedopt.solvers.engine import NoCertificateError
from schedopt.solvers.result import Document, Limits, Result
from schedopt.validation.dssp import blocks
from schedopt.validation.dssp.blocks import Block, TooManyError, costs_at_least
from schedopt.validation.dssp.bound import reprove
from schedopt.verbs.generate import generate

BUNDLED = Path("instances/dssp")


def claim(result: Result, **changed: Any) -> Document:
    return msgspec.structs.replace(result.document(), **changed)


def proved(night: Instance, result: Result, given: Any, **changed: Any) -> bool:
    return reprove(night, night.constraints, given, claim(result, **changed)) is None


def test_a_schedule_that_meets_the_selection_is_re_proved() -> None:
    result = solve(BUNDLED / "predictions.json", formulation="schedule", certificate=True)
    assert result.objective == 15  # more than the 11 of what was predicted
    assert result.bound_checked


FAMILIES = ("uncorrelated", "weakly-correlated", "strongly-correlated", "subset-sum")


@tried(60, st.integers(0, 10**6), st.sampled_from(FAMILIES), st.integers(1, 100))
def test_a_plain_knapsack_is_re_proved(seed: int, family: str, jobs: int) -> None:
    night = generate("dssp", family, seed=seed, options={"jobs": jobs})
    result = solve(night, certificate=True)
    given = result.certificate
    assert result.bound_checked
    best = Fraction(result.objective or 0.0)
    if best:  # rewards are whole
        assert not proved(night, result, given, bound=float(best - 1), objective=None)


@tried(100, st.integers(0, 10**9))
def test_what_is_re_proved_holds_and_no_more(seed: int) -> None:
    night = delicate(seed, most=8)
    best = best_exactly(night)
    if best is None:
        return
    model = Selection(night)
    result = solve(model)
    assert result.proven
    found = certify(model, result, Limits(time_limit=600))
    assert proved(night, result, found)
    less = [float(best) * (1 - 1e-12), float(best) * 0.7, 0.0, -1.0]
    for bound in less:
        if Fraction(bound) < best:
            assert not proved(night, result, found, bound=bound, objective=None)
            assert not proved(night, result, found, bound=bound)


def tampered(given: dict[str, Any], change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    changed = copy.deepcopy(given)
    change(changed)
    return changed


def tree_of(seed: int) -> tuple[Instance, Result, dict[str, Any]]:
    """Return a night whose certificate has branches."""
    draw = Random(seed)  # noqa: S311
    jobs = tuple(
        Job(
            name=f"j{i}",
            reward=draw.randint(40, 60),
            demand=draw.randint(40, 60),
            critical_path=1,
            groups={"team": draw.choice("ab")},
        )
        for i in range(16)
    )
    rules: Sequence[Constraint] = [FairShare(by="team", at_most={"a": 0.4})]
    night = Instance(name="tree", processors=1, deadline=333, jobs=jobs, constraints=tuple(rules))
    result = solve(night, certificate=True)
    assert isinstance(result.certificate, dict)
    return night, result, result.certificate


def test_a_tree_cannot_lose_a_branch_or_a_multiplier() -> None:
    night, result, given = tree_of(1)
    assert len(given["nodes"]) > 4
    assert proved(night, result, given)
    assert not proved(night, result, tampered(given, lambda c: c["nodes"].pop()))
    assert not proved(night, result, tampered(given, lambda c: c["nodes"].append({})))
    assert not proved(night, result, tampered(given, lambda c: c["nodes"].clear()))
    assert not proved(night, result, tampered(given, lambda c: c["rows"].__setitem__(0, "x")))
    for at, node in enumerate(given["nodes"]):
        if "split" not in node and "reasons" in node:
            without = tampered(given, lambda c, at=at: c["nodes"].__setitem__(at, {}))  # type: ignore[misc]
            if not proved(night, result, without):
                break
    else:
        raise AssertionError("no leaf needed its multipliers")


def test_another_instance_refuses_the_certificate() -> None:
    night, result, given = tree_of(1)
    other, theirs, _ = tree_of(2)
    assert not proved(other, theirs, given)
    larger = msgspec.structs.replace(night, deadline=night.deadline + 20)
    assert not proved(larger, result, given)
    free = msgspec.structs.replace(night, constraints=())
    assert not proved(free, result, given)


@tried(200, st.integers(0, 10**9))
def test_costs_of_a_block_are_those_of_all_its_choices(seed: int) -> None:
    draw = Random(seed)  # noqa: S311
    count, huge = draw.randint(1, 8), 10 ** draw.choice((0, 0, 17, 17, 25))
    size = [draw.choice((-3, -1, 1, 2, 5, 9)) * huge for _ in range(count)]
    worth = [draw.randint(-9, 9) for _ in range(count)]
    lower = draw.choice((None, draw.randint(-6, 6) * huge))
    upper = draw.choice((None, draw.randint(-6, 12) * huge))
    y, z = (draw.choice((0, 1, 2, 3, 9)) for _ in range(2))
    price = y * (upper is not None) - z * (lower is not None)
    big = huge > 10**17
    block = Block(
        np.array(size, dtype=object if big else np.int64),
        np.array([w > 0 for w in worth]),
        np.abs(np.array(worth)),
        lower,
        upper,
        price,
    )
    costs = []
    for mask in range(1 << count):
        chosen = [mask >> j & 1 for j in range(count)]
        used = sum(a * x for a, x in zip(size, chosen, strict=True))
        if (lower is not None and used < lower) or (upper is not None and used > upper):
            continue
        unused = price * ((upper or 0) - used) if price > 0 else -price * (used - (lower or 0))
        lost = sum(abs(w) for w, x in zip(worth, chosen, strict=True) if (w > 0) != bool(x))
        costs.append(lost + unused)
    least = min(costs, default=10**40)
    with mock.patch.object(blocks, "FEW", draw.choice((0, 128))):  # pairs are sifted, or are not
        assert costs_at_least(block, min(least, 10**6))
        if least < 10**6:
            assert not costs_at_least(block, least + 1)


def test_a_larger_activity_dominates_none_where_both_bounds_count() -> None:
    block = Block(np.array([3, 3, 2]), np.zeros(3, bool), np.array([0, 0, 5]), 2, 2, 0)
    with mock.patch.object(blocks, "FEW", 0):
        assert costs_at_least(block, 5)
        assert not costs_at_least(block, 6)


def test_a_block_of_too_many_choices_is_none() -> None:
    ones = np.ones(12, dtype=np.int64)
    block = Block(ones, ones > 1, ones, None, 6, 0)
    with mock.patch.object(blocks, "WORK", 99), pytest.raises(TooManyError):
        costs_at_least(block, 7)


def test_a_selection_as_good_as_the_slack_is_not_closed() -> None:
    jobs = tuple(Job(name=f"j{i}", reward=1, demand=1, critical_path=1) for i in range(2))
    night = Instance(name="both", processors=2, deadline=1, jobs=jobs)
    result = solve(night, certificate=True)
    forged = {"kind": "branchings", "rows": ["capacity"]}
    for blocks_ in ([], [[0, 0]]):
        node = {"reasons": [[1, []]], "blocks": blocks_}
        given = forged | {"nodes": [node]}
        assert proved(night, result, given)
        assert not proved(night, result, given, bound=1.0, objective=None)


def test_a_window_that_ends_before_it_starts_closes_nothing() -> None:
    """A row of nobody under a bound below 0 would be one that no selection keeps."""
    given = {"demand": 2, "critical_path": 1}
    jobs = (
        Job(name="a", reward=5, deadline=2, **given),
        Job(name="b", reward=4, release=3, **given),
    )
    night = Instance(
        name="windows",
        processors=1,
        deadline=5,
        jobs=jobs,
        constraints=(Seats(name="seats", capacity=1, use={"a": 1}),),
    )
    result = solve(night, certificate=True)
    assert result.bound_checked and result.objective == 9
    for row in ("capacity from 3 to 2", "seats: energy from 3 to 2"):
        forged = {"kind": "branchings", "rows": [row], "nodes": [{}]}
        assert not proved(night, result, forged, bound=4.0, objective=4.0)


def test_of_several_objectives_the_first_is_re_proved() -> None:
    jobs = tuple(Job(name=f"j{i}", reward=1, demand=i + 1, critical_path=1) for i in range(3))
    goals = ("reward", "demand")
    night = Instance(name="all", processors=1, deadline=5, jobs=jobs, objectives=goals)
    report = check(night, solve(night, certificate=True))
    assert (report.bound, report.whole) == ("re-proved", True)
    assert "objective demand: its bound is believed" in report.unchecked[0]


def test_a_bound_without_a_certificate_says_why() -> None:
    night, _, _ = tree_of(1)
    result = solve(night)
    with pytest.raises(NoCertificateError, match="branches in 0 s, and more open"):
        certify(Selection(night), result, Limits(time_limit=0.0))
