"""FCFS solved: against closed forms, a truncated chain and simulation, and up to its limit."""

from math import factorial
from typing import Any

import msgspec
import pytest
from builders.effort import examples
from builders.msfq import of_classes, one_or_all
from hypothesis import given, settings
from hypothesis import strategies as st

from schedopt import bench, check, evaluate
from schedopt.instances.msfq import Expected, Instance, Simulated
from schedopt.instances.msfq.sizes import Deterministic
from schedopt.policies.msfq.stability import region
from schedopt.solvers.msfq.fcfs import TooManyPhasesError, fcfs, saturated_rate
from schedopt.validation.msfq import first_come
from schedopt.validation.msfq.first_come import response_times

RATES = st.floats(0.1, 10.0)


def at(queue: Instance, load: float) -> Instance:
    """Return the same mix at a part of what FCFS stands."""
    return queue.scaled(load * saturated_rate(queue))


@st.composite
def queues(draw: Any) -> Instance:
    servers = draw(st.integers(1, 7))
    needs = draw(st.lists(st.integers(1, servers), min_size=1, max_size=3, unique=True))
    return of_classes(servers, *((need, draw(RATES), draw(RATES)) for need in needs))


@given(queues(), st.floats(0.05, 0.9))
@settings(max_examples=examples(40), deadline=None)
def test_equals_a_truncated_chain(queue: Instance, load: float) -> None:
    queue = at(queue, load)
    ours = response_times(queue)
    assert ours is not None
    assert fcfs(queue).times == pytest.approx(ours, rel=1e-9)
    assert first_come.saturated_rate(queue) == pytest.approx(saturated_rate(queue), rel=1e-10)


@pytest.mark.parametrize("unit", [1e-4, 1e4])
def test_the_chain_settles_in_any_unit_of_time(unit: float) -> None:
    here, there = (
        response_times(of_classes(4, (1, 1.6 * u, u), (4, 0.3 * u, u))) for u in (1.0, 1.0 / unit)
    )
    assert there == pytest.approx(unit * here, rel=1e-9)  # type: ignore[operator]


@pytest.mark.parametrize("load", [0.3, 0.9, 0.999, 0.999999])
@pytest.mark.parametrize(("servers", "need"), [(1, 1), (8, 1), (9, 4)])
def test_one_class_is_an_mmk_queue(servers: int, need: int, load: float) -> None:
    k = servers // need
    queue = of_classes(servers, (need, load * k, 1.0))
    offered = load * k
    waits = offered**k / factorial(k) / (1 - load)
    waits /= waits + sum(offered**i / factorial(i) for i in range(k))
    assert fcfs(queue).times == pytest.approx([1 + waits / (k - offered)], rel=1e-9)


@pytest.mark.parametrize(
    "queue",
    [
        at(one_or_all(8, 3.0, 0.5), 0.8),
        at(of_classes(10, (2, 1.0, 1.0), (7, 0.5, 2.0)), 0.8),
        at(of_classes(15, (1, 2.0, 1.0), (3, 0.8, 1.0), (5, 0.3, 1.0), (15, 0.05, 1.0)), 0.7),
    ],
    ids=["one-or-all", "two needs", "four needs"],
)
def test_simulation_agrees(queue: Instance) -> None:
    run = evaluate(queue, "fcfs", options={"arrivals": 500_000}, seed=2).solution
    assert isinstance(run, Simulated)
    for seen, time in zip(run.classes, fcfs(queue).times, strict=True):
        assert abs(seen.mean_response_time - time) < 2.5 * seen.confidence  # type: ignore[operator]


def test_the_saturated_system_is_the_papers_formula() -> None:
    for k in (2, 5, 32):
        queue = one_or_all(k, 3.0, 0.2)
        assert queue.arrival_rate / saturated_rate(queue) == pytest.approx(
            region(queue, "fcfs").load, rel=1e-12
        )


@pytest.mark.parametrize("need", [2, 3])
def test_the_limit_is_where_times_go_to_infinity(need: int) -> None:
    queue = of_classes(5, (1, 1.0, 1.0), (need, 1.0, 0.7))
    near = [fcfs(at(queue, 1 - gap)).times * gap for gap in (1e-5, 1e-6)]
    assert near[0] == pytest.approx(near[1], rel=1e-4)
    assert evaluate(at(queue, 1.0001), "fcfs").termination == "unstable"
    assert region(at(queue, 0.99), "fcfs").exact


def test_too_many_phases_are_simulated_unless_asked_for() -> None:
    wide = of_classes(400, *((n, 0.1, 1.0) for n in (1, 3, 5, 7, 11)))
    with pytest.raises(TooManyPhasesError, match="phases"):
        fcfs(wide)
    refused = evaluate(wide, "fcfs", options={"times": "exact"})
    assert refused.termination == "not-applicable"
    assert "phases" in str(refused.message)
    assert isinstance(evaluate(wide, "fcfs").solution, Simulated)


def test_evaluate_is_exact_unless_a_run_is_asked_for(tmp_path: Any) -> None:
    queue = at(one_or_all(4, 1.0, 0.2), 0.6)
    found = evaluate(queue, "fcfs")
    assert isinstance(found.solution, Expected)
    assert found.checked
    assert not found.confidence
    assert found.solution.limit == pytest.approx(saturated_rate(queue))
    for options in ({"arrivals": 20_000}, {"times": "simulated"}):
        assert isinstance(evaluate(queue, "fcfs", options=options).solution, Simulated)
    from schedopt.instances.files import dump

    dump(queue, tmp_path / "q.json")
    rows = bench(tmp_path / "q.json", policies=["fcfs"])
    assert rows[0].objective == found.objective
    assert rows[0].gap > 0
    assert rows[0].reference_proven


def test_the_checker_finds_what_is_tampered_with() -> None:
    queue = at(one_or_all(4, 1.0, 0.2), 0.6)
    document = evaluate(queue, "fcfs").document()
    assert check(queue, document).ok
    solution, more = document.solution, 1 + 1e-6
    slower = {
        **{
            name: solution[name] * more for name in ("mean_response_time", "weighted_response_time")
        },
        "classes": [
            {**job, "mean_response_time": job["mean_response_time"] * more}
            for job in solution["classes"]
        ],
    }
    limits = ({"limit": solution["limit"] * by} for by in (0.1, 1 - 1e-6, more, 2.0))
    for changed in ({"utilization": 0.9}, *limits, {"method": "guess"}, slower):
        told = {**solution, **changed}
        other = msgspec.structs.replace(
            document, solution=told, objective=told["mean_response_time"]
        )
        assert not check(queue, other).ok
    sized = msgspec.structs.replace(queue.classes[0], sizes=Deterministic())
    queue = msgspec.structs.replace(queue, classes=(sized, *queue.classes[1:]))
    assert "method: exact, and sizes are not exponential" in check(queue, document).violations
