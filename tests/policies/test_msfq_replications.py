"""Replications and intervals: one answer on any number of cores, held as often as claimed."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from builders.cli import invoked
from builders.msfq import at_load, of_classes, one_or_all

from schedopt import bench, check, evaluate
from schedopt.instances.errors import InputError
from schedopt.instances.files import encode
from schedopt.instances.msfq import Hyperexponential, Instance, Simulated
from schedopt.instances.options import split
from schedopt.policies.msfq import simulation
from schedopt.policies.msfq.evaluation import evaluate_plan
from schedopt.policies.msfq.experiment import Measured
from schedopt.policies.msfq.intervals import (
    BATCHES,
    ENOUGH,
    T_QUANTILES,
    independent_batches,
    interval,
    observations,
)
from schedopt.policies.msfq.registration import plan
from schedopt.policies.msfq.replications import USUAL, default_replications, pool, replicate
from schedopt.policies.msfq.simulation import simulate
from schedopt.policies.msfq.summary import summarize
from schedopt.terminal.results import results as show

PAIR = one_or_all(8, 2.5, 0.3)
SIZED = msgspec.structs.replace(
    PAIR,
    classes=(
        PAIR.classes[0],
        msgspec.structs.replace(PAIR.classes[1], sizes=Hyperexponential(scv=3.0)),
    ),
)


def same(one: Measured, other: Measured) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("queue", [PAIR, SIZED], ids=["exponential", "sized"])
@pytest.mark.parametrize("replications", [5, 7])
def test_any_number_of_cores_gives_the_same_answer(queue: Instance, replications: int) -> None:
    found = [
        evaluate_plan(
            queue, plan(queue, "msfq"), seed=3, arrivals=70_001, replications=replications, jobs=n
        )
        for n in (1, 2, 4)
    ]
    assert encode(found[0]) == encode(found[1]) == encode(found[2])
    assert found[0].replications == replications
    assert found[0].arrivals == 70_001


def test_replications_are_runs_with_streams_of_their_own_put_together() -> None:
    chosen = plan(PAIR, "first-fit")
    runs = replicate(PAIR, chosen, arrivals=30_002, replications=3, seed=5, jobs=2)
    alone = [
        simulate(PAIR, chosen, arrivals=n, seed=5, replication=r)
        for r, n in enumerate((10_000, 10_001, 10_001))
    ]
    assert all(same(one, other) for one, other in zip(runs.done, alone, strict=True))
    assert same(alone[0], simulate(PAIR, chosen, arrivals=10_000, seed=5))
    assert not np.array_equal(alone[1].sums, alone[2].sums)
    together = pool(runs.done)
    assert together.sums.shape == alone[0].sums.shape
    assert together.counts.sum() == sum(part.counts.sum() for part in alone)
    assert np.allclose(together.sums.sum(axis=0), sum(part.sums.sum(axis=0) for part in alone))
    assert together.time == pytest.approx(sum(part.time for part in alone))


@pytest.mark.parametrize(
    ("name", "common"),
    [("msfq", False), ("adaptive-quickswap", False), ("adaptive-quickswap", True)],
)
def test_pauses_change_nothing(monkeypatch: pytest.MonkeyPatch, name: str, common: bool) -> None:
    chosen = plan(PAIR, name)
    whole = simulate(PAIR, chosen, arrivals=20_000, seed=1, common=common)
    monkeypatch.setattr(simulation, "SLICE", 700)
    heard: list[int] = []
    paused = simulate(PAIR, chosen, arrivals=20_000, seed=1, common=common, pace=heard.append)
    assert same(whole, paused)
    assert len(heard) > 10
    assert heard == sorted(heard)
    assert heard[-1] == 20_000


def test_plain_runs_tell_how_far_they_are() -> None:
    heard: list[int] = []
    simulate(PAIR, plan(PAIR, "msfq"), arrivals=2_000, seed=1, plainly=True, pace=heard.append)
    assert heard == sorted(heard)
    assert len(heard) > 5


def interrupted(after: int, jobs: int) -> Any:
    """Run with a watch that interrupts once so many jobs have come."""

    def watch(done: int, total: int) -> None:
        if done >= after:
            raise KeyboardInterrupt

    return evaluate(
        PAIR, "msfq", options={"arrivals": 4_000_000, "replications": 8}, jobs=jobs, watch=watch
    )


def test_an_interrupt_keeps_the_replications_that_are_done() -> None:
    found = interrupted(1_600_000, 1)
    assert (found.termination, found.solution_status) == ("interrupted", "feasible")
    solution = found.solution
    assert isinstance(solution, Simulated)
    assert (solution.replications, solution.arrivals) == (3, 1_500_000)
    assert "interrupted: 3 of 8 replications" in str(found.message)
    assert not found.violations
    whole = evaluate_plan(PAIR, plan(PAIR, "msfq"), seed=0, arrivals=1_500_000, replications=3)
    assert solution.mean_response_time == whole.mean_response_time


def test_an_interrupt_before_any_is_done_leaves_nothing() -> None:
    result = interrupted(1, 1)
    assert (result.termination, result.solution_status) == ("interrupted", "none")


def test_an_interrupt_reaches_the_threads() -> None:
    chosen = plan(PAIR, "msfq")

    def watch(done: int, total: int) -> None:
        if done >= 3_000_000:
            raise KeyboardInterrupt

    found = replicate(PAIR, chosen, arrivals=10**9, replications=5_000, jobs=2, watch=watch)
    assert 0 < len(found.done) < 5_000
    assert found.arrivals == 200_000 * len(found.done)


def test_a_short_run_is_not_split_and_a_queue_near_saturation_hardly() -> None:
    chosen = plan(PAIR, "msfq")
    assert default_replications(PAIR, chosen, 9_999_999) == 1
    assert default_replications(PAIR, chosen, 10_000_000) == USUAL
    near = PAIR.scaled(0.9995 * PAIR.arrival_rate / PAIR.load)
    assert default_replications(near, plan(near, "msfq"), 10_000_000) == 1
    counts = [default_replications(near, plan(near, "msfq"), 10**n) for n in range(7, 12)]
    assert counts == sorted(counts)
    assert counts[-1] == USUAL


def test_replications_too_short_to_forget_their_start_have_no_interval() -> None:
    near = PAIR.scaled(0.95 * PAIR.arrival_rate / PAIR.load)
    found = evaluate_plan(near, plan(near, "msfq"), seed=0, arrivals=300_000, replications=100)
    assert found.confidence is None
    assert "too short replications" in str(found.note)


def test_the_checker_bounds_what_replications_may_excuse() -> None:
    result = evaluate(PAIR, "msfq", options={"arrivals": 50_000, "replications": 20})
    assert result.checked
    assert not result.violations
    for forged in (0, 1001):
        document = result.document()
        solution = msgspec.to_builtins(document.solution) | {"replications": forged}
        report = check(PAIR, msgspec.structs.replace(document, solution=solution))
        assert any("replications" in violation for violation in report.violations)


@pytest.mark.parametrize(
    ("options", "jobs", "word"),
    [
        ({"replications": 0}, 1, "replications"),
        ({"replications": 11, "arrivals": 10_000}, 1, "at most 10"),
        ({"replications": 2, "trace": "no.csv"}, 1, "one run"),
        ({}, 0, "jobs"),
        ({}, 100_000, "jobs"),
    ],
)
def test_what_cannot_be_split_so_is_said(options: dict[str, Any], jobs: int, word: str) -> None:
    with pytest.raises(InputError, match=word):
        evaluate(PAIR, "msfq", options=options, jobs=jobs)


def test_one_run_on_two_cores_from_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "pair.json"
    file.write_bytes(encode(PAIR))
    options = ("--option", "arrivals=2e4", "--option", "replications=4", "--json")
    documents = [
        msgspec.json.decode(invoked("evaluate", file, "--policy", "msfq", *options, "--jobs", n))
        for n in (1, 2)
    ]
    for document in documents:
        document["seconds"] = None
    assert documents[0] == documents[1]
    assert documents[0]["solution"]["replications"] == 4
    assert documents[0]["solution"]["arrivals"] == 20_000


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


def test_an_interrupted_run_is_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "pair.json"
    file.write_bytes(encode(PAIR))

    def stopped(*what: Any, **how: Any) -> Measured:
        if how.get("replication") == 2:
            raise KeyboardInterrupt
        return simulate(*what, **how)

    monkeypatch.setattr("schedopt.policies.msfq.replications.simulate", stopped)
    options = {"arrivals": 10_000, "replications": 4}
    kept = evaluate(PAIR, "msfq", options=options)
    assert (kept.termination, kept.solution.replications) == ("interrupted", 2)
    with pytest.raises(KeyboardInterrupt):
        bench([file], policies=["msfq"], options=options)


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
    often, rare = evaluate(queue, "msf", options={"arrivals": 100_000}).solution.classes
    assert often.confidence > 0
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
    assert all(BATCHES % batches == 0 for batches in T_QUANTILES)


def test_observations_are_those_of_an_mm1_in_heavy_traffic() -> None:
    """The integrated autocorrelation time of an M/M/1's sojourn times is known."""
    for load in (0.9, 0.95, 0.99):
        exact = load * (load**3 - 4 * load**2 + 5 * load + 2) / (1 - load) ** 2
        found = observations(single(load), 1000 / load)
        assert found == pytest.approx(1000 / exact, rel=0.12)
    assert observations(at_load(8, 0.5), 100.0, load=1.2) == 0.0
    assert observations(at_load(8, 0.5), 100.0, load=0.9) < observations(at_load(8, 0.5), 100.0)
