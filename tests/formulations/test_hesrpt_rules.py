"""Floors, caps and constraints of one's own: kept at the least cost, or named as in conflict."""

from __future__ import annotations

from itertools import permutations

import msgspec
import pytest
from builders.effort import examples
from builders.hesrpt import cluster, speedups, tables, various
from hypothesis import given, settings
from hypothesis import strategies as st

import schedopt
from schedopt.formulations.constraints import FairShare, Shares
from schedopt.formulations.hesrpt import Allocation
from schedopt.instances.errors import InputError
from schedopt.instances.hesrpt import Instance, Power, Table
from schedopt.solvers.hesrpt.programs import solve_program


@settings(max_examples=examples(8))
@given(
    various(3),
    st.sampled_from([0.1, 0.25, 0.5]),
    st.sampled_from([0.5, 0.7, 1.0]),
)
def test_floors_and_caps_are_kept_at_the_least_cost(
    instance: Instance, floor: float, cap: float
) -> None:
    rules = [
        FairShare(by="team", at_least={"a": floor}, name="floor"),
        Shares(jobs=("j0",), at_most=cap, name="cap"),
    ]
    result = schedopt.solve(instance, constraints=rules)
    assert result.proven and result.violations == ()
    free = schedopt.solve(instance)
    assert result.objective is not None and free.objective is not None
    assert result.objective >= free.objective * (1 - 1e-7)
    values = [
        solve_program(Allocation(instance).add(*rules).ordered(order))
        for order in permutations(range(len(instance.jobs)))
    ]
    least = min(instance.objective_of(v.solution) for v in values if v.solution is not None)
    assert result.objective == pytest.approx(least, rel=1e-5)


def test_floors_that_cannot_hold_are_named() -> None:
    result = schedopt.solve("instances/hesrpt/floors.json")
    assert (result.termination, result.conflict) == ("infeasible", ("a fifth each",))
    nothing = cluster([1, 2], Power(p=0.5))
    stuck = schedopt.solve(nothing, constraints=[Shares(jobs=("j0",), at_most=0.0, name="none")])
    assert stuck.conflict == ("none",)


def test_native_constraints_are_kept_and_nothing_is_claimed_beyond() -> None:
    instance = cluster([3, 2, 1], Power(p=0.5))
    free = schedopt.solve(instance)
    model = Allocation(instance, order=["j2", "j1", "j0"])
    result = schedopt.solve(model.add(model.completion["j0"] <= 1.2))
    assert result.solution.completion["j0"] <= 1.2 + 1e-6
    assert result.bound is None and not result.proven and not result.checked
    assert free.objective is not None and result.objective is not None
    assert result.objective > free.objective
    never = Allocation(instance)
    impossible = schedopt.solve(never.add(never.completion["j0"] <= 0.01))
    assert (impossible.termination, impossible.conflict) == (
        "infeasible",
        ("native constraints",),
    )


def test_prices_refuse_what_they_cannot_see() -> None:
    instance = schedopt.load("instances/hesrpt/teams.json")
    with pytest.raises(InputError, match="finance floor"):
        schedopt.solve(instance, solver="prices")


def test_floors_do_not_leave_a_gap_that_is_called_optimal() -> None:
    instance = cluster(
        [1, 1],
        Power(p=1.0),
        weights=[10, 1],
        own=[Power(p=0.7), None],
        objective="weighted-flow-time",
        constraints=(Shares(jobs=("j0", "j1"), at_least=0.05),),
    )
    result = schedopt.solve(instance)
    assert (result.termination, result.violations) == ("optimal", ())
    assert result.gap is not None and result.gap <= 1e-9
    # j1 is left with its floor: 10.95 = lambda 9.5^0.7 + 0.05, and j1 costs 1/10 of its size
    assert result.objective == pytest.approx(10.95 / 9.5**0.7 + 0.1, rel=1e-9)
    program = schedopt.solve(instance, options={"order": "j0,j1"}, solver="clarabel")
    assert program.proven and program.objective == pytest.approx(result.objective, rel=2e-6)


def test_whom_others_leave_nothing_now_is_served_later() -> None:
    """Smith's order would have the small job complete first, but the floors take all servers."""
    floors = Shares(jobs=("j0", "j1"), at_least=0.5)
    instance = cluster([1, 1, 0.001], Power(p=0.5), constraints=(floors,))
    result = schedopt.solve(instance)
    assert (result.termination, result.violations) == ("optimal", ())
    assert result.solution is not None and result.solution.order[0] != "j2"


def test_jobs_that_can_only_complete_together_do() -> None:
    """Alone the last of team b could not have what its team must: no epoch is left for it."""
    rules = (
        Shares(jobs=("j0", "j2"), at_most=0.3, name="caps"),
        FairShare(by="team", at_least={"a": 0.5}, at_most={"b": 0.5}, name="teams"),
    )
    own = [Power(p=0.74), Table(points=((1, 1), (4, 2.5), (16, 3.5))), Power(p=0.5)]
    instance = cluster([2, 0.34, 1], Power(p=0.5), own=own, constraints=rules)
    result = schedopt.solve(instance)
    assert (result.termination, result.violations) == ("optimal", ())
    assert result.solution is not None
    ends = result.solution.completion
    assert ends["j0"] == pytest.approx(ends["j2"], rel=1e-12)


@st.composite
def ruled(draw: st.DrawFn) -> Instance:
    """Draw an instance with bounds of jobs, of teams, or of both."""
    instance = draw(various(3, st.one_of(speedups, tables)))
    floors, caps = st.sampled_from([0.0, 0.05, 0.2, 0.3]), st.sampled_from([0.4, 0.5, 0.8, 1.0])
    some = draw(st.integers(1, len(instance.jobs)))
    jobs = tuple(job.name for job in instance.jobs[:some])
    rules: list[Shares | FairShare] = []
    if draw(st.booleans()):
        rules.append(Shares(jobs=jobs, at_least=draw(floors), at_most=draw(caps), name="jobs"))
    if draw(st.booleans()):
        least, most = {"a": draw(floors)}, {"a": draw(caps)}
        rules.append(FairShare(by="team", at_least=least, at_most=most, name="teams"))
    return msgspec.structs.replace(instance, constraints=tuple(rules))


@settings(max_examples=examples(25))
@given(ruled())
def test_under_rules_optimal_means_proven_and_kept(instance: Instance) -> None:
    result = schedopt.solve(instance)
    assert result.violations == ()
    if result.termination == "infeasible":
        return
    assert result.termination == "optimal" and result.gap is not None and result.gap <= 1e-6
    least = min(
        instance.objective_of(solved)
        for order in permutations(range(len(instance.jobs)))
        if (solved := solve_program(Allocation(instance).ordered(order)).solution) is not None
    )
    assert result.objective is not None and result.bound is not None
    assert result.objective <= least * (1 + 3e-6)
    assert result.bound <= least * (1 + 1e-9)
