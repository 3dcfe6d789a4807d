"""The fast stable sort against numpy's own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from instances.sorting import steady_order


@given(st.lists(st.sampled_from([-np.inf, -1.0, -0.0, 0.0, 2.0, 2.5, np.inf]), max_size=60))
def test_equal_keys_stay_as_they_are(keys: list[float]) -> None:
    array = np.array(keys, dtype=np.float64)
    assert np.array_equal(steady_order(array), np.argsort(array, kind="stable"))


@pytest.mark.parametrize("values", [3, 1000, 10**9])
def test_many_keys_are_sorted_as_numpy_does(values: int) -> None:
    array = np.random.default_rng(values).integers(0, values, 20_000) / 7
    assert np.array_equal(steady_order(array), np.argsort(array, kind="stable"))
