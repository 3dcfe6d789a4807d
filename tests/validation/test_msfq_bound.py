"""Curves of thresholds are recomputed by another exact method, whatever a result claims."""

from fractions import Fraction

import numpy as np
import pytest
from builders.effort import tried
from builders.msfq import at_load, one_or_all, queue_of
from hypothesis import strategies as st

from schedopt import solve
from schedopt.formulations.constraints import ResponseTime
from schedopt.formulations.msfq import Threshold
from schedopt.instances.msfq.logs import Jobs as Log
from schedopt.solvers.msfq.threshold.chain import response_times
from schedopt.solvers.msfq.threshold.exact import exact_curve
from schedopt.validation.msfq import bound
from schedopt.validation.msfq.chain import System
from schedopt.validation.msfq.transforms import response_curve
from schedopt.validation.report import Refuted


@tried(
    40,
    k=st.integers(2, 14),
    load=st.sampled_from([0.05, 0.5, 0.9, 0.99]),
    part=st.floats(0.02, 0.98),
    small=st.floats(0.03, 30.0),
    large=st.floats(0.03, 30.0),
)
def test_threshold_curve_of_checker_and_engine_agree(
    k: int, load: float, part: float, small: float, large: float
) -> None:
    queue = one_or_all(k, load * part * k * small, load * (1 - part) * large, small, large)
    system = System.of(queue)
    ours = response_curve(system)
    theirs = exact_curve(Threshold(queue).system)
    np.testing.assert_allclose(ours[0], theirs.small, rtol=1e-9)
    np.testing.assert_allclose(ours[1], theirs.large, rtol=1e-9)


@pytest.mark.parametrize(
    ("k", "rates"), [(2, (0.8, 0.2, 1.3, 0.9)), (3, (0.3, 0.1, 1.5, 0.4)), (4, (0.4, 0.1, 1, 1))]
)
def test_threshold_curve_of_checker_equals_a_chain(k: int, rates: tuple[float, ...]) -> None:
    queue = one_or_all(k, *rates)
    curve = response_curve(System.of(queue))
    for l in range(k):
        found = [times[l] for times in curve]
        assert found == pytest.approx(response_times(Threshold(queue).system, l), rel=1e-9)


def test_threshold_optimum_under_a_side_constraint_is_reproved() -> None:
    queue = at_load(6, 0.7)
    rule = ResponseTime(need=6, at_most=1.02 * float(response_curve(System.of(queue))[1].min()))
    result = solve(queue, constraints=[rule])
    assert result.proven
    assert result.bound_checked
    assert result.objective > solve(queue).objective


def test_bound_of_an_approximation_is_not_checked() -> None:
    result = solve(at_load(70, 0.5), options={"method": "area"})
    assert not result.bound_checked
    assert not result.checked
    assert "an approximation" in str(result.message)


@tried(600, seed=st.integers(0, 2**31), objective=st.sampled_from(["mean", "weighted"]))
def test_log_bounds_equal_brute_force(seed: int, objective: str) -> None:
    """Every start of each job is tried; the fast machine does one unit of work after another."""
    draw = np.random.default_rng(seed)
    count, servers = int(draw.integers(1, 6)), int(draw.integers(1, 5))
    submit = np.sort(draw.integers(0, 8, count)) + int(draw.integers(0, 3))
    log = Log.of(submit, draw.integers(1, servers + 1, count), draw.integers(1, 7, count) * 1.0)
    jobs = bound.JobsInTicks(queue_of(log, servers, objective=objective), Fraction(1))
    cells = draw.integers(1, 5, int(draw.integers(1, 9))).tolist()
    grid = np.cumsum([int(draw.integers(0, 5)), *cells]).tolist()
    unit = int(draw.integers(1, 3))
    other = draw.integers(0, 3, count).tolist()
    held = {
        bound.SERVERS: bound.ResourceUse(jobs.need, servers),
        "gpu": bound.ResourceUse(other, int(draw.integers(0, 4))),
    }
    prices = {name: draw.integers(0, 20, len(cells)).tolist() for name in held}
    before = [0] * grid[0]
    paid = {
        name: [*before, *np.repeat(prices[name], cells).tolist()] for name in held
    }  # a tick each, and free after these
    total = 0
    for j, (came, run, weight) in enumerate(zip(jobs.submit, jobs.run, jobs.weight, strict=True)):
        total += min(
            unit * weight * (start + run - came)
            + sum(one.needs[j] * sum(paid[name][start : start + run]) for name, one in held.items())
            for start in range(came, max(came, grid[-1]) + 1)
        )
    total -= sum(one.amount * sum(paid[name]) for name, one in held.items())
    assert bound.priced_responses(jobs, unit, grid, held, prices) == total

    for one in held.values():
        if not one.amount:
            continue
        left: list[list[int]] = []  # what the fast machine has to do, with when it came
        ends, now, twice = [], 0, 0
        waiting = sorted(zip(jobs.submit, one.needs, jobs.run, strict=True))
        while waiting or left:
            while waiting and waiting[0][0] * one.amount <= now:
                left.append([waiting[0][1] * waiting[0][2]])
                waiting.pop(0)
            ends += [now for work in left if not work[0]]
            left = [work for work in left if work[0]]
            now += 1
            if left:
                min(left)[0] -= 1
                twice += 2 * now - 1
        alone = sorted((a + p) * one.amount for a, p in zip(jobs.submit, jobs.run, strict=True))
        both = sum(map(max, alone, sorted(ends)))
        assert bound.squashed_area_bound(jobs, one) == Fraction(both, one.amount) - sum(jobs.submit)
        if one.needs is jobs.need and objective == "weighted":
            works = [n * p for n, p in zip(jobs.need, jobs.run, strict=True)]
            ran = sum(Fraction(w * p) for w, p in zip(works, jobs.run, strict=True))
            shared = Fraction(twice, 2 * servers) + ran / 2
            shared -= sum(w * a for w, a in zip(works, jobs.submit, strict=True))
            assert bound.busy_date_bound(jobs, servers) == max(shared, ran)


@pytest.mark.parametrize(
    ("unit", "grid", "prices", "fits"),
    [
        (1, (0, 1), (0,), True),
        (1, (0, 2**62), (0,), False),
        (2**62, (0, 1), (0,), False),
        (2**59 // 3, (0, 1), (0,), True),
        (2**60 // 3, (0, 1), (0,), False),
        (1, (0, 1), (2**60,), True),
        (1, (0, 1), (2**61,), False),
        (1, (0, 2**59, 2**60), (1, 1), True),
        (1, (0, 2**60, 2**61), (1, 1), False),
        (1, (0, 1, 2**62 - 2), (0, 0), False),
    ],
)
def test_log_bounds_refuse_numbers_beyond_64_bits(
    unit: int, grid: tuple[int, ...], prices: tuple[int, ...], fits: bool
) -> None:
    """Jobs that run to 13 at the latest, one of them on two servers."""
    queue = queue_of(Log.of([0, 0, 9], [1, 1, 2], [4.0, 1.0, 2.0]), 2)
    given = {bound.SERVERS: prices}
    if fits:
        shown, _ = bound.bound_of_prices(queue, (1, 1), unit, grid, given)
        assert shown >= 2
        return
    with pytest.raises(ValueError, match="too large"):
        bound.bound_of_prices(queue, (1, 1), unit, grid, given)


def test_log_bounds_refuse_weights_beyond_64_bits() -> None:
    log = Log.of([0, 0, 9], [1, 1, 2], [4.0, 1.0, 2.0])
    queue = queue_of(log, 2, objective="weighted")  # 4, 1 and 4, until 13
    bound.bound_of_prices(queue, (1, 1), 2**60 // 13, (0, 1), {bound.SERVERS: (0,)})
    with pytest.raises(ValueError, match="too large"):
        bound.bound_of_prices(queue, (1, 1), 2**60 // 13 + 1, (0, 1), {bound.SERVERS: (0,)})


def test_reprove_threshold_is_undecided_at_the_limit_of_a_rule() -> None:
    """At the exact limit of a rule, rounding decides feasibility: the claim is not refuted."""
    queue = at_load(6, 0.7)
    best = solve(queue).solution.threshold
    limit = float(response_curve(System.of(queue))[1][best])
    surely = [ResponseTime(need=6, at_most=limit * (1 - 1e-6))]
    result = solve(queue, constraints=surely)
    assert result.solution.threshold != best
    claim = result.document()
    assert bound.reprove(queue, surely, {}, claim) is None
    wrong = bound.reprove(queue, [ResponseTime(need=6, at_most=limit)], {}, claim)
    assert wrong is not None
    assert not isinstance(wrong, Refuted)
    lax = bound.reprove(queue, [ResponseTime(need=6, at_most=limit * (1 + 1e-6))], {}, claim)
    assert isinstance(lax, Refuted)
