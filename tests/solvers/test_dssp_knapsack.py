"""The exact search: right, and asked at any time."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from schedopt.policies.dssp.selectors import optimum
from schedopt.solvers.dssp.selection.knapsack import kernels as core_kernels
from schedopt.solvers.dssp.selection.knapsack import search as core_module
from schedopt.solvers.dssp.selection.knapsack.bounds import DEFAULTS, KnapsackParams, counting_bound
from schedopt.solvers.dssp.selection.knapsack.items import Items
from schedopt.solvers.dssp.selection.knapsack.search import Core, CoreMemoryError

Floats = NDArray[np.float64]


def draw(family: str, size: int, most: int, seed: int) -> tuple[Floats, Floats]:
    """Return rewards and demands of a family of the literature (Pisinger 2005)."""
    rng = np.random.default_rng(seed)
    demands = rng.integers(1, most + 1, size).astype(np.float64)
    spread = max(1, most // 10)
    rewards = {
        "uncorrelated": rng.integers(1, most + 1, size) * 1.0,
        "weakly correlated": np.maximum(1.0, demands + rng.integers(-spread, spread + 1, size)),
        "strongly correlated": demands + spread,
        "almost strongly correlated": demands + spread + rng.integers(-2, 3, size),
        "subset sum": demands,
        "few ratios": np.ceil(demands / 3) * 3,
    }
    if family == "inverse strongly correlated":
        return demands, demands + spread
    return rewards[family], demands


FAMILIES = [
    "uncorrelated",
    "weakly correlated",
    "strongly correlated",
    "inverse strongly correlated",
    "almost strongly correlated",
    "subset sum",
    "few ratios",
]


PARAMS = {
    "default": KnapsackParams(),
    "one state at a time": KnapsackParams(first_states=1, chunk_states=1),
}


def solved(
    rewards: Floats, demands: Floats, room: float, params: KnapsackParams = DEFAULTS
) -> float:
    search = Core(rewards, demands, room, params=params)
    assert search.advance(30)
    assert search.proven
    chosen = search.chosen()
    assert demands[chosen].sum() <= room
    assert search.value == search.bound == pytest.approx(rewards[chosen].sum(), rel=1e-13)
    return search.value


def best_subset(rewards: Floats, demands: Floats, room: float) -> float:
    subsets = (np.arange(1 << rewards.size)[:, None] >> np.arange(rewards.size)) & 1
    return float((subsets @ rewards)[subsets @ demands <= room].max())


def test_knapsack_equals_brute_force_on_thousands_of_small_instances() -> None:
    rng = np.random.default_rng(1)
    for k in range(4000):
        size = int(rng.integers(1, 11))
        most = int(rng.choice([2, 5, 12, 1000]))
        demands = rng.integers(0, most + 1, size) / (1.0, 16.0)[k % 2]
        rewards = demands + 1 if k % 3 == 0 else rng.integers(0, most + 1, size).astype(np.float64)
        room = float(rng.integers(0, size * most // 2 + 2)) / (1.0, 16.0)[k % 2]
        assert solved(rewards, demands, room) == best_subset(rewards, demands, room)


@pytest.mark.parametrize("params", PARAMS.values(), ids=PARAMS)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("size", [50, 300, 5_000])
def test_knapsack_families_equal_dynamic_programming(
    family: str, size: int, params: KnapsackParams
) -> None:
    for seed in range(6 if size < 1000 else 1):
        rewards, demands = draw(family, size, 100, seed)
        room = float(np.floor(demands.sum() * (seed + 1) / 7))
        chosen = optimum(Items.of(rewards, demands, room))
        jobs = Items.of(rewards, demands, room).jobs(chosen)
        assert demands[jobs].sum() <= room
        assert solved(rewards, demands, room, params) == rewards[jobs].sum()


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1e12, 2.0**-40])
def test_knapsack_does_not_depend_on_the_unit(scale: float) -> None:
    rewards, demands = draw("weakly correlated", 80, 1000, 4)
    room = float(np.floor(demands.sum() / 3)) + 0.5
    plain = solved(rewards, demands, room)
    assert solved(rewards, demands * scale, room * scale) == plain
    assert solved(rewards * scale, demands, room) == pytest.approx(plain * scale, rel=1e-12)


@pytest.mark.parametrize("params", PARAMS.values(), ids=PARAMS)
@pytest.mark.parametrize("family", [*FAMILIES, "real values"])
def test_knapsack_bounds_enclose_the_optimum_at_every_step(
    family: str, params: KnapsackParams
) -> None:
    if family == "real values":
        rng = np.random.default_rng(6)
        demands = rng.random(300) * 100
        rewards = demands * np.exp(rng.standard_normal(300) / 20)
        room, near = float(demands.sum() / 3), 1e-14
    else:
        rewards, demands = draw(family, 200, 1_000, 9)
        room, near = float(np.floor(demands.sum() / 2)), 0.0
    best = solved(rewards, demands, room, params)
    params = replace(params, first_states=50, chunk_states=500)
    search = Core(rewards, demands, room, params=params)
    value, bound = search.value, search.bound
    while not search.proven:
        assert value <= best * (1 + near) and best * (1 - near) <= bound
        chosen = search.chosen()
        assert rewards[chosen].sum() == pytest.approx(search.value, rel=near)
        assert demands[chosen].sum() <= room
        search.advance(0)
        assert value <= search.value <= search.bound <= bound
        value, bound = search.value, search.bound
    assert value == bound == pytest.approx(best, rel=near)


def hard() -> tuple[Floats, Floats, float]:
    """Return large numbers, strongly correlated: the bound is not met, and nothing else is near."""
    demands = 2.0 * np.random.default_rng(1).integers(1, 5 * 10**6, 400)
    demands[np.argmax(demands)] += 1  # so that not all are even
    return demands + 10**6, demands, float(demands.sum() // 4 * 2 + 1)


@pytest.mark.parametrize("memory", [1 << 20, 1 << 24])
def test_knapsack_keeps_the_incumbent_at_a_memory_limit(memory: int) -> None:
    rewards, demands, room = hard()
    rewards = rewards + np.random.default_rng(2).random(rewards.size) / 3  # no unit is exact
    search = Core(rewards, demands, room, memory=memory)
    before = search.bound
    for _ in range(2):  # asked again, it says the same
        with pytest.raises(CoreMemoryError, match="GiB"):
            search.advance(30)
        assert not search.proven
        assert 0 < search.value <= search.bound <= before
        assert demands[search.chosen()].sum() <= room
        assert rewards[search.chosen()].sum() == pytest.approx(search.value, rel=1e-14)
        assert search._at.nodes <= search._tree[0].size


def test_knapsack_solution_is_the_same_if_nodes_are_swept() -> None:
    params, dropped = KnapsackParams(first_states=20_000, chunk_states=20_000), 0
    for family in ("weakly correlated", "almost strongly correlated", "uncorrelated"):
        rewards, demands = draw(family, 200, 10**5, 3)
        room = float(np.floor(demands.sum() / 2))
        plain, swept = (Core(rewards, demands, room, params=params) for _ in range(2))
        while not plain.advance(0):
            pass
        while not swept.advance(0):
            before = int(swept._at.nodes)
            core_kernels.sweep(swept._at, swept._states[2], swept._tree)
            dropped += before - int(swept._at.nodes)
        assert np.array_equal(plain.chosen(), swept.chosen())
        assert rewards[swept.chosen()].sum() == swept.value == plain.value
    assert dropped > 1000


def test_knapsack_resumes_after_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    rewards, demands = draw("weakly correlated", 300, 10**5, 12)
    room = float(np.floor(demands.sum() / 2))
    best = solved(rewards, demands, room)
    params = KnapsackParams(first_states=100, chunk_states=100)
    search, asked = Core(rewards, demands, room, params=params), 0

    def clock() -> float:
        nonlocal asked
        asked += 1
        if asked % 5 == 0:
            raise KeyboardInterrupt
        return 0.0

    monkeypatch.setattr(core_module, "now", clock)
    interrupts = 0
    while not search.proven:
        try:
            search.advance(1)
        except KeyboardInterrupt:
            interrupts += 1
    assert interrupts > 0
    assert search.value == search.bound == best


def test_counting_bound_is_at_least_the_optimum() -> None:
    for seed in range(20):
        for family in FAMILIES:
            rewards, demands = draw(family, 40, 30, seed)
            room = float(np.floor(demands.sum() * (seed + 1) / 22))
            best = solved(rewards, demands, room)
            items = Items.of(rewards, demands, room)
            for value in (best - 1, best * 0.8):
                numbers = items.rewards, items.weights, items.room, value
                bound, rounded = counting_bound(*numbers), counting_bound(*numbers, value + 1)
                assert bound >= best * (1 - 1e-12)
                assert rounded >= best * (1 - 1e-12)
    rewards, demands = draw("strongly correlated", 400, 1000, 1)
    room = float(np.floor(demands.sum() / 2))
    items = Items.of(rewards, demands, room)
    best = solved(rewards, demands, room)
    assert items.fractional_bound > best + 1
    scaled = counting_bound(items.rewards, items.weights, items.room, best - 1)
    assert best <= scaled * (1 + 1e-12) < best + 1


def test_knapsack_solves_empty_and_trivial_instances() -> None:
    assert solved(np.zeros(0), np.zeros(0), 0.0) == 0
    assert solved(np.array([1.0, 2.0]), np.array([0.0, 3.0]), 0.0) == 1
    assert solved(np.array([1.0, 2.0]), np.array([2.0, 3.0]), 1e300) == 3
    assert solved(np.array([0.0, 0.0]), np.array([1.0, 0.0]), 5.0) == 0


@pytest.mark.parametrize(
    ("rewards", "demands", "room"),
    [
        ([1, 2], [1], 3),
        ([1, -2], [1, 1], 3),
        ([1, float("nan")], [1, 1], 3),
        ([1, 2], [1, float("inf")], 3),
        ([1, 2], [1, 2], -1),
        ([1, 2], [1, 2], float("nan")),
        ([[1, 2]], [[1, 2]], 3),
    ],
)
def test_knapsack_refuses_wrong_arguments(
    rewards: list[float], demands: list[float], room: float
) -> None:
    with pytest.raises(ValueError, match="must be"):
        Core(rewards, demands, room)
