"""Curves of thresholds are recomputed by another exact method, whatever a result claims."""

import json
from functools import cache
from typing import Any

import msgspec
import numpy as np
import pytest
from builders.effort import examples
from builders.msfq import at_load, one_or_all
from hypothesis import given, settings
from hypothesis import strategies as st

from schedopt import check, solve
from schedopt.formulations.constraints import ResponseTime
from schedopt.formulations.msfq import Threshold
from schedopt.instances.msfq import Instance
from schedopt.solvers.msfq.threshold.exact import exact_curve
from schedopt.solvers.result import Document
from schedopt.validation.msfq import solved as solved_curves
from schedopt.validation.msfq.chain import System, msfq_times, snap_bound
from schedopt.validation.msfq.transforms import curve


@settings(max_examples=examples(40))
@given(
    k=st.integers(2, 14),
    load=st.sampled_from([0.05, 0.5, 0.9, 0.99]),
    part=st.floats(0.02, 0.98),
    small=st.floats(0.03, 30.0),
    large=st.floats(0.03, 30.0),
)
def test_two_exact_methods_agree(
    k: int, load: float, part: float, small: float, large: float
) -> None:
    queue = one_or_all(k, load * part * k * small, load * (1 - part) * large, small, large)
    system = System.of(queue)
    ours = curve(system)
    theirs = exact_curve(Threshold(queue).system)
    np.testing.assert_allclose(ours[0], theirs.small, rtol=1e-9)
    np.testing.assert_allclose(ours[1], theirs.large, rtol=1e-9)


def test_a_chain_spelled_out_agrees() -> None:
    system = System.of(one_or_all(2, 0.8, 0.2, 1.3, 0.9))
    small, large = curve(system)
    for l in range(2):
        found = snap_bound(lambda most, l=l: msfq_times(system, l, False, most), system)  # type: ignore[misc]
        assert found == pytest.approx((small[l], large[l]), rel=2e-5)


@cache
def solved(k: int, load: float) -> tuple[Instance, Any]:
    queue = at_load(k, load)
    return queue, solve(queue)


@pytest.mark.parametrize(("k", "load"), [(8, 0.7), (32, 0.95)])
def test_a_threshold_is_re_proved_without_a_certificate(k: int, load: float) -> None:
    queue, result = solved(k, load)
    assert result.bound_checked
    report = check(queue, result)
    assert report.ok
    assert report.bound == "re-proved"


def test_under_a_side_constraint_too() -> None:
    queue = at_load(6, 0.7)
    rule = ResponseTime(need=6, at_most=1.02 * float(curve(System.of(queue))[1].min()))
    result = solve(queue, constraints=[rule])
    assert result.proven
    assert result.bound_checked
    assert result.objective > solve(queue).objective


def test_a_curve_of_many_servers_is_recomputed(monkeypatch: pytest.MonkeyPatch) -> None:
    queue, result = solved(90, 0.5)
    assert result.checked
    document = result.document()
    assert check(queue, document).bound == "re-proved"
    # beyond some, at a few thresholds alone; none of them spoils another
    monkeypatch.setattr(solved_curves, "MOST_SERVERS", 64)
    solved_curves._curve_of.cache_clear()
    report = check(queue, document)
    assert "curve: recomputed at 8 of 90 thresholds" in report.unchecked
    assert not report.violations
    best = document.solution["threshold"]
    other = json.loads(msgspec.json.encode(document))
    other["solution"]["curve"][best + 1] *= 1.001
    assert check(queue, msgspec.convert(other, Document)).violations
    small, large = curve(System.of(queue), (0, 45, 89))
    whole = np.array(curve(System.of(queue)))
    assert np.allclose([small, large], whole[:, [0, 45, 89]], rtol=1e-12, atol=0.0)


def test_beyond_what_is_recomputed_the_bound_is_believed() -> None:
    result = solve(at_load(70, 0.5), options={"method": "area"})
    assert not result.bound_checked
    assert not result.checked
    assert "an approximation" in str(result.message)
