"""Selections and schedules: their models, options and solutions."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyomo.environ as pyo
import pytest
from builders.dssp import TEAMS, night

from schedopt.formulations.constraints import Constraint, Forbid, Require
from schedopt.formulations.dssp import Schedule, Selection
from schedopt.formulations.dssp.rows import Row
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.errors import InputError
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
def test_selection_refuses_a_wrong_fill(fill: object) -> None:
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
    result = solve(selection)
    assert set(result.conflict) == {"not_both", "both"}
    assert not result.violations and not result.checked and "not_both" in str(result.message)


class Quota(Constraint, frozen=True, tag="quota"):
    """At most so many units of demand from one team: a kind of the earlier form."""

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


def test_selection_takes_a_kind_of_the_earlier_form() -> None:
    instance = night([(5, 5), (4, 1), (3, 1), (2, 4)])
    assert solve(instance).objective == 12
    result = solve(instance, constraints=[Quota(team="fx", units=4, name="fx quota")])
    assert result.checked
    assert result.violations == ()
    assert result.objective == 9


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("core", "knapsack"),
        ("shares", "priced-core"),
        ("columns", "priced-core"),
        ("crossing", "priced-core"),
        ("tree", "branch-and-bound"),
    ],
)
def test_old_name_of_an_engine_is_taken_with_a_note(old: str, new: str) -> None:
    result = solve(night([(5, 5), (4, 5), (3, 5)]), solver=old)
    assert (result.solver, result.objective) == (new, 9)
    assert f"{old} is now called {new}" in str(result.message)


def a_night(
    jobs: Sequence[tuple[float, Any]], processors: int, deadline: float, **fields: Any
) -> Instance:
    return Instance(
        name="small",
        processors=processors,
        deadline=deadline,
        jobs=tuple(
            Job(
                name=f"j{i}",
                reward=float(reward),
                stages=tuple(map(tuple, stages)),
                groups={"team": TEAMS[i % 3]},
            )
            for i, (reward, stages) in enumerate(jobs)
        ),
        **fields,
    )


@pytest.mark.parametrize("size", [1.0, 1e-3, 1e6])
@pytest.mark.parametrize("worth", [1.0, 0.001 * 9, 1e6])
def test_schedule_with_late_rewards_is_proven_in_every_unit(size: float, worth: float) -> None:
    """One processor: the second of two jobs of 4 ends at 8, two of the three after the deadline."""
    night = a_night([(worth, [[4 * size]])] * 2, 1, 6 * size, late=((0.0, 0.5), (3 * size, 0.0)))
    result = solve(night, formulation="schedule")
    assert result.proven
    assert result.objective == pytest.approx(7 / 6 * worth)
    nothing = solve(Schedule(night).add(Forbid(jobs=("j0", "j1"))))
    assert (nothing.proven, nothing.objective, nothing.bound) == (True, 0.0, 0.0)
