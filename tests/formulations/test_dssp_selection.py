"""Selection: units, windows of time, fills, native rows, kinds of one's own, and who answers."""

from collections.abc import Iterator

import pyomo.environ as pyo
import pytest
from builders.dssp import night

from schedopt.formulations.constraints import Constraint, FairShare, Forbid, Require
from schedopt.formulations.dssp import Selection
from schedopt.formulations.dssp.rows import Row
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.errors import InputError
from schedopt.problems.dssp import RECORD
from schedopt.solvers import door
from schedopt.solvers.dssp.selection import FEW
from schedopt.solvers.result import Limits
from schedopt.verbs.solve import solve


def test_fill_scales_the_capacity_and_guaranteed_is_theorem_4() -> None:
    instance = Instance(
        name="n",
        processors=4,
        deadline=10,
        jobs=tuple(Job(name=f"j{i}", reward=1, stages=((1.0,) * 4, (1.0,))) for i in range(12)),
    )
    assert solve(instance, options={"fill": 0.5}).solution.capacity == 20
    guaranteed = solve(instance, options={"fill": "guaranteed"})
    assert guaranteed.options["fill"] == pytest.approx(1 - (1 - 1 / 4) * 2 / 10)
    assert guaranteed.objective == 6  # 34 of 40, five each


@pytest.mark.parametrize("fill", [0, -1, "most", float("nan"), float("inf"), True])
def test_a_wrong_fill_is_refused(fill: object) -> None:
    with pytest.raises(InputError, match="a number above 0"):
        Selection(night([(1, 1)]), fill=fill)  # type: ignore[arg-type]


def test_native_constraints_hold_and_are_named_in_conflicts() -> None:
    selection = Selection(night([(5, 5), (4, 5), (3, 5)]))
    selection.model.not_both = pyo.Constraint(
        expr=selection.model.x["j0"] + selection.model.x["j1"] <= 1
    )
    result = solve(selection)
    assert result.solver == "model"  # no plain knapsack any more
    assert result.objective == 8
    assert "not_both" in str(result.message)
    assert not result.checked
    selection.add(Require(jobs=("j0", "j1"), name="both"))
    assert set(solve(selection).conflict) == {"not_both", "both"}


def test_a_native_constraint_that_is_not_linear_is_refused() -> None:
    selection = Selection(night([(5, 5), (4, 5)]))
    selection.model.bent = pyo.Constraint(
        expr=selection.model.x["j0"] * selection.model.x["j1"] <= 0
    )
    with pytest.raises(InputError, match="bent is not linear"):
        solve(selection)


class Quota(Constraint, frozen=True, tag="quota"):
    """At most so many units of demand from the jobs of one team: a kind of one's own."""

    team: str
    units: float

    def rows(self, instance: Instance, capacity: float) -> Iterator[Row]:
        jobs = instance.groups["team"][self.team]
        yield Row("units", jobs, [instance.demands[j] for j in jobs], upper=self.units)

    def broken(self, instance: Instance, chosen: frozenset[str]) -> Iterator[str]:
        jobs = [job for job in instance.jobs if job.groups["team"] == self.team]
        used = sum(job.demand or 0 for job in jobs if job.name in chosen)
        if used > self.units:
            yield f"{used} units of {self.units}"


class Unknown(Constraint, frozen=True, tag="unknown"):
    """A kind that says nothing about selections."""


def test_a_kind_of_ones_own_is_one_small_class() -> None:
    instance = night([(5, 5), (4, 1), (3, 1), (2, 4)])
    assert solve(instance).objective == 12
    result = solve(instance, constraints=[Quota(team="fx", units=4, name="fx quota")])
    assert result.checked
    assert result.violations == ()
    assert result.objective == 9


def test_a_kind_that_a_selection_cannot_take_is_refused_with_those_it_can() -> None:
    with pytest.raises(InputError, match=r"'apart', .* 'together'"):
        Selection(night([(1, 1)])).add(Unknown())


def test_constraints_are_validated_when_they_are_added() -> None:
    selection = Selection(night([(1, 1)]))
    with pytest.raises(InputError, match="the name of a job"):
        selection.add(Require(jobs=("nobody",)))
    with pytest.raises(InputError, match="a grouping that some job has"):
        selection.add(FairShare(by="show", at_most={"x": 1}))
    selection.add(Forbid(jobs=("j0",), name="no"))
    with pytest.raises(InputError, match="a name of its own"):
        selection.add(Require(jobs=("j0",), name="no"))


def test_core_is_the_default_without_side_constraints_and_only_then() -> None:
    few = night([(5, 5), (4, 5), (3, 5)])
    assert solve(few).solver == "tree", "a few jobs need no compiled code"
    many = night([(5 + i % 7, 5 + i % 3) for i in range(FEW + 1)], capacity=40)
    assert solve(many).solver == "core"
    ruled = night([(5, 5), (4, 5), (3, 5)], constraints=[Require(jobs=("j2",))])
    assert solve(ruled).solver == "tree"
    with pytest.raises(InputError, match="no side constraints"):
        solve(ruled, solver="core")


def test_a_plain_selection_is_confirmed_by_highs() -> None:
    model = Selection(night([(5, 5), (4, 5), (3, 5)]))
    first = door.solve(model, solver="core")
    again = RECORD.confirm(model, first, Limits())
    assert again is not None
    assert (again.solver, again.objective, again.proven) == ("highs", first.objective, True)
    third = RECORD.confirm(model, again, Limits())
    assert third is not None
    assert (third.solver, third.objective, third.proven) == ("cp-sat", first.objective, True)
