"""Records of dssp, epoch and hesrpt: what they compute, and what they refuse."""

import pickle
from typing import Any

import numpy as np
import pytest
from builders.epoch import packing, shares
from builders.hesrpt import speedups, tables
from builders.refusals import refusal
from hypothesis import given
from hypothesis import strategies as st

import schedopt
from schedopt.instances.dssp import Instance, Job, placing
from schedopt.instances.dssp.jobs import REWARDS, banded_reward, linear, size
from schedopt.instances.epoch import Epoch, Partitioned, even_shares, fits, partitioned
from schedopt.instances.epoch.generators import GENERATORS


def job(name: str, *stages: tuple[float, ...], **more: object) -> Job:
    return Job(name=name, reward=1.0, stages=stages or ((1.0,),), **more)  # type: ignore[arg-type]


def night(*jobs: Job, processors: int = 2, deadline: float = 10.0, **more: object) -> Instance:
    return Instance(name="n", processors=processors, deadline=deadline, jobs=jobs, **more)  # type: ignore[arg-type]


def test_instance_arrays_and_groups_follow_its_jobs() -> None:
    fx, light = {"team": "fx"}, {"team": "light", "show": "s"}
    instance = night(job("a", (2.0, 3.0), (4.0,), groups=fx), job("b", (11.0,), groups=light))
    assert instance.rewards.tolist() == [1.0, 1.0]
    assert instance.demands.tolist() == [9.0, 11.0]
    assert instance.critical_paths.tolist() == [7.0, 11.0]
    assert instance.in_time.tolist() == [True, False]
    assert instance.index == {"a": 0, "b": 1}
    assert instance.capacity(0.5) == 10.0
    assert instance.groups == {"team": {"fx": [0], "light": [1]}, "show": {"s": [1]}}
    nothing = night()
    assert (nothing.demands.shape, nothing.guaranteed_fill(), nothing.groups) == ((0,), 1.0, {})


def test_instance_room_is_exact_for_integers() -> None:
    whole = night(job("a", (3.0,)), processors=1, deadline=10.0)
    assert whole.room() == 10.0
    assert whole.room(0.35) == 3.0  # 0.35 * 10 = 3.5, and no whole demand lies between
    broken = night(job("a", (0.5,)), processors=1, deadline=10.0)
    assert broken.room() == pytest.approx(10.0, abs=1e-7)


def test_guaranteed_fill_equals_theorem_4() -> None:
    instance = night(job("a", (4.0,)), job("late", (99.0,)), processors=4, deadline=10.0)
    assert instance.guaranteed_fill() == 1 - (1 - 1 / 4) * 4 / 10


@pytest.mark.parametrize("chosen", [[0], np.array([True, False])])
def test_selected_counts_shares_of_the_capacity(chosen: object) -> None:
    instance = night(
        job("a", (5.0,), groups={"team": "fx"}), job("b", (1.0,), groups={"team": "light"})
    )
    selected = placing.selected(instance, chosen)
    assert selected.selected == ("a",)
    assert (selected.demand, selected.capacity) == (5.0, 20.0)
    assert selected.shares == {"team": {"fx": 0.25, "light": 0.0}}


# --- rewards of section 5.1 --------------------------------------------------------------------


LINEAR = [(0, 500), (120, 380), (500, 0), (777, 0)]
BANDED = [(0, 1e5), (99, 1e5), (100, 1e3), (199.5, 1e3), (200, 10), (299, 10), (300, 1), (499, 1)]


def test_reward_functions_of_priorities_and_sizes() -> None:
    assert [linear(priority, 3.0) for priority, _ in LINEAR] == [reward for _, reward in LINEAR]
    assert [banded_reward(priority, 3.0) for priority, _ in BANDED] == [
        reward for _, reward in BANDED
    ]
    assert size(None, 17.5) == 17.5
    for name in ("linear", "banded"):
        assert "a priority for each job" in str(refusal(REWARDS[name], None, 1.0))


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


@pytest.mark.parametrize(("jobs", "load"), [(8, 1.0), (15, 2.0), (100, 1.0)])
@pytest.mark.parametrize("name", ["uniform", "binomial"])
def test_epoch_generators_have_the_mean_load(name: str, jobs: int, load: float) -> None:
    minima = [GENERATORS[name](seed, jobs=jobs, load=load).minima for seed in range(4000 // jobs)]
    mean = sum(m.sum() for m in minima) / sum(map(len, minima))
    assert mean == pytest.approx(128 * load / jobs, rel=0.05)
    assert max(m.max() for m in minima) <= max(1, 2 * 128 * load / jobs)


@pytest.mark.parametrize("inequity", range(7))
def test_epoch_planted_jobs_fill_their_epochs(inequity: int) -> None:
    instance = GENERATORS["planted"](5, nodes=24, epochs=6, inequity=inequity, most=8)
    assert instance.minima.sum() == 24 * 6
    assert str(24 * 6) in (instance.description or "")


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
