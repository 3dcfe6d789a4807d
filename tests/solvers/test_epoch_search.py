"""Partitions and rectangles: our search and the models against brute force and CP-SAT."""

import pytest
from builders.effort import tried
from builders.epoch import fewest, packing, some_packing
from hypothesis import assume, reject
from hypothesis import strategies as st

from schedopt import load, solve
from schedopt.formulations.constraints import Apart, Forbid
from schedopt.formulations.epoch import Partition, Rectangles
from schedopt.formulations.epoch.rectangles import RectangleLimits
from schedopt.instances.constraints import Together
from schedopt.instances.epoch import Instance, fits
from schedopt.instances.epoch.generators import GENERATORS
from schedopt.instances.epoch.widths import possible_widths
from schedopt.instances.errors import InputError
from schedopt.policies.registry import NotApplicableError, registered
from schedopt.solvers.epoch.bounding import blocks, least_epochs
from schedopt.solvers.epoch.items import first_fit, items
from schedopt.solvers.epoch.search import Completion, CompletionParams


def searched(instance: Instance) -> tuple[int, list[list[int]]]:
    """Search from one job an epoch down, and from one epoch up."""
    packed = items(instance, instance.constraints)
    search = Completion(packed, 1, [[j] for j in range(len(instance.jobs))])
    assert search.advance(10.0)
    return search.least, search.epochs


def is_partition(instance: Instance, found: list[list[int]]) -> bool:
    minima, nodes, k = instance.minima, instance.nodes, instance.inequity
    whole = sorted(j for epoch in found for j in epoch) == list(range(len(instance.jobs)))
    return whole and all(fits(minima[epoch].tolist(), nodes, k) for epoch in found)


@tried(150, some_packing(most=7, rules=True))
def test_first_fit_keeps_rules_and_bounds_hold(instance: Instance) -> None:
    """What the search itself finds under rules the contract of engines holds."""
    packed = items(instance, instance.constraints)
    assume(instance.inequity > 0 and packed is not None)
    best = fewest(instance)
    assert packed.impossible() == (best is None)
    if best is None:
        return
    start, least = first_fit(packed), least_epochs(instance, packed)
    assert is_partition(instance, start)
    assert least <= best <= len(start)
    for rule in instance.constraints:
        jobs = {instance.index[job] for job in rule.jobs}
        for epoch in start:
            inside = len(jobs & set(epoch))
            assert inside in (0, len(jobs)) if isinstance(rule, Together) else inside <= 1


@st.composite
def middling(draw: st.DrawFn) -> Instance:
    nodes = draw(st.integers(20, 40))
    mean = draw(st.integers(4, nodes // 3))
    minima = draw(st.lists(st.integers(1, 2 * mean), min_size=8, max_size=14))
    return packing(minima, nodes, draw(st.integers(1, 4)))


@tried(100, middling())
def test_epoch_search_agrees_with_the_papers_search(instance: Instance) -> None:
    least, found = searched(instance)
    assert is_partition(instance, found)
    try:
        best = len(registered("epoch")["paper-search"].run(instance).epochs)
    except NotApplicableError:
        reject()
    assert least == len(found) == best


@tried(100, some_packing(most=8))
def test_shortest_path_has_the_fewest_epochs_for_equal_allotments(instance: Instance) -> None:
    equal = packing(instance.minima.tolist(), instance.nodes, 0)
    minima = equal.minima[equal.descending].tolist()
    counts = blocks(minima, equal.nodes)
    assert sum(counts) == len(minima)
    assert len(counts) == fewest(equal)


@pytest.mark.parametrize(("size", "k"), [(16, 4), (16, 5), (32, 5), (16, 6), (32, 6), (100, 3)])
def test_planted_packings_are_found_within_few_steps(size: int, k: int) -> None:
    """A few hundred steps per epoch suffice. Steps are counted, so the test needs no clock."""
    for seed in range(3):
        instance = GENERATORS["planted"](seed, nodes=128, epochs=size, inequity=k)
        packed = items(instance, ())
        assert packed is not None
        search = Completion(packed, size, first_fit(packed), CompletionParams(round_steps=10**9))
        while not search.advance(0.0):
            assert search._spent < 1_000_000
        assert len(search.epochs) == size
        assert is_partition(instance, search.epochs)


def test_epoch_search_at_a_time_limit_keeps_the_start() -> None:
    instance = GENERATORS["planted"](2, nodes=1000, epochs=20, inequity=50, fewest=3, most=5)
    result = solve(instance, threads=1, time_limit=0.5)
    assert result.termination == "time-limit"
    assert result.violations == ()
    assert 20_000 == result.bound <= (result.objective or 0)


def test_partition_refuses_wrong_options() -> None:
    instance = packing([4, 4], 16, 0)
    with pytest.raises(InputError, match="together"):
        Partition(instance).add(Forbid(jobs=("j1",)))
    with pytest.raises(InputError, match="together"):
        Rectangles(instance).add(Forbid(jobs=("j1",)))
    model = Partition(instance)
    model.model.add(model.x["j2", "j1"] == 0)
    with pytest.raises(InputError, match="before native"):
        model.add(Apart(jobs=("j1", "j2")))


def test_possible_widths_excludes_widths_without_a_schedule() -> None:
    assert possible_widths(4, 4, 1) == [1, 2, 3, 4]
    assert possible_widths(4, 4, 3) == [3, 4]
    assert 11 not in possible_widths(16, 8, 1)
    assert possible_widths(7, 1, 1) == [7]


def test_rectangles_refuse_a_grid_that_is_too_fine() -> None:
    file = "instances/epoch/three-wide.json"
    coarse = Rectangles(load(file), limits=RectangleLimits(units=8))
    result = solve(coarse, solver="cp-sat", threads=1)
    assert result.options["exact"] is False
    assert result.violations == ()
    assert (result.objective, result.bound) == (16, 10)
    assert "fewer widths" in str(result.message)
    assert solve(file, formulation="rectangles").options["exact"] is True


def test_rectangles_of_thousands_of_jobs_are_feasible_without_search() -> None:
    instance = packing([1, 2, 3] * 2_000, 6, 0, [Apart(jobs=("j0001", "j0002"))])
    result = solve(instance, formulation="rectangles", threads=1)
    assert (result.termination, result.violations) == ("completed", ())
    assert result.objective == 6 * 6_000


def test_native_constraints_distinguish_equal_jobs() -> None:
    for rules in ([], [Apart(jobs=("j1", "j2"))], [Apart(jobs=("j2", "j1"))]):
        model = Rectangles(packing([2, 2], 4, 0, rules))
        model.model.add(model.starts["j1"] > model.starts["j2"])
        assert solve(model).objective == 8
    assert solve(Rectangles(packing([2, 2], 4, 0))).objective == 4
