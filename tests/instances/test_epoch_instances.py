"""epoch instances: what fits, how nodes are shared, generators."""

import pytest
from builders.epoch import packing, shares
from hypothesis import given
from hypothesis import strategies as st

from schedopt.instances.epoch import Epoch, Partitioned, allotted, fits, partitioned
from schedopt.instances.epoch.generators import GENERATORS


def test_orders_of_jobs() -> None:
    instance = packing([3, 2], 8, 1)
    assert instance.minima.tolist() == [3, 2]
    assert (instance.descending, instance.ascending) == ([0, 1], [1, 0])


@given(st.integers(1, 14), st.lists(st.integers(1, 14), min_size=1, max_size=5), st.integers(0, 6))
def test_what_fits_is_what_can_be_shared(nodes: int, minima: list[int], inequity: int) -> None:
    able = next(shares(minima, nodes, inequity), None) is not None
    assert fits(minima, nodes, inequity) is able
    if not able:
        with pytest.raises(ValueError, match="do not fit"):
            allotted(minima, nodes, inequity)
        return
    given_ = allotted(minima, nodes, inequity)
    assert sum(given_) == nodes
    assert max(given_) - min(given_) <= inequity
    assert all(a >= m for a, m in zip(given_, minima, strict=True))
    assert not fits([], nodes, inequity)


def test_the_objective_counts_reallocations() -> None:
    instance = packing([3, 2, 8], 8, 1)
    solution = partitioned(instance, [[2], [0, 1]])
    assert solution == Partitioned(
        epochs=(
            Epoch(duration=1 / 3, nodes={"j3": 8}),
            Epoch(duration=2 / 3, nodes={"j1": 4, "j2": 4}),
        )
    )
    assert instance.objective_of(solution) == 16.0


@pytest.mark.parametrize("name", ["uniform", "binomial"])
def test_minima_have_the_mean_of_the_load(name: str) -> None:
    for jobs, load in ((8, 1.0), (15, 2.0), (100, 1.0)):
        minima = [
            GENERATORS[name](seed, jobs=jobs, load=load).minima for seed in range(4000 // jobs)
        ]
        mean = sum(m.sum() for m in minima) / sum(map(len, minima))
        assert mean == pytest.approx(128 * load / jobs, rel=0.05)
        assert max(m.max() for m in minima) <= max(1, 2 * 128 * load / jobs)


@pytest.mark.parametrize("inequity", range(7))
def test_planted_jobs_fill_their_epochs(inequity: int) -> None:
    instance = GENERATORS["planted"](5, nodes=24, epochs=6, inequity=inequity, most=8)
    assert instance.minima.sum() == 24 * 6
    assert str(24 * 6) in (instance.description or "")
