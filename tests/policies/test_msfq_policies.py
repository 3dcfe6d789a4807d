"""Queueing policies: the compiled simulator against its definition, intervals, what is known."""

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import pytest
from builders.msfq import at_load, of_classes

from schedopt import evaluate
from schedopt.instances.errors import InputError
from schedopt.instances.msfq import Empirical, Instance, JobClass
from schedopt.policies import registry
from schedopt.policies.msfq import Job, State, admission_rule
from schedopt.policies.msfq import registration as registering
from schedopt.policies.msfq.registration import PLAIN, plan
from schedopt.policies.msfq.simulation import simulate
from schedopt.policies.msfq.stability import require_stable
from schedopt.policies.msfq.summary import summarize
from schedopt.policies.registry import UnstableError

ODD = of_classes(7, (3, 0.5), (1, 1.5), (5, 0.25), (2, 0.4))


def test_simulate_of_one_class_is_an_mg1() -> None:
    sizes = Empirical(values=(1.0, 1.0, 1.0, 17.0))
    job = JobClass(need=5, arrival_rate=0.6, service_rate=1.0, sizes=sizes)
    queue = Instance(name="mg1", servers=5, classes=(job,))
    found = evaluate(queue, "fcfs", options={"arrivals": 300_000}, seed=3)
    assert isinstance(found.confidence, float)
    exact = 1 + 0.6 * sizes.second_moment / (2 * (1 - 0.6))  # Pollaczek and Khinchine
    assert abs((found.objective or 0) - exact) < 2 * found.confidence
    assert found.solution.utilization == pytest.approx(0.6, rel=0.02)


def test_simulate_percentiles_of_an_mm1() -> None:
    found = evaluate(of_classes(1, (1, 0.5)), "msf", options={"arrivals": 1_000_000})
    for p, value in found.solution.classes[0].percentiles.items():
        assert value == pytest.approx(-np.log(1 - int(p) / 100) / 0.5, rel=0.05)


@pytest.mark.parametrize(
    ("name", "queue", "says"),
    [
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
    spread = tuple(
        msgspec.structs.replace(job, sizes=Empirical(values=(1.0,))) for job in ODD.classes
    )
    queue = msgspec.structs.replace(ODD, classes=spread)
    queue = queue.scaled(0.97 * ODD.arrival_rate / ODD.load)
    result = evaluate(queue, "fcfs", options={"arrivals": 300_000})
    assert result.termination == "unstable"
    assert "kept growing" in str(result.message)


def single(load: float) -> Instance:
    """Return an M/M/1, whose mean response time is 1 / (1 - load)."""
    return of_classes(1, (1, load))


def test_confidence_intervals_cover_the_known_mean() -> None:
    """Forty batches and no more thought covered 84%. An interval that is withheld counts not."""
    queue, chosen = single(0.95), plan(single(0.95), "fcfs")
    held, widths = 0, []
    for seed in range(60):
        found = summarize(queue, simulate(queue, chosen, arrivals=100_000, seed=seed), 100_000)
        if found.confidence is not None:
            widths.append(found.confidence / 20.0)
            held += abs(found.mean_response_time - 20.0) <= found.confidence
    assert len(widths) > 50
    assert held / len(widths) >= 0.9
    assert sum(widths) / len(widths) < 0.5


def test_evaluate_reports_a_run_too_short_for_an_interval() -> None:
    found = evaluate(single(0.99), "fcfs", options={"arrivals": 100_000})
    assert found.objective is not None
    assert found.confidence is None
    assert "too short for a confidence interval" in str(found.message)
    assert not found.violations
    assert all(time.confidence is None for time in found.solution.classes)


# --- admission rules of users -------------------------------------------------------------------

QUEUE = at_load(8, 0.5)
THREE = of_classes(6, (1, 1.0), (2, 0.5), (6, 0.1))


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    """Take out again what a test has registered."""
    kept, policies = dict(registering._RULES), dict(registry.registered("msfq"))
    yield
    registering._RULES.clear()
    registering._RULES.update(kept)
    registry._POLICIES["msfq"] = policies


def first_fit_by_jobs(state: State) -> Job | None:
    return next((job for job in state.jobs if job.need <= state.free), None)


def register(rule: Any, name: str = "mine", *, flat: bool = False) -> None:
    admission_rule(name, source="a test", summary="a rule of a test", flat=flat)(rule)


def test_admission_rule_of_a_function_runs_in_plain_python() -> None:
    register(first_fit_by_jobs)
    found = evaluate(QUEUE, "mine", seed=3)
    assert found.checked
    assert not found.violations
    assert found.solution.arrivals == PLAIN
    assert f"in plain Python, {PLAIN:,} arrivals" in str(found.message)
    assert "plain Python" in registry.registered("msfq")["mine"].summary
    compiled = plan(QUEUE, "first-fit")
    same = simulate(QUEUE, compiled, arrivals=PLAIN, seed=3)
    theirs = same.sums.sum(axis=0) / same.counts.sum(axis=0)
    ours = [c.mean_response_time for c in found.solution.classes]
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_admission_rule_sees_sizes_only_if_asked() -> None:
    seen = []

    def shortest(state: State) -> Job | None:
        fitting = [job for job in state.jobs if job.need <= state.free]
        seen.extend(job.estimate for job in fitting)
        return min(fitting, key=lambda job: (job.estimate or 0.0, job.number), default=None)

    register(shortest)
    queue = at_load(2, 0.7, p1=0.5)
    blind = evaluate(queue, "mine", options={"arrivals": 5_000})
    assert set(seen) == {None}
    seen.clear()
    known = evaluate(queue, "mine", options={"arrivals": 5_000, "estimates": "exact"})
    assert min(seen) > 0
    assert known.objective < blind.objective
    with pytest.raises(InputError, match="none, or exact"):
        evaluate(queue, "mine", options={"estimates": "roughly"})


@pytest.mark.parametrize(
    ("choice", "says"),
    [
        *[(5, "found 5"), (True, "found true")],
        (lambda state: next(iter(state.queued()), None), "waits and fits"),  # it does not fit
        (
            lambda state, kept=[]: kept.extend(state.jobs) or next(iter(kept), None),
            "waits and fits",
        ),
    ],
    ids=range(4),
)
def test_admission_rule_with_a_wrong_choice_is_refused(choice: Any, says: str) -> None:
    register(choice if callable(choice) else lambda state: choice)
    with pytest.raises(InputError, match=says) as caught:
        evaluate(QUEUE, "mine")
    assert "admission rule mine" in str(caught.value)


def test_run_with_a_class_never_served_is_unstable() -> None:
    register(lambda state: 0 if state.waiting[0] and state.free else None)
    found = evaluate(THREE, "mine")
    assert found.termination == "unstable"
    assert found.objective is None
    assert "need 2 has waited" in str(found.message)
