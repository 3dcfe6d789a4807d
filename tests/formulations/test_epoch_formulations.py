"""Partition: conflicts, limits, native rows, refusals."""

import pytest
from builders.epoch import packing

from schedopt import solve
from schedopt.formulations.constraints import Apart, Forbid, Together
from schedopt.formulations.epoch import Partition, Rectangles
from schedopt.instances.epoch.generators import GENERATORS
from schedopt.instances.errors import InputError


def test_a_conflict_does_not_rest_on_the_bound_of_a_rule_outside_it() -> None:
    """Two jobs apart need two epochs; that they are together does not conflict with that alone."""
    rules = [Together(jobs=("j1", "j2")), Apart(jobs=("j1", "j2"))]
    result = solve(packing([1, 1], 2, 0, rules), threads=1)
    assert result.conflict == ("together[0]", "apart[1]")


def test_a_smallest_conflict_is_named() -> None:
    rules = [
        Together(name="a pair", jobs=("j1", "j2")),
        Together(name="another", jobs=("j2", "j3")),
        Apart(name="not those", jobs=("j1", "j3")),
        Apart(name="fine", jobs=("j1", "j4")),
    ]
    result = solve(packing([2, 2, 2, 2], 16, 2), constraints=rules)
    assert result.termination == "infeasible"
    assert set(result.conflict) == {"a pair", "another", "not those"}


def test_a_time_limit_keeps_the_start_and_an_honest_bound() -> None:
    instance = GENERATORS["planted"](2, nodes=1000, epochs=20, inequity=50, fewest=3, most=5)
    result = solve(instance, threads=1, time_limit=0.5)
    assert result.termination == "time-limit"
    assert result.violations == ()
    assert result.bound is not None
    assert 20_000 == result.bound <= (result.objective or 0)


def test_native_constraints_on_the_direct_model() -> None:
    instance = packing([4, 4, 4, 4], 16, 0)
    assert solve(instance).objective == 16
    model = Partition(instance, model="direct")
    model.model.add(model.x["j2", "j1"] == 0)
    result = solve(model)
    assert result.objective == 32
    assert not result.checked
    with pytest.raises(InputError, match="before native"):
        model.add(Apart(jobs=("j1", "j3")))


def test_what_a_partition_refuses() -> None:
    instance = packing([4, 4], 16, 0)
    with pytest.raises(InputError, match="together"):
        Partition(instance).add(Forbid(jobs=("j1",)))
    for form in ("none", "slots"):
        with pytest.raises(InputError, match="auto, or direct"):
            Partition(instance, model=form)
    with pytest.raises(InputError, match="together"):
        Rectangles(instance).add(Forbid(jobs=("j1",)))
