"""Partition by each engine of its table, and Rectangles, against brute force."""

from __future__ import annotations

import pytest
from builders.effort import examples
from builders.epoch import fewest, packing, some_packing
from hypothesis import given, settings

from schedopt import solve
from schedopt.formulations.constraints import Apart, Forbid, Together
from schedopt.formulations.epoch import Partition, Rectangles
from schedopt.instances.epoch import Instance
from schedopt.instances.epoch.generators import GENERATORS
from schedopt.instances.errors import InputError
from schedopt.solvers.epoch.bounding import least_epochs
from schedopt.solvers.epoch.items import first_fit, items


@settings(max_examples=examples(150))
@given(some_packing(most=7, rules=True))
def test_all_engines_find_the_fewest_epochs(instance: Instance) -> None:
    """With side constraints and without, for any inequity; a conflict is one."""
    best = fewest(instance)
    for solver in ("epochs", "cp-sat", "model", None):
        model = Partition(instance, model="auto" if solver else "direct")
        result = solve(model, solver=solver, threads=1)
        assert (result.proved_by, result.violations) == (solver or "cp-sat", ())
        if best is None:
            assert result.termination == "infeasible"
            assert result.conflict
            assert fewest(without(instance, result.conflict)) is None
        else:
            assert result.proven
            assert result.objective == result.bound == instance.nodes * best


@settings(max_examples=examples(120))
@given(some_packing())
def test_the_bound_and_the_start_hold(instance: Instance) -> None:
    best, packed = fewest(instance), items(instance, ())
    assert best is not None
    assert packed is not None
    minima = instance.minima[instance.descending].tolist()
    assert least_epochs(minima, instance.nodes, instance.inequity) <= best
    assert instance.inequity == 0 or best <= len(first_fit(packed))
    result = solve(instance, threads=1)
    assert (result.proven, result.proved_by) == (True, "epochs")
    assert (result.objective, result.violations) == (instance.nodes * best, ())


def test_a_conflict_does_not_rest_on_the_bound_of_a_rule_outside_it() -> None:
    """Two jobs apart need two epochs; that they are together does not conflict with that alone."""
    rules = [Together(jobs=("j1", "j2")), Apart(jobs=("j1", "j2"))]
    result = solve(packing([1, 1], 2, 0, rules), threads=1)
    assert result.conflict == ("together[0]", "apart[1]")


def without(instance: Instance, conflict: tuple[str, ...]) -> Instance:
    """Return the instance with the side constraints of a conflict alone."""
    kept = [
        rule
        for i, rule in enumerate(instance.constraints)
        if (rule.name or f"{rule.kind()}[{i}]") in conflict
    ]
    return packing(instance.minima.tolist(), instance.nodes, instance.inequity, kept)


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


@pytest.mark.parametrize("inequity", range(5))
def test_planted_optima_are_proven(inequity: int) -> None:
    instance = GENERATORS["planted"](1, nodes=64, epochs=8, inequity=inequity)
    result = solve(instance, threads=2)
    assert result.proven
    assert result.objective == 8 * 64


def test_cp_sat_covers_by_slots_unless_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = GENERATORS["planted"](1, nodes=24, epochs=4, inequity=2, most=6)
    for most, form in ((60_000, "slots"), (3, "leaders")):
        monkeypatch.setattr("schedopt.solvers.epoch.covering.MOST_PATTERNS", most)
        result = solve(Partition(instance), solver="cp-sat", threads=1)
        assert (result.options["model"], result.solver) == (form, "cp-sat")
        assert result.proven
        assert result.objective == 4 * 24


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
