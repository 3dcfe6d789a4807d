"""Intervals of simulations, held as often as claimed; and pauses, which change nothing."""

import numpy as np
import pytest
from builders.msfq import at_load, of_classes, one_or_all

from schedopt import evaluate
from schedopt.instances.msfq import Instance
from schedopt.instances.options import split
from schedopt.policies.msfq import experiment, simulation
from schedopt.policies.msfq.registration import plan
from schedopt.policies.msfq.simulation import simulate
from schedopt.policies.msfq.summary import summarize
from schedopt.terminal.results import results as show

PAIR = one_or_all(8, 2.5, 0.3)


def same(one: experiment.Measured, other: experiment.Measured) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(
    ("name", "common"),
    [("msfq", False), ("adaptive-quickswap", False), ("adaptive-quickswap", True)],
)
def test_pauses_change_nothing(monkeypatch: pytest.MonkeyPatch, name: str, common: bool) -> None:
    chosen = plan(PAIR, name)
    whole = simulate(PAIR, chosen, arrivals=20_000, seed=1, common=common)
    monkeypatch.setattr(simulation, "SLICE", 700)
    assert same(whole, simulate(PAIR, chosen, arrivals=20_000, seed=1, common=common))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e9", 10**9),
        ("2.5E4", 25_000),
        ("-1e2", -100),
        ("1e-3", 0.001),
        ("4.0", 4.0),
        ("1e300", 1e300),
        ("1e400", "1e400"),
        ("true", True),
        ("name", "name"),
    ],
)
def test_a_whole_number_may_have_an_exponent(text: str, value: object) -> None:
    found = split([f"arrivals={text}"])["arrivals"]
    assert found == value
    assert type(found) is type(value)


def single(load: float) -> Instance:
    """Return an M/M/1, whose mean response time is 1 / (1 - load)."""
    return of_classes(1, (1, load))


def coverage(load: float, seeds: range) -> tuple[int, float, float]:
    """Return how many runs of an M/M/1 have an interval, the part that holds, and its mean width.

    An interval that is withheld, since the run is too short for one, counts neither way.
    """
    queue, mean, held, widths = single(load), 1.0 / (1.0 - load), 0, []
    chosen = plan(queue, "fcfs")
    for seed in seeds:
        found = summarize(queue, simulate(queue, chosen, arrivals=100_000, seed=seed), 100_000)
        if found.confidence is not None:
            widths.append(found.confidence / mean)
            held += abs(found.mean_response_time - mean) <= found.confidence
    given = max(1, len(widths))
    return len(widths), held / given, sum(widths) / given


@pytest.mark.slow
@pytest.mark.parametrize("load", [0.5, 0.8, 0.9, 0.95])
def test_coverage_in_full(load: float) -> None:
    """None of these seeds was looked at when the intervals were made."""
    given, share, _ = coverage(load, range(310_000, 311_000))
    assert given == 0 or 0.93 <= share <= 0.97


@pytest.mark.parametrize("load", [0.8, 0.95])
def test_intervals_cover_what_is_known(load: float) -> None:
    """Forty batches and no more thought covered 84% at load 0.95."""
    given, share, width = coverage(load, range(120))
    assert given > 100
    assert share >= 0.9
    assert width < 0.5


def test_a_run_too_short_for_an_interval_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    queue = single(0.99)
    found = evaluate(queue, "fcfs", options={"arrivals": 100_000})
    assert found.objective is not None
    assert found.confidence is None
    assert "too short a run for a confidence interval" in str(found.message)
    assert not found.violations
    show(queue, [found])
    assert "too short a run" in capsys.readouterr().out
    assert all(time.confidence is None for time in found.solution.classes)
    long = evaluate(queue, "fcfs", options={"arrivals": 20_000_000})
    assert isinstance(long.confidence, float)
    assert abs((long.objective or 0.0) - 100.0) < 2 * long.confidence
    assert not long.message


def test_a_rare_class_has_no_interval_of_its_own() -> None:
    queue = of_classes(4, (1, 1.0), (2, 0.0002))
    often, rare = evaluate(queue, "msf", options={"arrivals": 100_000}).solution.classes
    assert often.confidence > 0
    assert 0 < rare.jobs < experiment.ENOUGH
    assert rare.confidence is None


def series(correlation: float, count: int = experiment.BATCHES, seed: int = 0) -> np.ndarray:
    """Draw an autoregressive series of mean 0."""
    noise = np.random.default_rng(seed).normal(size=count)
    for i in range(1, count):
        noise[i] += correlation * noise[i - 1]
    return noise - noise.mean()


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.8])
def test_independent_batches_of_a_known_series(correlation: float) -> None:
    """An autoregressive series of n values counts as n·(1 - r)/(1 + r)."""
    found = [experiment.independent_batches(series(correlation, seed=s)) for s in range(60)]
    expected = experiment.BATCHES * (1 - correlation) / (1 + correlation)
    assert np.median(found) == pytest.approx(expected, rel=0.2)


def test_what_an_interval_needs() -> None:
    residuals = series(0.0)
    assert experiment.interval(residuals, 1.0).half_width == pytest.approx(
        1.96 / experiment.BATCHES**0.5, rel=0.6
    )
    assert (
        experiment.interval(residuals, 1.0, observations=experiment.ENOUGH - 1).half_width is None
    )
    assert experiment.interval(residuals[:-1], 1.0).half_width is None
    assert experiment.interval(series(0.99), 1.0).half_width is None
    assert experiment.interval(np.zeros(experiment.BATCHES), 1.0).half_width == 0.0
    assert all(experiment.BATCHES % batches == 0 for batches in experiment.T_QUANTILES)


def test_observations_are_those_of_an_mm1_in_heavy_traffic() -> None:
    """The integrated autocorrelation time of an M/M/1's sojourn times is known."""
    for load in (0.9, 0.95, 0.99):
        exact = load * (load**3 - 4 * load**2 + 5 * load + 2) / (1 - load) ** 2
        found = experiment.observations(single(load), 1000 / load)
        assert found == pytest.approx(1000 / exact, rel=0.12)
    assert experiment.observations(at_load(8, 0.5), 100.0, load=1.2) == 0.0
    assert experiment.observations(at_load(8, 0.5), 100.0, load=0.9) < experiment.observations(
        at_load(8, 0.5), 100.0
    )
