"""Thresholds: exact values against simulation, closed forms against these near saturation."""

import numpy as np
import pytest
from builders.msfq import at_load, one_or_all

from schedopt import solve
from schedopt.formulations.msfq import Threshold
from schedopt.instances.errors import InputError
from schedopt.policies.msfq.registration import plan
from schedopt.policies.msfq.simulation import simulate
from schedopt.policies.msfq.summary import summarize
from schedopt.solvers.msfq.threshold.approximation import area, paper
from schedopt.solvers.msfq.threshold.exact import exact, exact_curve


@pytest.mark.parametrize("k", [2, 8])
@pytest.mark.parametrize(("load", "near"), [(0.99, 1e-2), (0.999, 1e-3)])
def test_closed_forms_are_exact_where_no_phase_is_skipped(k: int, load: float, near: float) -> None:
    system = Threshold(at_load(k, load, p1=0.5)).system
    right = exact_curve(system)
    for curve in (area(system), paper(system)):
        np.testing.assert_allclose(curve.small, right.small, rtol=near)
        np.testing.assert_allclose(curve.large, right.large, rtol=near)


@pytest.mark.parametrize("load", [0.5, 0.95])
@pytest.mark.parametrize(("l", "variant"), [(31, "literal"), (8, "literal"), (12, "lazy")])
def test_exact_values_lie_in_simulated_intervals(load: float, l: int, variant: str) -> None:
    queue = at_load(32, load)
    model = Threshold(queue, variant=variant)  # type: ignore[arg-type]
    small, large = exact(model.system, l, variant)  # type: ignore[arg-type]
    rule = plan(queue, "msfq", threshold=l, variant=variant)
    found = summarize(queue, simulate(queue, rule, arrivals=5_000_000, seed=5), 5_000_000)
    ours = model.system.mean(small, large)
    assert isinstance(found.confidence, float)
    assert abs(ours - found.mean_response_time) < 1.6 * found.confidence  # 99.8%


def test_both_variants_are_msf_at_zero() -> None:
    system = Threshold(at_load(8, 0.8)).system
    assert exact(system, 0, "literal") == pytest.approx(exact(system, 0, "lazy"), rel=1e-10)


def test_area_comes_nearer_than_the_paper_and_both_overestimate() -> None:
    system = Threshold(at_load(32, 0.95)).system
    right, ours, theirs = (f(system) for f in (exact_curve, area, paper))
    for l in (10, 20, 31):
        assert right.small[l] < ours.small[l] < theirs.small[l]
    assert theirs.small[31] / right.small[31] - 1 < 0.04
    light = Threshold(at_load(32, 0.1)).system
    assert paper(light).small[16] > 1.5 * exact(light, 16)[0]
    assert not paper(light).assumption_ok[16]


@pytest.mark.parametrize(
    ("queue", "options", "says"),
    [
        (one_or_all(2, 1.5, 0.5), {}, "need 1: 0.75, need 2: 0.5"),
        (at_load(4, 0.5), {"method": "guess"}, "exact, area or paper"),
        (at_load(4, 0.5), {"method": "area", "variant": "lazy"}, "variant=literal"),
        (at_load(2000, 0.5), {}, "method=area"),
    ],
)
def test_what_a_threshold_refuses(queue: object, options: dict[str, object], says: str) -> None:
    with pytest.raises(InputError, match=says):
        solve(queue, options=options)


def test_all_thresholds_of_thousands_of_servers() -> None:
    system = Threshold(at_load(4096, 0.9, p1=0.999), method="area").system
    curve = area(system)
    best = int(np.nanargmin(system.mean(curve.small, curve.large)))
    assert 0 < best < 4096
    assert not np.isnan(curve.small).any()
