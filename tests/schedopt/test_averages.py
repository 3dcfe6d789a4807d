"""Averages and intervals beside their definitions, and beside all resamples there are."""

from __future__ import annotations

import itertools
import math
import random
import statistics

import numpy as np
import pytest
from builders.reports import row
from hypothesis import given
from hypothesis import strategies as st

from schedopt.analysis.averages import FEW, MANY, interval, shifted_geometric_mean
from schedopt.analysis.summary import ranked, summary


@given(st.lists(st.floats(0, 1e4), min_size=1, max_size=20), st.sampled_from([0.001, 1.0, 10.0]))
def test_a_shifted_geometric_mean_is_what_its_definition_says(
    values: list[float], shift: float
) -> None:
    found = shifted_geometric_mean(values, shift)
    product = statistics.fmean(math.log(value + shift) for value in values)
    assert found == pytest.approx(math.exp(product) - shift, rel=1e-6, abs=1e-9)
    assert found is not None
    assert min(values) - 1e-9 <= found <= statistics.fmean(values) * (1 + 1e-9) + 1e-9


def test_a_shifted_geometric_mean_keeps_small_digits_and_refuses_what_it_cannot_mean() -> None:
    assert shifted_geometric_mean([1e-13, 3e-13], 1.0) == pytest.approx(2e-13, rel=1e-6)
    assert shifted_geometric_mean([], 1.0) is None
    assert shifted_geometric_mean([0.5, -0.01], 0.01) is None
    assert shifted_geometric_mean([-0.005], 0.01) == pytest.approx(-0.005)


def test_an_interval_resamples_whole_groups() -> None:
    groups = [(0.0, 0.2, 0.4), (1.0,), (0.3, 0.1), (0.6,)]
    low, high = interval(groups, level=0.8, resamples=100_000)
    means = [
        statistics.fmean(value for group in picked for value in group)
        for picked in itertools.product(groups, repeat=4)
    ]
    expected = np.quantile(means, [0.1, 0.9])
    assert (low, high) == (
        pytest.approx(expected[0], abs=0.01),
        pytest.approx(expected[1], abs=0.01),
    )
    assert interval(groups) == interval(groups)


def test_the_normal_interval_is_the_limit_of_resampling() -> None:
    draw = random.Random(1)  # noqa: S311  no secrets here
    groups = [tuple(draw.expovariate(1) for _ in range(draw.randint(1, 3))) for _ in range(MANY)]
    normal, resampled = interval(groups), interval(groups[:-1])
    for a, b in zip(normal, resampled, strict=True):
        assert a == pytest.approx(b, abs=0.004)  # of a width of about 0.06


def test_a_standing_has_an_interval_from_ten_instances_on() -> None:
    rows = [row(instance=str(i), policy="p", gap=i / 100) for i in range(FEW)]
    (few,), (enough,) = summary(rows[1:]), summary(rows)
    assert (few.low, few.high) == (None, None)
    assert enough.low is not None and enough.mean is not None and enough.high is not None
    assert enough.low < enough.mean < enough.high
    assert enough.shifted_gap == pytest.approx(
        math.prod(i / 100 + 0.01 for i in range(10)) ** 0.1 - 0.01
    )
    assert enough.shifted_seconds == pytest.approx(0.001)


def test_seeds_of_one_instance_are_no_further_instances() -> None:
    rows = [row(instance=str(i), policy="p", gap=i / 100) for i in range(FEW)]
    twice = [row(instance=r.instance, policy="p", gap=r.gap, seed=s) for r in rows for s in (1, 2)]
    (once,), (both,) = summary(rows), summary(twice)
    assert (both.low, both.high) == (pytest.approx(once.low), pytest.approx(once.high))


def test_who_has_fewer_instances_is_not_ranked_first() -> None:
    rows = [row(instance=str(i), policy="all", gap=0.1) for i in range(2)]
    rows += [
        row(instance="0", policy="one", gap=0.0),
        row(instance="0", policy="none", objective=None),
    ]
    assert [standing.contender for standing in ranked(summary(rows))] == ["all", "one", "none"]
