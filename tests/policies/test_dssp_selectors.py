"""Selectors: against all subsets, and their guarantees."""

from fractions import Fraction
from math import fsum
from typing import Any

import numpy as np
import pytest
from builders.effort import tried
from hypothesis import strategies as st

from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Instance, Job, Selected
from schedopt.policies.registry import NotApplicableError, registered
from schedopt.solvers.dssp.selection.knapsack.items import Items

GUARANTEE = {
    "greedy": 0.0,
    "greedy-half": 1 / 2,
    "greedy-three-quarters": 3 / 4,
    "dp-profits": 1.0,
    "fptas": 0.9,
    "core": 1.0,
}

wholes = st.integers(0, 12).map(float)
sixteenths = st.integers(0, 160).map(lambda k: k / 16)
reals = st.floats(0, 10, allow_nan=False, allow_subnormal=False)
spread = st.one_of(
    wholes, reals, st.sampled_from([1e-9, 1e12, 3e-9, 2e12, 1 / 3, 2 / 3, 0.1, 0.2, 0.3])
)
alike = st.sampled_from([(1.0, 2.0), (2.0, 4.0), (3.0, 6.0), (5.0, 10.0), (0.0, 1.0), (1.0, 0.0)])


def instance_of(jobs: list[tuple[float, float]], room: float, late: frozenset[int]) -> Instance:
    return Instance(
        name="small",
        processors=1,
        deadline=room,
        jobs=tuple(
            Job(
                name=f"j{j}",
                reward=reward,
                demand=demand,
                critical_path=2 * room if j in late else 0.0,
            )
            for j, (reward, demand) in enumerate(jobs)
        ),
    )


def instances(jobs: st.SearchStrategy[tuple[float, float]], most: int = 9) -> Any:
    return st.builds(
        instance_of,
        st.lists(jobs, max_size=most),
        st.one_of(st.integers(1, 40).map(float), st.floats(0.01, 40), st.just(1e12)),
        st.frozensets(st.integers(0, most), max_size=2),
    )


def optimum(instance: Instance, room: Fraction) -> float:
    """Return the best reward over all subsets that fit, in exact arithmetic where it matters."""
    jobs = np.flatnonzero(instance.in_time)
    rewards, demands = instance.rewards[jobs], instance.demands[jobs]
    exact = [as_written(demand) for demand in demands.tolist()]
    subsets = (np.arange(1 << jobs.size)[:, None] >> np.arange(jobs.size)) & 1
    sums, best = subsets @ demands, 0.0
    for subset in np.flatnonzero(sums <= float(room) * (1 + 1e-13)):
        members = subsets[subset] == 1
        if sum(exact[j] for j in np.flatnonzero(members)) <= room:
            best = max(best, fsum(rewards[members]))
    return best


def reward(instance: Instance, selection: Selected) -> float:
    return fsum(instance.rewards[instance.index[name]] for name in selection.selected)


def select(name: str, instance: Instance, **options: Any) -> Selected:
    selection: Selected = registered("dssp")[name].run(instance, **options)
    demands = [as_written(instance.demands[instance.index[job]]) for job in selection.selected]
    fill = options.get("fill", 1)
    r = instance.guaranteed_fill() if fill == "guaranteed" else fill
    assert sum(demands) <= instance.room(r)
    assert all(instance.in_time[instance.index[job]] for job in selection.selected)
    assert selection.capacity == instance.capacity(r)
    return selection


def holds_guarantees(instance: Instance, fill: float = 1) -> None:
    room = instance.room(fill)
    best = optimum(instance, room)
    # A set that fills the room to the last bit may count as too large where units are rounded.
    exact = Items.of(instance.rewards, instance.demands, float(room)).exact
    sure = best if exact else optimum(instance, room * (1 - Fraction(1, 10**14)))
    for name, share in GUARANTEE.items():
        try:
            got = reward(instance, select(name, instance, fill=fill))
        except NotApplicableError:
            assert name == "dp-profits"
            continue
        assert got <= best
        assert got >= share * sure * (1 - 1e-13), name


NUMBERS = {
    "whole": st.tuples(wholes, wholes),
    "sixteenths": st.tuples(wholes, sixteenths),
    "real": st.tuples(reals, reals),
    "huge and tiny": st.tuples(spread, spread),
    "equal ratios": alike,
}


@pytest.mark.parametrize("numbers", NUMBERS)
@tried(200, st.data())
def test_selectors_keep_their_guarantees(numbers: str, data: st.DataObject) -> None:
    fill = data.draw(st.sampled_from([0.5, 1, 1.25])) if numbers == "sixteenths" else 1
    holds_guarantees(data.draw(instances(NUMBERS[numbers])), fill)


@pytest.mark.parametrize(
    ("jobs", "says"),
    [([(0.5, 1)], r"whole rewards.*0\.5"), ([(1e12 + 1, 3), (1e12, 4)], "GiB")],
)
def test_dp_profits_raises_an_error_if_it_does_not_apply(jobs: Any, says: str) -> None:
    with pytest.raises(NotApplicableError, match=says):
        select("dp-profits", instance_of(jobs, 5, frozenset()))
