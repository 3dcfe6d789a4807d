"""Tournaments against sorting, and the order of tasks against numpy's stable sort."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from schedopt.solvers.dssp.schedule.dispatch_kernels import order_of
from schedopt.solvers.dssp.schedule.tournament import (
    NOBODY,
    begin,
    comparable,
    leaves_for,
    replay,
    without,
)

NUMBERS = st.lists(
    st.one_of(
        st.floats(allow_nan=False),
        st.integers(-3, 3).map(float),
        st.sampled_from([0.0, -0.0, np.inf, -np.inf, 5e-324, 1.7e308]),
    ),
    min_size=1,
    max_size=40,
)


@settings(deadline=None)
@given(NUMBERS)
def test_comparable_numbers_are_ordered_as_the_keys_are(keys: list[float]) -> None:
    numbers = comparable(np.array(keys))
    assert numbers.min() >= 0
    assert numbers.max() < NOBODY
    below = np.array(keys)[:, None] < np.array(keys)
    assert np.array_equal(numbers[:, None] < numbers, below)


@settings(deadline=None)
@given(st.integers(1, 20), st.lists(st.tuples(st.integers(0, 19), st.integers(0, 5)), max_size=60))
def test_the_final_is_won_by_the_first_of_the_least(
    count: int, changes: list[tuple[int, int]]
) -> None:
    half = leaves_for(count)
    best, who = np.full(2 * half, NOBODY), np.zeros(2 * half, np.int64)
    begin(best, who)
    keys = [NOBODY] * half
    for at, key in changes:
        leaf = at % count
        keys[leaf] = key if key else NOBODY
        replay(best, who, leaf, keys[leaf])
        assert best[1] == min(keys)
        assert who[1] == keys.index(min(keys))
        others = [other for i, other in enumerate(keys) if i != leaf]
        assert without(best, leaf) == min(others, default=NOBODY)


@settings(deadline=None)
@given(
    st.lists(st.integers(1, 400), min_size=1, max_size=12), st.integers(1, 50), st.integers(0, 9)
)
def test_tasks_are_ordered_by_stage_then_key_then_place(
    widths: list[int], values: int, seed: int
) -> None:
    first = np.concatenate(([0], np.cumsum(widths)))
    keys = np.random.default_rng(seed).integers(0, values, first[-1]).astype(float)
    stage = np.repeat(np.arange(len(widths)), widths)
    assert np.array_equal(order_of(keys, first), np.lexsort((np.arange(len(keys)), keys, stage)))
