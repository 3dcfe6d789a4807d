"""Few rows over many columns: the best by several objectives in order, against brute force."""

from itertools import product

import numpy as np
import pytest
from builders.effort import examples

from schedopt.solvers.columns.ordered import best_in_order


def random_problem(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return objectives, uses, room and counts: ties, zeros, twins and resources of nothing."""
    rng = np.random.default_rng(seed)
    rows, goals = int(rng.integers(0, 5)), int(rng.integers(1, 4))
    counts = rng.integers(0, 4, rng.integers(1, 7))
    n = len(counts)
    objectives = rng.integers(rng.choice([-3, 0]), rng.choice([2, 5, 10**6]), (goals, n))
    uses = rng.integers(0, rng.choice([2, 6, 10**9]), (rows, n))
    room = (uses * counts).sum(axis=1) * rng.choice([0, 0.2, 0.5, 0.8, 1.0], rows)
    if rng.random() < 0.3:
        objectives[0] = rng.choice([0, 1])
    if rng.random() < 0.3:
        objectives[-1] = uses[0] if rows else 1
    return objectives, uses, room.astype(np.int64), counts


def brute_force(objectives, uses, room, counts) -> list[int]:
    every = np.array(list(product(*(range(c + 1) for c in counts)))).reshape(-1, len(counts))
    every = every[(every @ uses.T <= room).all(axis=1)]
    return list(max(map(tuple, (every @ objectives.T).tolist())))


@pytest.mark.parametrize("seed", range(examples(2_000) // 50))
def test_it_is_the_best_in_both_orders(seed: int) -> None:
    for part in range(50):
        objectives, uses, room, counts = random_problem(50 * seed + part)
        for order in (objectives, objectives[::-1]):
            found = best_in_order(order, uses, room, counts)
            assert found.values == brute_force(order, uses, room, counts)
            assert found.proven
            assert (uses @ found.x <= room).all()
            assert (found.x >= 0).all() and (found.x <= counts).all()
            assert (order @ found.x).tolist() == found.values
