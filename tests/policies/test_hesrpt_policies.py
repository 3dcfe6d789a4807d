"""Sharing policies: closed forms against the simulator, optima against the search."""

from typing import Any

import msgspec
import numpy as np
import pytest
from builders.effort import tried
from builders.hesrpt import cluster, common, tables, various
from hypothesis import given
from hypothesis import strategies as st

import schedopt
from schedopt.instances.hesrpt import Amdahl, Instance, Power, Table
from schedopt.policies.hesrpt.simulator import hesrpt_total
from schedopt.policies.registry import NotApplicableError, registered

POLICIES = registered("hesrpt")
KINDS = (Power(p=0.6), Amdahl(parallel=0.8), Table(points=((1, 1), (4, 3))))


@tried(60, common())
def test_no_policy_beats_hesrpt_and_none_is_faulted(instance: Instance) -> None:
    speedup = instance.speedup
    assert isinstance(speedup, Power)
    results = schedopt.evaluate(instance, ["hesrpt", "helrpt", "srpt", "equi", "hell"])
    formula = hesrpt_total(instance.sizes, speedup.p, float(instance.servers))
    assert results[0].objective == pytest.approx(formula, rel=1e-10)
    for result in results:
        assert result.violations == () and result.checked
        assert result.objective >= formula * (1 - 1e-9)


@tried(20, st.one_of(various(5), various(4, tables)))
def test_share_policies_run_with_any_speedup(instance: Instance) -> None:
    for name in POLICIES:
        if name not in ("hesrpt", "knee"):
            assert schedopt.evaluate(instance, name).violations == (), name


@given(various(6))
def test_helrpt_completes_all_at_once_and_soonest(instance: Instance) -> None:
    ends = POLICIES["helrpt"].run(instance).completion.values()
    assert max(ends) == pytest.approx(min(ends), rel=1e-9)
    best = schedopt.solve(msgspec.structs.replace(instance, objective="makespan"))
    assert max(ends) == pytest.approx(best.objective, rel=1e-9)


def test_hesrpt_requires_option_p_without_a_common_power_speedup() -> None:
    instance = cluster([1, 2], Amdahl(parallel=0.9))
    with pytest.raises(NotApplicableError, match="option p"):
        POLICIES["hesrpt"].run(instance)
    assert POLICIES["hesrpt"].run(instance, p=0.5).completion["j0"] > 0
    assert schedopt.evaluate(instance, "hesrpt").termination == "not-applicable"


def test_hell_is_srpt_from_one_half_on_and_one_server_each_below() -> None:
    for p in (0.5, 1.0):
        instance = cluster([3, 1, 2], Power(p=p), 8)
        assert POLICIES["hell"].run(instance) == POLICIES["srpt"].run(instance)
    few = POLICIES["hell"].run(cluster([3, 1, 2], Power(p=0.4), 2)).epochs[0]
    assert few.share == {"j1": 1 / 2, "j2": 1 / 2}


@pytest.mark.parametrize(
    ("name", "option", "values"),
    [
        ("knee", "alpha", np.geomspace(1e-12, 1e3, 20)),
        ("fw-cam", "price", np.geomspace(1e-9, 1e6, 20)),
    ],
)
def test_knee_and_fw_cam_find_their_best_setting(name: str, option: str, values: Any) -> None:
    instance = schedopt.generate("hesrpt", seed=2, options={"jobs": 20, "p": 0.3})
    best = schedopt.evaluate(instance, name).objective
    assert best is not None
    for value in values.tolist():
        given = schedopt.evaluate(instance, name, options={option: value}).objective
        assert given >= best * (1 - 1e-2)


@tried(20, st.integers(0, 10**6), st.sampled_from([*KINDS, Table(points=((4.0, 4.0),))]))
def test_smartfill_is_optimal_for_one_speedup_and_agreeable_weights(seed: int, kind: Any) -> None:
    draw = np.random.default_rng(seed)
    sizes = np.sort(draw.pareto(1.5, 7) + 0.1 if seed % 2 else draw.integers(1, 4, 7))
    weights = np.sort(draw.uniform(0.1, 3.0, 7) if seed % 3 else np.ones(7))[::-1]
    more = {"weights": weights.tolist(), "objective": "weighted-flow-time"}
    instance = cluster(sizes.tolist(), kind, 16, **more)
    optimum = schedopt.solve(instance)
    assert optimum.proven
    shared = schedopt.evaluate(instance, "smartfill")
    assert not shared.violations
    assert optimum.bound * (1 - 1e-9) <= shared.objective <= optimum.objective * (1 + 1e-9)
