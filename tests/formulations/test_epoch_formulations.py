"""Partition in its three forms, and Rectangles, against brute force."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement

import pytest
from builders.epoch import fewest, packing, some_packing
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.constraints import Apart, Forbid, Together
from formulations.epoch import Partition, Rectangles
from formulations.epoch.writing import FORMS
from instances.epoch import Instance
from instances.epoch.generators import GENERATORS
from instances.epoch.widths import possible_widths
from instances.errors import InputError
from policies.epoch.buddies import is_power
from schedopt import evaluate, solve
from solvers import Limits, cpsat, epochs
from solvers.epochs.bounding import least_epochs, most_epochs
from solvers.epochs.forms import written


@settings(max_examples=120)
@given(some_packing())
def test_all_three_models_find_the_fewest_epochs(instance: Instance) -> None:
    best = fewest(instance)
    assert best is not None
    minima = instance.minima[instance.descending].tolist()
    nodes, k = instance.nodes, instance.inequity
    assert least_epochs(minima, nodes, k) <= best <= most_epochs(minima, nodes, k)
    for form in FORMS:
        result = cpsat.solve(written(Partition(instance, model=form)), Limits(threads=1))
        assert result.proven
        assert result.objective == result.bound == nodes * best
    result = solve(instance, threads=1)
    assert result.proven
    assert (result.objective, result.violations) == (nodes * best, ())


@settings(max_examples=80)
@given(some_packing(most=6, rules=True))
def test_side_constraints(instance: Instance) -> None:
    best = fewest(instance)
    result = solve(instance, threads=1)
    assert result.violations == ()
    if best is None:
        assert result.termination == "infeasible"
        assert result.conflict
        assert fewest(without(instance, result.conflict)) is None
        return
    assert result.proven
    assert result.objective == instance.nodes * best


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


def test_too_many_patterns_fall_back_to_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solvers.epochs.forms.MOST_PATTERNS", 3)
    instance = GENERATORS["planted"](1, nodes=24, epochs=4, inequity=2, most=6)
    result = epochs.solve(Partition(instance), Limits(threads=1), engine="cp-sat")
    assert result.options["model"] == "counts"
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
    with pytest.raises(InputError, match="direct"):
        Partition(instance, model="slots").add(Apart(jobs=("j1", "j2")))
    with pytest.raises(InputError, match="auto"):
        Partition(instance, model="none")
    with pytest.raises(InputError, match="no epochs"):
        Rectangles(instance).add(Apart(jobs=("j1", "j2")))


# --- rectangles -------------------------------------------------------------------------------


def least_rectangles(instance: Instance, widths: list[int]) -> int | None:
    """Return the least overhead of rectangles of these widths, by trying all multisets of widths.

    Widths are dealt by size; whether they can be packed is tried by filling the earliest time that
    has idle nodes with each width that is left, in turn.
    """
    nodes, jobs = instance.nodes, len(instance.jobs)
    minima = sorted(instance.minima.tolist())
    choices = [
        some
        for some in combinations_with_replacement(sorted(widths), jobs)
        if all(w >= m for w, m in zip(some, minima, strict=True))
    ]
    for some in sorted(choices, key=sum):
        if packs(nodes, jobs, some):
            return sum(some)
    return None


def packs(nodes: int, jobs: int, widths: tuple[int, ...]) -> bool:
    from fractions import Fraction

    def fill(
        left: tuple[int, ...], running: tuple[tuple[Fraction, int], ...], now: Fraction
    ) -> bool:
        free = nodes - sum(w for _, w in running)
        if free == 0:
            if not left and len({end for end, _ in running}) == 1:
                return running[0][0] == 1
            at = min(end for end, _ in running)
            if at >= 1:
                return not left and all(end == 1 for end, _ in running)
            return fill(left, tuple(r for r in running if r[0] > at), at)
        for w in set(left):
            if w <= free:
                rest = list(left)
                rest.remove(w)
                end = now + Fraction(nodes, jobs * w)
                if end <= 1 and fill(tuple(rest), (*running, (end, w)), now):
                    return True
        return False

    return fill(widths, (), Fraction(0))


@st.composite
def some_rectangles(draw: st.DrawFn) -> Instance:
    nodes = draw(st.integers(1, 6))
    minima = draw(st.lists(st.integers(1, nodes), min_size=1, max_size=4))
    return packing(minima, nodes, 0)


@settings(max_examples=80)
@given(some_rectangles())
def test_rectangles_are_brute_forces(instance: Instance) -> None:
    best = least_rectangles(instance, list(range(1, instance.nodes + 1)))
    result = solve(instance, formulation="rectangles", threads=1)
    assert result.proven
    assert result.violations == ()
    assert result.objective == best


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
    monkeypatch.setattr("formulations.epoch.rectangles.MOST_UNITS", 8)
    result = solve("instances/epoch/three-wide.json", formulation="rectangles", threads=1)
    assert result.options["exact"] is False
    assert result.violations == ()
    assert (result.objective, result.bound) == (16, 10)
    assert "fewer widths" in str(result.message)
