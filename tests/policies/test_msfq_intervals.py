"""Intervals of simulated means: they hold as often as they say, or are withheld."""

import numpy as np
import pytest
from builders.msfq import at_load, of_classes

from benchmarks.coverage import HIGH, LOADS, LOW, coverage, single
from schedopt import evaluate
from schedopt.policies.msfq.intervals import (
    BATCHES,
    ENOUGH,
    T_QUANTILES,
    independent_batches,
    interval,
    observations,
)
from schedopt.terminal.results import results as show


@pytest.mark.slow
@pytest.mark.parametrize("load", LOADS)
def test_coverage_in_full(load: float) -> None:
    found = coverage(single(load), 100_000, range(310_000, 311_000))
    assert found.given == 0 or LOW <= found.share <= HIGH


@pytest.mark.parametrize("load", [0.8, 0.95])
def test_intervals_cover_what_is_known(load: float) -> None:
    """Forty batches and no more thought covered 84% at load 0.95."""
    found = coverage(single(load), 100_000, range(120))
    assert found.given > 100
    assert found.share >= 0.9
    assert found.width < 0.5


def test_a_run_too_short_for_an_interval_has_none_and_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    queue = single(0.99).queue
    found = evaluate(queue, "fcfs", options={"arrivals": 100_000})
    assert found.objective is not None
    assert found.confidence is None
    assert "too short a run for a confidence interval" in str(found.message)
    assert not found.violations
    show(queue, [found, evaluate(queue, "fcfs", options={"times": "exact"})])
    said = capsys.readouterr().out
    assert "too short a run" in said and "exact" in said
    assert all(time.confidence is None for time in found.solution.classes)
    long = evaluate(queue, "fcfs", options={"arrivals": 20_000_000})
    assert isinstance(long.confidence, float)
    assert abs((long.objective or 0.0) - 100.0) < 2 * long.confidence
    assert not long.message


def test_a_rare_class_has_no_interval_of_its_own() -> None:
    queue = of_classes(4, (1, 1.0), (2, 0.0002))
    usual, rare = evaluate(queue, "msf", options={"arrivals": 100_000}).solution.classes
    assert usual.confidence > 0
    assert 0 < rare.jobs < ENOUGH
    assert rare.confidence is None


def series(correlation: float, count: int = BATCHES, seed: int = 0) -> np.ndarray:
    """Draw an autoregressive series of mean 0."""
    noise = np.random.default_rng(seed).normal(size=count)
    for i in range(1, count):
        noise[i] += correlation * noise[i - 1]
    return noise - noise.mean()


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.8])
def test_independent_batches_of_a_known_series(correlation: float) -> None:
    """An autoregressive series of n values counts as n·(1 - r)/(1 + r)."""
    found = [independent_batches(series(correlation, seed=s)) for s in range(60)]
    expected = BATCHES * (1 - correlation) / (1 + correlation)
    assert np.median(found) == pytest.approx(expected, rel=0.2)


def test_what_an_interval_needs() -> None:
    residuals = series(0.0)
    assert interval(residuals, 1.0).half_width == pytest.approx(1.96 / BATCHES**0.5, rel=0.6)
    assert interval(residuals, 1.0, observations=ENOUGH - 1).half_width is None
    assert interval(residuals[:-1], 1.0).half_width is None
    assert interval(series(0.99), 1.0).half_width is None
    assert interval(np.zeros(BATCHES), 1.0).half_width == 0.0
    signed = interval(residuals, -1.0).half_width
    assert signed == interval(residuals, 5.0, positive=False).half_width
    assert all(BATCHES % batches == 0 for batches in T_QUANTILES)


def test_observations_are_those_of_an_mm1_in_heavy_traffic() -> None:
    """The integrated autocorrelation time of an M/M/1's sojourn times is known."""
    for load in (0.9, 0.95, 0.99):
        exact = load * (load**3 - 4 * load**2 + 5 * load + 2) / (1 - load) ** 2
        found = observations(single(load).queue, 1000 / load)
        assert found == pytest.approx(1000 / exact, rel=0.12)
    assert observations(at_load(8, 0.5), 100.0, load=1.2) == 0.0
    assert observations(at_load(8, 0.5), 100.0, load=0.9) < observations(at_load(8, 0.5), 100.0)
