"""Floors, caps and constraints of one's own: kept at the least cost, or named as in conflict."""

import pytest
from builders.hesrpt import cluster

import schedopt
from schedopt.formulations.constraints import FairShare, Shares
from schedopt.instances.errors import InputError
from schedopt.instances.hesrpt import Power, Table


def test_floors_that_cannot_hold_are_named() -> None:
    result = schedopt.solve("instances/hesrpt/floors.json")
    assert (result.termination, result.conflict) == ("infeasible", ("a fifth each",))
    nothing = cluster([1, 2], Power(p=0.5))
    stuck = schedopt.solve(nothing, constraints=[Shares(jobs=("j0",), at_most=0.0, name="none")])
    assert stuck.conflict == ("none",)


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
