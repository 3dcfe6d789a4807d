"""Rules of queues: what the decorator promises, and the handover of Quickswap's authors."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from builders.msfq import at_load, of_classes, one_or_all

from schedopt import evaluate
from schedopt.instances.errors import InputError
from schedopt.policies import registry
from schedopt.policies.msfq import FlatState, Job, State, admission_rule
from schedopt.policies.msfq import registration as registering
from schedopt.policies.msfq.registration import ARRIVALS, plan
from schedopt.policies.msfq.simulation import simulate

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
    assert found.solution.arrivals == ARRIVALS.plain
    assert f"in plain Python, {ARRIVALS.plain:,} arrivals" in str(found.message)
    assert "plain Python" in registry.registered("msfq")["mine"].summary
    compiled = plan(QUEUE, "first-fit")
    same = simulate(QUEUE, compiled, arrivals=ARRIVALS.plain, seed=3)
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


def test_admission_rule_sees_running_jobs() -> None:
    times: list[tuple[float, float]] = []

    def watching(state: State) -> int | None:
        times.extend((running.start, state.now) for running in state.in_service)
        used = sum(running.job.need for running in state.in_service)
        assert used == state.servers - state.free
        return next(iter(state.fitting()), None)

    register(watching)
    evaluate(QUEUE, "mine", options={"arrivals": 1000})
    assert times
    assert all(start <= now for start, now in times)


@pytest.mark.parametrize(
    ("choice", "says"),
    [
        *[(5, "found 5"), (-1, "found -1"), (True, "found true"), ("a", "found 'a'")],
        (lambda state: next(iter(state.queued()), None), "waits and fits"),  # it does not fit
        (
            lambda state, kept=[]: kept.extend(state.jobs) or next(iter(kept), None),
            "waits and fits",
        ),
    ],
    ids=range(6),
)
def test_admission_rule_with_a_wrong_choice_is_refused(choice: Any, says: str) -> None:
    register(choice if callable(choice) else lambda state: choice)
    with pytest.raises(InputError, match=says) as caught:
        evaluate(QUEUE, "mine")
    assert "admission rule mine" in str(caught.value)


def test_admission_rule_that_fails_names_its_line() -> None:
    def failing(state: State) -> int | None:
        return state.needs[len(state.needs)]

    register(failing)
    with pytest.raises(InputError, match=r"IndexError.* in line \d+ of .*test_msfq_rules"):
        evaluate(QUEUE, "mine")


def test_flat_admission_rule_with_a_wrong_choice_is_refused() -> None:
    register(always_the_second, flat=True)
    with pytest.raises(InputError, match="admission rule mine: found 1"):
        evaluate(QUEUE, "mine", options={"arrivals": 1000})


def always_the_second(state: FlatState, free: int) -> int:
    return 1


def test_run_with_a_class_never_served_is_unstable() -> None:
    register(lambda state: 0 if state.waiting[0] and state.free else None)
    found = evaluate(THREE, "mine")
    assert found.termination == "unstable"
    assert found.objective is None
    assert "need 2 has waited" in str(found.message)


def test_run_of_a_trace_that_leaves_jobs_waiting_is_unstable(tmp_path: Any) -> None:
    register(lambda state: 0 if state.waiting[0] and state.free else None)
    (tmp_path / "t.csv").write_text("time,need,size\n0,1,2\n0,2,2\n1,1,3\n")
    found = evaluate(one_or_all(2), "mine", options={"trace": str(tmp_path / "t.csv")})
    assert found.termination == "unstable"
    assert "need 2 has waited" in str(found.message)


def test_evaluate_has_no_objective_if_the_run_is_too_short() -> None:
    queue = at_load(64, 0.99, p1=0.999)
    found = [evaluate(queue, "msf", options={"arrivals": 1000}, seed=s) for s in range(8)]
    refused = [f for f in found if f.objective is None]
    assert refused
    assert all("the run is too short" in str(f.message) for f in refused)
    assert {f.termination for f in refused} == {"not-applicable"}
