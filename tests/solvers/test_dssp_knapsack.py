"""The dynamic program over the core of a knapsack."""

import numpy as np
import pytest
from numpy.typing import NDArray

from schedopt.policies.dssp.selectors import optimum
from schedopt.solvers.dssp.selection.knapsack.items import Items
from schedopt.solvers.dssp.selection.knapsack.search import KnapsackParams, KnapsackSearch

Ints = NDArray[np.int64]


def draw(family: str, size: int, most: int, seed: int) -> tuple[Ints, Ints]:
    """Return rewards and weights of a family of the literature (Pisinger 2005)."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, most + 1, size)
    spread = max(1, most // 10)
    rewards = {
        "uncorrelated": rng.integers(1, most + 1, size),
        "weakly correlated": np.maximum(1, weights + rng.integers(-spread, spread + 1, size)),
        "strongly correlated": weights + spread,
        "subset sum": weights,
        "few ratios": -(-weights // 3) * 3,
    }
    if family == "inverse strongly correlated":
        return weights, weights + spread
    return rewards[family], weights


FAMILIES = [
    "uncorrelated",
    "weakly correlated",
    "strongly correlated",
    "inverse strongly correlated",
    "subset sum",
    "few ratios",
]


def solved(rewards: Ints, weights: Ints, room: int) -> int:
    """Return the optimum; value and bound enclose it after every step."""
    search = KnapsackSearch(rewards, weights, room)
    enclosed = [(search.best, search.limit)]
    while not search.advance(0):
        enclosed.append((search.best, search.limit))
        chosen = search.chosen()
        assert rewards[chosen].sum() == search.best
        assert weights[chosen].sum() <= room
    assert search.proven
    chosen = search.chosen()
    assert weights[chosen].sum() <= room
    assert rewards[chosen].sum() == search.best
    assert all(value <= search.best <= bound for value, bound in enclosed)
    return search.best


def test_knapsack_equals_brute_force_on_thousands_of_small_instances() -> None:
    rng = np.random.default_rng(1)
    for k in range(2000):
        size, most = int(rng.integers(1, 11)), int(rng.choice([2, 5, 12, 1000, 10**12]))
        weights = rng.integers(1, most + 1, size)
        rewards = weights + 1 if k % 3 == 0 else rng.integers(1, most + 1, size)
        room = int(rng.integers(weights.max(), size * most // 2 + most + 1))
        subsets = (np.arange(1 << size)[:, None] >> np.arange(size)) & 1
        best = (subsets @ rewards)[subsets @ weights <= room].max()
        assert solved(rewards, weights, room) == best, (rewards, weights, room)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("size", [50, 300, 2000])
def test_knapsack_families_equal_dynamic_programming(family: str, size: int) -> None:
    for seed in range(3 if size < 1000 else 1):
        rewards, weights = draw(family, size, 100, seed)
        room = int(weights.sum() * (seed + 1) // 7)
        items = Items.of(rewards.astype(float), weights.astype(float), float(room))
        jobs = items.jobs(optimum(items))
        assert solved(rewards, weights, room) == rewards[jobs].sum()


def test_knapsack_of_no_items_or_of_items_that_all_fit() -> None:
    none = np.zeros(0, dtype=np.int64)
    assert solved(none, none, 0) == 0
    assert solved(np.array([1, 2]), np.array([2, 3]), 5) == 3


def test_knapsack_with_too_many_states_keeps_incumbent_and_bound() -> None:
    rewards, weights = draw("strongly correlated", 200, 10**6, 1)
    room = int(weights.sum() // 3)
    few = KnapsackSearch(rewards, weights, room, KnapsackParams(most_states=100))
    assert few.advance(10)
    assert few.is_full
    assert rewards[few.chosen()].sum() == few.best <= few.limit
    assert weights[few.chosen()].sum() <= room
