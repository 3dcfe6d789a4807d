"""Section 5.1's three reward functions."""

from __future__ import annotations

import pytest

from schedopt.instances.dssp.rewards import REWARDS, banded, linear, size
from schedopt.instances.errors import InputError


@pytest.mark.parametrize(("priority", "reward"), [(0, 500), (120, 380), (500, 0), (777, 0)])
def test_linear(priority: float, reward: float) -> None:
    assert linear(priority, 3.0) == reward


@pytest.mark.parametrize(
    ("priority", "reward"),
    [(0, 1e5), (99, 1e5), (100, 1e3), (199.5, 1e3), (200, 10), (299, 10), (300, 1), (499, 1)],
)
def test_banded(priority: float, reward: float) -> None:
    assert banded(priority, 3.0) == reward


def test_size_is_the_demand_and_needs_no_priority() -> None:
    assert size(None, 17.5) == 17.5


@pytest.mark.parametrize("name", ["linear", "banded"])
def test_a_priority_is_needed(name: str) -> None:
    with pytest.raises(InputError, match="a priority for each job"):
        REWARDS[name](None, 1.0)
