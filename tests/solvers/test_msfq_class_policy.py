"""Several classes: the bound holds whatever is run, and the policy that is found comes near it."""

import msgspec
import numpy as np
import pytest
from builders.effort import examples
from builders.msfq import of_classes, one_or_all
from hypothesis import given, settings
from hypothesis import strategies as st

from schedopt import check, evaluate, solve
from schedopt.formulations.msfq import ClassPolicy, OptimalPolicy
from schedopt.instances.constraints import ResponseTime
from schedopt.instances.errors import InputError
from schedopt.instances.msfq import Deterministic, Instance, JobClass
from schedopt.solvers import door
from schedopt.solvers.msfq.optimal_policy.classes import ClassSearch
from schedopt.validation.msfq.class_bellman import ClassValues, shown

RATES = st.floats(0.3, 3.0)


def several(
    k: int, needs: tuple[int, ...], load: float, rates: tuple[float, ...] = (), **more: object
) -> Instance:
    """Build one whose classes bring the same load each."""
    served = rates or (1.0,) * len(needs)
    each = load * k / len(needs)
    classes = ((n, each * mu / n, mu) for n, mu in zip(needs, served, strict=True))
    return of_classes(k, *classes, **more)


def test_bound_and_policy_meet_within_a_hundredth() -> None:
    queue = several(4, (1, 2, 4), 0.4)
    result = solve(
        queue, formulation="optimal-policy", options={"tolerance": 0.01}, certificate=True
    )
    assert result.gap is not None
    assert result.gap < 0.01
    assert result.checked
    assert not result.violations
    assert result.bound_checked
    assert result.termination == "completed"  # what is simulated is not proven
    assert not result.proven
    assert result.solution.confidence < 0.005 * result.objective
    for name in ("msf", "first-fit", "adaptive-quickswap"):
        other = evaluate(queue, name, options={"arrivals": 200_000})
        assert result.bound < other.objective + other.solution.confidence
        assert result.objective < other.objective


def test_two_methods_agree_on_one_or_all() -> None:
    queue = one_or_all(2, 0.6, 0.3)
    exact = door.solve(OptimalPolicy(queue, tolerance=1e-4))
    ours = door.solve(ClassPolicy(queue, tolerance=5e-3, most=20_000))
    assert exact.bound is not None
    assert exact.objective is not None
    assert ours.bound is not None
    assert ours.objective is not None
    assert ours.bound <= exact.objective
    assert ours.bound > 0.99 * exact.bound
    assert ours.objective + 3 * ours.solution.confidence >= exact.bound


@given(
    st.sampled_from([(3, (1, 2)), (3, (1, 2, 3)), (4, (1, 3)), (5, (2, 5, 3)), (4, (1, 2, 3, 4))]),
    st.floats(0.1, 0.8),
    st.tuples(RATES, RATES, RATES, RATES),
    st.sampled_from(["mean", "weighted"]),
)
@settings(max_examples=examples(8), deadline=None)
def test_the_checker_shows_every_bound(
    which: tuple[int, tuple[int, ...]], load: float, rates: tuple[float, ...], objective: str
) -> None:
    k, needs = which
    queue = several(k, needs, load, rates[: len(needs)], objective=objective)
    search = ClassSearch(ClassPolicy(queue, most=15_000))
    for _ in range(40):
        if search.advance(0.02):
            break
    made = search.certificate()
    if made is not None:
        assert search.bound <= shown(queue, msgspec.convert(made, ClassValues)) * (1 + 1e-9)
    if search.incumbent is not None:
        half = search.solution().confidence
        assert search._bound <= search.value + 3 * half


def test_a_forged_bound_is_found_out() -> None:
    queue = several(3, (1, 2, 3), 0.3)
    result = solve(queue, formulation="optimal-policy", options={"most": 6000}, certificate=True)
    assert result.bound_checked
    forged = msgspec.structs.replace(result, bound=result.bound * 1.001)
    assert "where relative values show" in str(check(queue, forged).violations)
    values = msgspec.convert(result.certificate, ClassValues)
    steeper = tuple(tuple(2 * q for q in row) for row in values.bends)
    with pytest.raises(ValueError, match="slopes"):
        shown(queue, msgspec.structs.replace(values, bends=steeper))
    with pytest.raises(ValueError, match="room for all"):
        shown(queue, msgspec.structs.replace(values, most=(2, 2, 2)))


@pytest.mark.parametrize(
    ("queue", "says"),
    [
        (several(4, (1, 2, 4), 1.0), "a load below 1"),
        (several(4, (4,), 0.5), "two to 5 classes"),
        (several(10**5, (1, 2), 0.5), "ways to fill"),
        (
            Instance(
                name="fixed",
                servers=4,
                classes=(
                    JobClass(need=1, arrival_rate=1, service_rate=1),
                    JobClass(need=2, arrival_rate=0.1, service_rate=1, sizes=Deterministic()),
                ),
            ),
            r"exponential sizes.*classes\[1\]|classes\[1\]",
        ),
    ],
)
def test_what_has_no_such_policy_is_refused(queue: Instance, says: str) -> None:
    with pytest.raises(InputError, match=says):
        solve(queue, formulation="optimal-policy")


def test_few_states_and_side_constraints_are_refused() -> None:
    queue = several(4, (1, 2, 4), 0.6)
    with pytest.raises(InputError, match="option most"):
        solve(queue, formulation="optimal-policy", options={"most": 10})
    with pytest.raises(InputError, match="no side constraints"):
        solve(
            queue,
            formulation="optimal-policy",
            constraints=[ResponseTime(name="soon", need=1, at_most=2.0)],
        )


def test_a_seed_makes_the_simulation() -> None:
    queue = several(3, (1, 2), 0.3)
    one, same, other = (
        solve(queue, formulation="optimal-policy", options={"most": 1500}, seed=seed)
        for seed in (1, 1, 2)
    )
    assert one.objective == same.objective != other.objective
    assert np.isclose(one.objective, other.objective, rtol=0.02)
