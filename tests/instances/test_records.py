"""Records of dssp, epoch and hesrpt: what they compute, and what they refuse."""

import pickle
from typing import Any

import pytest
from builders.epoch import packing, shares
from builders.hesrpt import speedups, tables
from hypothesis import given
from hypothesis import strategies as st

import schedopt
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.dssp.jobs import banded_reward, linear, size
from schedopt.instances.epoch import Epoch, Partitioned, even_shares, fits, partitioned


def job(name: str, *stages: tuple[float, ...], **more: object) -> Job:
    return Job(name=name, reward=1.0, stages=stages or ((1.0,),), **more)  # type: ignore[arg-type]


def night(*jobs: Job, processors: int = 2, deadline: float = 10.0, **more: object) -> Instance:
    return Instance(name="n", processors=processors, deadline=deadline, jobs=jobs, **more)  # type: ignore[arg-type]


def test_instance_room_is_exact_for_integers() -> None:
    whole = night(job("a", (3.0,)), processors=1, deadline=10.0)
    assert whole.room() == 10.0
    assert whole.room(0.35) == 3.0  # 0.35 * 10 = 3.5, and no whole demand lies between
    broken = night(job("a", (0.5,)), processors=1, deadline=10.0)
    assert broken.room() == pytest.approx(10.0, abs=1e-7)


# --- rewards of section 5.1 --------------------------------------------------------------------


LINEAR = [(0, 500), (120, 380), (500, 0), (777, 0)]
BANDED = [(0, 1e5), (99, 1e5), (100, 1e3), (199.5, 1e3), (200, 10), (299, 10), (300, 1), (499, 1)]


def test_reward_functions_of_priorities_and_sizes() -> None:
    assert [linear(priority, 3.0) for priority, _ in LINEAR] == [reward for _, reward in LINEAR]
    assert [banded_reward(priority, 3.0) for priority, _ in BANDED] == [
        reward for _, reward in BANDED
    ]
    assert size(0.0, 17.5) == 17.5


@given(st.integers(1, 14), st.lists(st.integers(1, 14), min_size=1, max_size=5), st.integers(0, 6))
def test_epoch_fits_equals_brute_force(nodes: int, minima: list[int], inequity: int) -> None:
    able = next(shares(minima, nodes, inequity), None) is not None
    assert fits(minima, nodes, inequity) is able
    if not able:
        with pytest.raises(ValueError, match="do not fit"):
            even_shares(minima, nodes, inequity)
        return
    given_ = even_shares(minima, nodes, inequity)
    assert sum(given_) == nodes
    assert max(given_) - min(given_) <= inequity
    assert all(a >= m for a, m in zip(given_, minima, strict=True))
    assert not fits([], nodes, inequity)


def test_epoch_objective_counts_reallocations() -> None:
    instance = packing([3, 2, 8], 8, 1)
    solution = partitioned(instance, [[2], [0, 1]])
    assert solution == Partitioned(
        epochs=(
            Epoch(duration=1 / 3, nodes={"j3": 8}),
            Epoch(duration=2 / 3, nodes={"j1": 4, "j2": 4}),
        )
    )
    assert instance.objective_of(solution) == 16.0


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
