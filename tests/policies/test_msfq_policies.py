"""Queueing policies: the compiled simulator against its definition, intervals, what is known."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from builders.msfq import at_load, of_classes, one_or_all

from schedopt import evaluate
from schedopt.instances.errors import InputError
from schedopt.instances.msfq import Deterministic, Hyperexponential, Instance, JobClass
from schedopt.instances.msfq.generators import GENERATORS
from schedopt.policies.msfq import experiment
from schedopt.policies.msfq.registration import plan
from schedopt.policies.msfq.simulation import simulate
from schedopt.policies.msfq.stability import require_stable
from schedopt.policies.msfq.summary import summarize
from schedopt.policies.registry import UnstableError
from schedopt.terminal.results import results as show

SEVERAL = GENERATORS["multi-class"](2, k=12, classes=4, load=0.85)
ODD = of_classes(7, (3, 0.5), (1, 1.5), (5, 0.25), (2, 0.4))


def mm1(load: float, square: float) -> float:
    """Pollaczek and Khinchine's mean response time at unit size."""
    return 1 + load * square / (2 * (1 - load))


@pytest.mark.parametrize("shape", [Deterministic(), Hyperexponential(scv=3.0)])
def test_simulate_of_one_class_is_an_mg1(shape: Any) -> None:
    job = JobClass(need=5, arrival_rate=0.6, service_rate=1.0, sizes=shape)
    queue = Instance(name="mg1", servers=5, classes=(job,))
    found = evaluate(queue, "fcfs", options={"arrivals": 1_000_000}, seed=3)
    assert isinstance(found.confidence, float)
    exact = mm1(0.6, shape.second_moment)
    assert abs((found.objective or 0) - exact) < 2 * found.confidence
    assert found.solution.utilization == pytest.approx(0.6, rel=0.02)


def test_simulate_percentiles_of_an_mm1() -> None:
    found = evaluate(of_classes(1, (1, 0.5)), "msf", options={"arrivals": 4_000_000})
    for p, value in found.solution.classes[0].percentiles.items():
        assert value == pytest.approx(-np.log(1 - int(p) / 100) / 0.5, rel=0.03)


@pytest.mark.parametrize(
    ("name", "queue", "says"),
    [
        ("msfq", one_or_all(2, 1.5, 0.5), "need 1: 0.75, need 2: 0.5"),
        ("fcfs", at_load(32, 0.9), "under fcfs"),
        ("static-quickswap", ODD.scaled(3.5), "static-quickswap"),
    ],
)
def test_evaluate_reports_unstable_queues(name: str, queue: Instance, says: str) -> None:
    with pytest.raises(UnstableError, match=says):
        require_stable(queue, name)
    result = evaluate(queue, name)
    assert result.termination == "unstable"
    assert result.objective is None
    assert not result.violations


def test_evaluate_notices_a_growing_queue() -> None:
    spread = tuple(msgspec.structs.replace(job, sizes=Deterministic()) for job in ODD.classes)
    queue = msgspec.structs.replace(ODD, classes=spread)
    queue = queue.scaled(0.97 * ODD.arrival_rate / ODD.load)
    result = evaluate(queue, "fcfs", options={"arrivals": 300_000})
    assert result.termination == "unstable"
    assert "kept growing" in str(result.message)


def test_simulate_memory_does_not_grow_with_arrivals() -> None:
    import tracemalloc

    queue, peaks = at_load(8, 0.5), []
    for arrivals in (600_000, 3_000_000):
        tracemalloc.start()
        simulate(queue, plan(queue, "msfq", threshold=4), arrivals=arrivals)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


def test_evaluate_plays_a_trace(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("time,need,size\n0,1,2\n0,1,2\n1,2,3\n1,1,1\n")
    queue = one_or_all(2)
    found = evaluate(queue, "fcfs", options={"trace": str(tmp_path / "t.csv")})
    # The large job starts at 2, ends at 5; the last small one follows.
    assert found.solution.classes[0].mean_response_time == pytest.approx((2 + 2 + 5) / 3)
    assert found.solution.classes[1].mean_response_time == pytest.approx(4)
    assert found.objective == pytest.approx(13 / 4)
    assert not found.violations


def test_simulate_samples_numbers_and_phases() -> None:
    queue = at_load(8, 0.9)
    played = simulate(
        queue, plan(queue, "msfq", threshold=4), arrivals=50_000, grid=np.arange(100, 1000, 1.0)
    )
    assert played.samples.shape == (900, 2)
    assert played.samples.sum() > 0
    assert played.phases[0].sum() == pytest.approx(played.time, rel=1e-9)
    assert (played.phases[1, 1:] > 0).all()


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("msfq", {"threshold": 8}, "from 0 to 7"),
        ("static-quickswap", {"threshold": "1,2,3"}, "one for each class"),
        ("static-quickswap", {"order": "1,2"}, "the needs 1, 8"),
        ("nmsr", {"cycle_rate": 0}, "above 0"),
    ],
)
def test_evaluate_refuses_bad_options_of_queues(
    name: str, options: dict[str, Any], says: str
) -> None:
    with pytest.raises(InputError, match=says):
        evaluate(at_load(8, 0.5), name, options=options)


PAIR = one_or_all(8, 2.5, 0.3)


@pytest.mark.parametrize("name", ["msfq", "adaptive-quickswap", "nmsr"])
def test_simulate_in_chunks_finds_the_known_mean(name: str) -> None:
    chosen, means = plan(PAIR, name), []
    for chunk in (700, 400_000):
        counters = simulate(PAIR, chosen, arrivals=400_000, seed=1, chunk=chunk)
        means.append(summarize(PAIR, counters, 400_000))
    a, b = means
    assert isinstance(a.confidence, float)
    assert isinstance(b.confidence, float)
    both = float(np.hypot(a.confidence, b.confidence))
    assert abs(a.mean_response_time - b.mean_response_time) < 2 * both


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


@pytest.mark.parametrize("load", [0.8, 0.95])
def test_confidence_intervals_cover_the_known_mean(load: float) -> None:
    """Forty batches and no more thought covered 84% at load 0.95."""
    given, share, width = coverage(load, range(120))
    assert given > 100
    assert share >= 0.9
    assert width < 0.5


def test_evaluate_reports_a_run_too_short_for_an_interval(
    capsys: pytest.CaptureFixture[str],
) -> None:
    queue = single(0.99)
    found = evaluate(queue, "fcfs", options={"arrivals": 100_000})
    assert found.objective is not None
    assert found.confidence is None
    assert "too short for a confidence interval" in str(found.message)
    assert not found.violations
    show(queue, [found])
    assert "run is too short" in capsys.readouterr().out
    assert all(time.confidence is None for time in found.solution.classes)
    long = evaluate(queue, "fcfs", options={"arrivals": 20_000_000})
    assert isinstance(long.confidence, float)
    assert abs((long.objective or 0.0) - 100.0) < 2 * long.confidence
    assert not long.message


def test_evaluate_gives_a_rare_class_no_interval() -> None:
    queue = of_classes(4, (1, 1.0), (2, 0.0002))
    often, rare = evaluate(queue, "msf", options={"arrivals": 100_000}).solution.classes
    assert often.confidence > 0
    assert 0 < rare.jobs < experiment.DEFAULTS.enough
    assert rare.confidence is None
