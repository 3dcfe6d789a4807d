"""Records of dssp, epoch and hesrpt: what they compute, and what they refuse."""

import pickle
from typing import Any

import pytest
from builders.hesrpt import speedups, tables
from hypothesis import given
from hypothesis import strategies as st

import schedopt
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.dssp.jobs import banded_reward, linear, size


def night(*jobs: Job, processors: int = 2, deadline: float = 10.0, **more: object) -> Instance:
    return Instance(name="n", processors=processors, deadline=deadline, jobs=jobs, **more)  # type: ignore[arg-type]


# --- rewards of section 5.1 --------------------------------------------------------------------


LINEAR = [(0, 500), (120, 380), (500, 0), (777, 0)]
BANDED = [(0, 1e5), (99, 1e5), (100, 1e3), (199.5, 1e3), (200, 10), (299, 10), (300, 1), (499, 1)]


def test_reward_functions_of_priorities_and_sizes() -> None:
    assert [linear(priority, 3.0) for priority, _ in LINEAR] == [reward for _, reward in LINEAR]
    assert [banded_reward(priority, 3.0) for priority, _ in BANDED] == [
        reward for _, reward in BANDED
    ]
    assert size(0.0, 17.5) == 17.5


@given(st.one_of(speedups, tables), st.floats(0.01, 40), st.floats(0.01, 40))
def test_speedups_are_increasing_concave_and_invertible(kind: Any, a: float, b: float) -> None:
    low, high = kind.at(min(a, b)), kind.at(max(a, b))
    assert low <= high * (1 + 1e-12)
    assert kind.at((a + b) / 2) >= (low + high) / 2 * (1 - 1e-12)
    needed = float(kind.servers_for(low))
    assert needed <= min(a, b) * (1 + 1e-9)
    assert float(kind.at(needed)) == pytest.approx(float(low), rel=1e-9)
    assert float(kind.at(0.0)) == 0.0


@pytest.mark.parametrize("name", ["night", "teams", "fig7", "small", "twins"])
def test_results_and_instances_equal_their_pickles(name: str) -> None:
    instance = schedopt.example(name)
    result = schedopt.solve(instance, certificate=True)
    restored = pickle.loads(pickle.dumps(result))  # noqa: S301
    assert restored == result
    assert restored.document() == result.document()  # with the digest of the instance
    assert pickle.loads(pickle.dumps(instance)) == instance  # noqa: S301
