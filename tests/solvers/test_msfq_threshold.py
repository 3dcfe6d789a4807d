"""Thresholds: the closed form against the published transforms, the exact values against chains."""

import numpy as np
import pytest
from builders.effort import tried
from builders.msfq import Series, at_load, one_or_all
from hypothesis import strategies as st

from schedopt import solve
from schedopt.formulations.msfq import Threshold
from schedopt.formulations.msfq.process import System
from schedopt.instances.errors import InputError
from schedopt.policies.msfq.registration import plan
from schedopt.policies.msfq.simulation import simulate
from schedopt.policies.msfq.summary import summarize
from schedopt.solvers.msfq.threshold.approximation import area, paper
from schedopt.solvers.msfq.threshold.exact import exact, exact_curve


def busy(arrival: float, service: float) -> Series:
    """Return the transform of an M/M/1 busy period at s = 0."""
    b = 1 / (service - arrival)
    return Series(1.0, -b, 2 * service * b**3)


def moments_by_iteration(system: System, l: int) -> dict[str, float]:
    """Iterate Lemmas 5.4 until the transforms of N_1 and N_2 no longer change.

    Everything is a series in s (phases) or z - 1 (numbers); a phase's transform at λ(1 - z) is
    composed with the series of λ(1 - z).
    """
    k, l1, lk, m1, mk = system
    small, large = busy(l1, k * m1), busy(lk, mk)
    h3, passage = Series(1.0), small
    for j in range(k - 1, l, -1):  # equation 7
        a, b, c = passage.terms
        passage = Series(j * m1 + l1 * (1 - a), 1 - l1 * b, -l1 * c).inverse() * Series(j * m1)
        h3 = h3 * passage
    h4 = Series(1.0)
    for j in range(1, l + 1):
        h4 = h4 * (Series(j * m1, 1.0).inverse() * Series(j * m1))
    s_large = Series(0.0, -lk)  # λ_k·(1 - z)
    beta = large.of(Series(0.0, -l1))  # B_L at λ_1·(1 - z)
    s_small = Series(0.0, *(-lk * beta.terms[1:]))  # λ_k·(1 - β(z))
    s_both = Series(0.0, s_small.terms[1] - l1, s_small.terms[2])
    shift = Series(1.0)
    for _ in range(k - 1):
        shift = shift * small
    shift = shift.inverse()
    n2 = Series(1.0, k, k * k)
    for _ in range(100_000):
        h2 = n2.of(small) * shift
        new = h2.of(s_small) * h3.of(s_small) * h4.of(s_both)
        if np.allclose(new.terms, n2.terms, rtol=1e-15, atol=0):
            break
        n2 = new
    n1 = h2.of(s_large) * h3.of(s_large) * h4.of(s_large)
    return {
        "n1": n1.terms[1],
        "n1_2": n1.terms[2],
        "n2": n2.terms[1],
        "n2_2": n2.terms[2],
        **{f"h{i}": -h.terms[1] for i, h in ((2, h2), (3, h3), (4, h4))},
        "d2": (h2 * h3 * h4).terms[2],
    }


def paper_by_iteration(system: System, l: int) -> tuple[float, float]:
    """Put the iterated moments into Lemmas 5.3, corrected, and weigh the phases (equation 3)."""
    k, l1, lk, m1, mk = system
    m = moments_by_iteration(system, l)
    d, a = m["n1"] / lk, m["n2"] / l1
    h1 = a - m["h4"]
    a2 = m["n2_2"] / l1**2  # E[(H4 + H1)²], from N_2's second factorial moment
    d2 = m["d2"]
    n1, n1_2 = m["n1"], m["n1_2"] + m["n1"]
    started = m["n2"] - k + 1
    started_2 = m["n2_2"] + m["n2"] - 2 * (k - 1) * m["n2"] + (k - 1) ** 2

    def exceptional(rate: float, mean: float, first: float, first_2: float) -> float:
        square = 2 * mean**2
        work = rate * square / (2 * (1 - rate * mean))
        work += rate * (first_2 - square) / (2 * (1 - rate * mean + rate * first))
        alone = (1 - rate * mean) / (1 - rate * mean + rate * first)
        return work / (1 - alone)

    km = k * m1
    t1 = exceptional(lk, 1 / mk, n1 / mk, (n1_2 + n1) / mk**2) + 1 / mk
    t234 = (lk / mk + 1) * d2 / (2 * d) + 1 / mk
    t14 = (l1 / km + 1) * a2 / (2 * a) + 1 / m1
    t2 = exceptional(l1, 1 / km, started / km, (started_2 + started) / km**2) + 1 / m1
    t3, visits, before, top, bottom = 1 / m1, 0.0, 0.0, 0.0, 0.0
    for j in range(l + 1, 20_000):
        rate, rate_before = l1 + min(j, k) * m1, l1 + min(j - 1, k) * m1
        visits = before * l1 * rate / (min(j, k) * m1 * rate_before)
        visits += rate / (min(j, k) * m1) * (j <= k - 1)
        top += visits / rate * (k + max(j - k + 1, 0)) / km
        bottom += visits / rate
        before = visits
        if j > k and visits < 1e-18 * bottom:
            break
    if bottom:
        t3 = top / bottom
    cycle = h1 + d
    large = (t1 * h1 + t234 * d) / cycle
    small = (t14 * (m["h4"] + h1) + t2 * m["h2"] + t3 * m["h3"]) / cycle
    return small, large


@tried(
    25,
    k=st.integers(2, 12),
    load=st.floats(0.3, 0.95),
    p=st.floats(0.3, 0.95),
    mu=st.floats(0.5, 2.0),
    data=st.data(),
)
def test_the_closed_form_is_the_published_transforms(
    k: int, load: float, p: float, mu: float, data: st.DataObject
) -> None:
    rate = load / (p / k + (1 - p) / mu)
    system = System(k, p * rate, (1 - p) * rate, 1.0, mu)
    l = data.draw(st.integers(0, k - 1))
    curve = paper(system)
    small, large = paper_by_iteration(system, l)
    assert curve.small[l] == pytest.approx(small, rel=1e-10)
    assert curve.large[l] == pytest.approx(large, rel=1e-10)


@pytest.mark.parametrize("load", [0.5, 0.9, 0.95])
@pytest.mark.parametrize(("l", "variant"), [(31, "literal"), (8, "literal"), (12, "lazy")])
def test_exact_values_lie_in_simulated_intervals(load: float, l: int, variant: str) -> None:
    queue = at_load(32, load)
    model = Threshold(queue, variant=variant)  # type: ignore[arg-type]
    small, large = exact(model.system, l, variant)  # type: ignore[arg-type]
    rule = plan(queue, "msfq", threshold=l, variant=variant)
    found = summarize(queue, simulate(queue, rule, arrivals=5_000_000, seed=5), 5_000_000)
    ours = float(model.system.mean(np.array([small]), np.array([large]))[0])
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
