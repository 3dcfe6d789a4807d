"""Our own search for partitions against brute force, the paper's search and CP-SAT."""

import pytest
from builders.effort import tried
from builders.epoch import fewest, packing, some_packing
from hypothesis import assume, reject
from hypothesis import strategies as st

from schedopt.instances.constraints import Together
from schedopt.instances.epoch import Instance, fits
from schedopt.instances.epoch.generators import GENERATORS
from schedopt.policies.registry import NotApplicableError, registered
from schedopt.solvers.epoch.bounding import blocks, start_and_bound
from schedopt.solvers.epoch.items import first_fit, items
from schedopt.solvers.epoch.search import Completion


def searched(instance: Instance, seconds: float = 10.0) -> tuple[int, list[list[int]]]:
    """Search from one job an epoch down, and from one epoch up."""
    packed = items(instance, instance.constraints)
    search = Completion(packed, 1, None)
    assert search.advance(seconds)
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
    start, least = start_and_bound(instance, packed)
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
def test_our_search_and_the_papers_agree(instance: Instance) -> None:
    least, found = searched(instance)
    assert is_partition(instance, found)
    try:
        best = len(registered("epoch")["paper-search"].run(instance).epochs)
    except NotApplicableError:
        reject()
    assert least == len(found) == best


@tried(30, middling())
def test_nothing_hangs_on_what_is_remembered(instance: Instance) -> None:
    with pytest.MonkeyPatch.context() as patch:
        least, _ = searched(instance)
        patch.setattr("schedopt.solvers.epoch.search.MOST_REMEMBERED", 3 * (len(instance.jobs) + 1))
        patch.setattr("schedopt.solvers.epoch.search.PATIENCE", 50)
        assert searched(instance)[0] == least


@tried(100, some_packing(most=8))
def test_equal_allotments_are_a_shortest_path(instance: Instance) -> None:
    equal = packing(instance.minima.tolist(), instance.nodes, 0)
    minima = equal.minima[equal.descending].tolist()
    counts, distances = blocks(minima, equal.nodes)
    assert sum(counts) == len(minima)
    assert len(counts) == distances[-1] == fewest(equal)


@pytest.mark.parametrize(("size", "k"), [(16, 4), (16, 5), (32, 5), (16, 6), (32, 6), (100, 3)])
def test_planted_packings_are_found_at_once(size: int, k: int) -> None:
    """A few hundred steps an epoch do: no clock is asked."""
    for seed in range(3):
        instance = GENERATORS["planted"](seed, nodes=128, epochs=size, inequity=k)
        packed = items(instance, ())
        assert packed is not None
        search = Completion(packed, size, first_fit(packed))
        search._patience = 10**9
        while not search.advance(0.0):
            assert search._spent < 1_000_000
        assert len(search.epochs) == size
        assert is_partition(instance, search.epochs)
