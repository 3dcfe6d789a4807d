"""Rectangles: widths, grids, native constraints, and BUDDY against brute force."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement

import pytest
from builders.epoch import least_rectangles, packing

from schedopt import evaluate, solve
from schedopt.formulations.epoch import Rectangles
from schedopt.instances.constraints import Apart
from schedopt.instances.epoch import Instance
from schedopt.instances.epoch.widths import possible_widths
from schedopt.policies.epoch.buddies import is_power


def classes() -> Iterator[Instance]:
    """Yield every class of minima, up to the power of two that holds them, for small N and J."""
    for n in range(4):
        for j in range(3):
            widths = [1 << i for i in range(n + 1)]
            for minima in combinations_with_replacement(widths, 1 << j):
                yield packing(list(minima), 1 << n, 0)


def test_theorem_1_on_all_small_classes() -> None:
    """BUDDY is optimal among power-of-two widths: here all with N <= 8 and J <= 4."""
    for instance in classes():
        powers = [w for w in range(1, instance.nodes + 1) if is_power(w)]
        got = evaluate(instance, "buddy")
        assert got.violations == ()
        assert got.objective == least_rectangles(instance, powers)


def test_other_widths_can_beat_buddy() -> None:
    result = solve("instances/epoch/three-wide.json", formulation="rectangles", threads=1)
    assert (result.objective, result.proven) == (10.0, True)
    assert evaluate("instances/epoch/three-wide.json", "buddy").objective == 16


def test_only_powers_of_two() -> None:
    options = {"widths": "powers-of-two"}
    file = "instances/epoch/three-wide.json"
    assert solve(file, formulation="rectangles", options=options).objective == 16


def test_widths_that_no_schedule_has_drop_out() -> None:
    assert possible_widths(4, 4, 1) == [1, 2, 3, 4]
    assert possible_widths(4, 4, 3) == [3, 4]
    assert 11 not in possible_widths(16, 8, 1)
    assert possible_widths(7, 1, 1) == [7]


def test_a_grid_that_is_too_fine_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schedopt.formulations.epoch.rectangles.MOST_UNITS", 8)
    file = "instances/epoch/three-wide.json"
    result = solve(file, formulation="rectangles", solver="cp-sat", threads=1)
    assert result.options["exact"] is False
    assert result.violations == ()
    assert (result.objective, result.bound) == (16, 10)
    assert "fewer widths" in str(result.message)
    ours = solve(file, formulation="rectangles")
    assert (ours.objective, ours.proven, ours.options["exact"]) == (10, True, True)


def test_more_jobs_than_anyone_searches_for() -> None:
    instance = packing([1, 2, 3] * 2_000, 6, 0, [Apart(jobs=("j0001", "j0002"))])
    result = solve(instance, formulation="rectangles", threads=1, time_limit=5)
    assert (result.termination, result.violations) == ("completed", ())
    assert result.objective == 6 * 6_000


def test_native_constraints_tell_jobs_apart_that_are_alike() -> None:
    model = Rectangles(packing([2, 2], 4, 0))
    model.model.add(model.starts["j1"] > model.starts["j2"])
    assert solve(model).objective == 8
    model = Rectangles(packing([2, 2], 4, 0)).add(Apart(jobs=("j1", "j2")))
    assert solve(model).objective == 8
    assert solve(Rectangles(packing([2, 2], 4, 0))).objective == 4
