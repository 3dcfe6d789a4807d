"""The dispatch simulator: against a second one, and against what every schedule must keep."""

from collections.abc import Sequence
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from judge.dispatched import simulate_plainly
from judge.nights import drawn

from schedopt import evaluate
from schedopt.instances import files
from schedopt.instances.constraints import Seats
from schedopt.instances.dssp import Instance, Job
from schedopt.policies.dssp import dispatchers
from schedopt.policies.dssp.dispatch import simulate
from schedopt.solvers import compiling

DISPATCHERS = tuple(dispatchers.KEYS)
LENGTHS = st.one_of(
    st.integers(0, 4).map(float),
    st.sampled_from([0.1, 0.2, 0.3, 1e-9, 1e9]),
    st.floats(0, 10, allow_nan=False),
)
STAGES = st.lists(st.lists(LENGTHS, min_size=1, max_size=5), min_size=1, max_size=4)


def night(
    jobs: Sequence[Sequence[Sequence[float]]], processors: int, deadline: float = 10.0
) -> Instance:
    """Build an instance of unit rewards from the stages of its jobs."""
    return Instance(
        name="small",
        processors=processors,
        deadline=deadline,
        jobs=tuple(
            Job(name=f"j{i}", reward=1, stages=tuple(map(tuple, stages)), priority=(i * 7) % 3)
            for i, stages in enumerate(jobs)
        ),
    )


def expect_alike(instance: Instance, run: np.ndarray, compiled: bool) -> None:
    for name in DISPATCHERS:
        key = dispatchers.KEYS[name]
        luck = {"draws": key(instance, 3)} if name == "random" else {"keys": key(instance)}
        with patch.object(compiling, "COMPILES", compiled):
            ours = simulate(instance, run, **luck)
        plain = simulate_plainly(instance, run, **luck)
        np.testing.assert_array_equal(ours.starts, plain.starts)
        np.testing.assert_array_equal(ours.completion, plain.completion)
        short = instance.tasks.lengths > 0
        if (plain.starts + instance.tasks.lengths > plain.starts)[
            short & ~np.isnan(plain.starts)
        ].all():
            assert ours.processors(instance) == plain.processors


@pytest.mark.parametrize("compiled", [False, True])
@given(seed=st.integers(0, 10_000))
def test_simulate_equals_the_oracle_on_changing_machines(compiled: bool, seed: int) -> None:
    instance = files.parse(drawn(seed, most=30))
    some = np.flatnonzero(np.random.default_rng(seed).random(len(instance.jobs)) < 0.9)
    expect_alike(instance, some, compiled)


def test_edf_and_least_slack_equal_hand_calculations() -> None:
    jobs = (
        Job(name="a", reward=1, stages=((2.0,),), deadline=9),
        Job(name="b", reward=1, stages=((5.0,),), deadline=10),
        Job(name="c", reward=1, stages=((1.0,), (1.0,)), release=1.0, deadline=4),
    )
    instance = Instance(name="p", processors=1, deadline=10, jobs=jobs)
    edf = evaluate(instance, "edf")
    assert edf.solution.completion == {"a": 2.0, "b": 9.0, "c": 4.0}
    assert edf.objective == 3
    assert evaluate(instance, "least-slack").solution.completion == {"a": 9.0, "b": 5.0, "c": 7.0}
    assert evaluate(instance, "least-slack").objective == 2  # c was not there when b started


def test_dispatch_passes_over_a_task_without_a_seat() -> None:
    jobs = tuple(Job(name=n, reward=1, stages=((3.0, 3.0),)) for n in "abc")
    seats = Seats(capacity=1, use={"a": 1, "b": 2})
    instance = Instance(name="p", processors=2, deadline=10, jobs=jobs, constraints=(seats,))
    found = evaluate(instance, "first")
    assert found.solution.selected == ("a", "c")  # b holds more than there are
    assert found.solution.completion == {"a": 6.0, "c": 6.0}
    assert not found.violations
    loose = Instance(name="p", processors=2, deadline=10, jobs=jobs)
    assert evaluate(loose, "first").solution.completion == {"a": 3.0, "b": 6.0, "c": 9.0}
    given = evaluate(loose, "first", constraints=[seats])
    assert given.solution.completion == found.solution.completion
    assert not given.violations
    assert not evaluate(loose, "greedy+first", constraints=[seats]).violations


@given(jobs=st.lists(STAGES, min_size=1, max_size=6), processors=st.integers(1, 5))
def test_guaranteed_fill_completes_the_selection(
    jobs: list[list[list[float]]], processors: int
) -> None:
    """Theorem 4, for any non-delay dispatcher."""
    instance = night(jobs, processors)
    for name in DISPATCHERS:
        result = evaluate(instance, f"greedy+{name}", options={"fill": "guaranteed"})
        assert result.objective == len(result.solution.selected)


@given(jobs=st.lists(STAGES, min_size=1, max_size=6), processors=st.integers(1, 4))
def test_maxk_takes_all_that_fit_in_order(jobs: list[list[list[float]]], processors: int) -> None:
    instance = night(jobs, processors)
    for name in ("lcpf", "random", "stcpu"):
        result = evaluate(instance, f"maxk+{name}", seed=5)
        chosen = result.solution.selected
        assert result.objective == len(chosen)
        able = [j for j in instance.jobs if sum(map(max, j.stages or ())) <= instance.deadline]
        by_demand = sorted(able, key=lambda j: sum(map(sum, j.stages or ())))
        if len(chosen) < len(by_demand):
            more = np.array(sorted(instance.index[j.name] for j in by_demand[: len(chosen) + 1]))
            played = dispatchers.simulate_dispatcher(instance, name, more, 5)
            if {j.name for j in by_demand[: len(chosen)]} == set(chosen):
                assert np.nanmax(played.completion) > instance.deadline
