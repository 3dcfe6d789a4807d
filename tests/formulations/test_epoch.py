"""Partitions and rectangles: their models against brute force."""

import pytest
from builders.epoch import packing

from schedopt import solve
from schedopt.formulations.constraints import Apart, Forbid
from schedopt.formulations.epoch import Partition, Rectangles
from schedopt.instances.epoch.generators import GENERATORS
from schedopt.instances.epoch.widths import possible_widths
from schedopt.instances.errors import InputError


def test_a_time_limit_keeps_the_start_and_an_honest_bound() -> None:
    instance = GENERATORS["planted"](2, nodes=1000, epochs=20, inequity=50, fewest=3, most=5)
    result = solve(instance, threads=1, time_limit=0.5)
    assert result.termination == "time-limit"
    assert result.violations == ()
    assert 20_000 == result.bound <= (result.objective or 0)


def test_what_a_partition_refuses() -> None:
    instance = packing([4, 4], 16, 0)
    with pytest.raises(InputError, match="together"):
        Partition(instance).add(Forbid(jobs=("j1",)))
    with pytest.raises(InputError, match="together"):
        Rectangles(instance).add(Forbid(jobs=("j1",)))
    model = Partition(instance)
    model.model.add(model.x["j2", "j1"] == 0)
    with pytest.raises(InputError, match="before native"):
        model.add(Apart(jobs=("j1", "j2")))


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
    for rules in ([], [Apart(jobs=("j1", "j2"))], [Apart(jobs=("j2", "j1"))]):
        model = Rectangles(packing([2, 2], 4, 0, rules))
        model.model.add(model.starts["j1"] > model.starts["j2"])
        assert solve(model).objective == 8
    assert solve(Rectangles(packing([2, 2], 4, 0))).objective == 4
