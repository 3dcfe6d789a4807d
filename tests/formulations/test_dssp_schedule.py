"""Schedule: theorems 1 and 2, native rows, conflicts, rounding, limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from builders.dssp import TEAMS

from schedopt import evaluate, solve
from schedopt.formulations.dssp import Schedule
from schedopt.formulations.dssp.grid import LARGEST
from schedopt.instances.constraints import AtLeast, FairShare, Forbid, Require
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.dssp.reductions import matching, partition
from schedopt.instances.errors import InputError
from schedopt.instances.files import load


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


def test_a_search_that_the_bound_does_not_spare() -> None:
    """Two processors, tasks 2, 2, 2 and deadline 3: the knapsack takes all, a schedule does not."""
    night = a_night([(1, [[2.0]]), (1, [[2.0]]), (1, [[2.0]])], 2, 3.0)
    result = solve(night, formulation="schedule")
    assert (result.objective, result.bound, result.solution_status) == (2.0, 2.0, "optimal")
    assert result.options["relaxation"] == 3.0


def test_predictions_do_not_count() -> None:
    night = load("instances/dssp/predictions.json")
    result = solve(night, formulation="schedule")
    assert result.proven
    assert result.objective >= evaluate(night, "selection+lcpf").objective


@pytest.mark.parametrize(
    ("numbers", "halves"), [([3, 1, 1, 2, 2, 1], True), ([5, 5, 5], False), ([7, 2, 4], False)]
)
def test_theorem_1(numbers: list[float], halves: bool) -> None:
    result = solve(partition(numbers), formulation="schedule")
    assert result.proven
    assert result.objective == (1.0 if halves else 0.0)


def test_theorem_2() -> None:
    perfect = matching(2, [(0, 0, 0), (1, 1, 1), (0, 1, 1)])
    without = matching(2, [(0, 0, 0), (0, 1, 1), (1, 0, 1)])
    assert solve(perfect, formulation="schedule").objective == 2.0
    assert solve(without, formulation="schedule").objective == 1.0


def test_a_fair_share_added_in_python_and_a_native_constraint() -> None:
    night = a_night([(3, [[2.0]]), (3, [[2.0]]), (1, [[2.0]])], 1, 4.0)
    model = Schedule(night).add(FairShare(by="team", at_most={"fx": 0.0}))
    assert solve(model).solution.selected == ("j1", "j2")
    native = Schedule(night)
    native.model.add(native.x["j0"] + native.x["j1"] <= 1)
    result = solve(native)
    assert result.objective == 4.0
    assert not result.checked
    assert "native" in str(result.message)


def test_conflicts_that_only_the_schedule_sees() -> None:
    """Three tasks of 2 on two processors by 3: each pair can be done, all three cannot."""
    night = a_night([(1, [[2.0]]), (1, [[2.0]]), (1, [[2.0]])], 2, 3.0)
    rules = (
        Require(jobs=("j0", "j1"), name="first two"),
        AtLeast(jobs=("j0", "j1", "j2"), count=3, name="all three"),
        Forbid(jobs=("j2",), name="not the last"),
    )
    two = msgspec.structs.replace(night, constraints=rules[:2])
    result = solve(two, formulation="schedule")
    assert result.termination == "infeasible"
    assert result.conflict == ("all three",)


def test_lengths_that_are_no_decimals_are_rounded_and_said_so() -> None:
    night = a_night([(1, [[1 / 3]]), (1, [[2**0.5]])], 1, 1.75)
    result = solve(night, formulation="schedule")
    assert result.options["exact"] is False
    assert 0 < result.options["rounding"] < 1e-5
    assert result.objective == 2.0  # and the bound is the knapsack's
    assert result.proven


def test_a_job_without_stages_is_bad_input() -> None:
    with pytest.raises(InputError, match="stages"):
        solve("instances/dssp/two-shots.json", formulation="schedule")


def test_a_time_limit_keeps_the_incumbent() -> None:
    result = solve("instances/dssp/night.json.gz", formulation="schedule", time_limit=3)
    assert result.violations == ()
    assert result.objective is not None and result.bound is not None
    assert result.bound >= result.objective > 10_000
    assert result.options["relaxation"] == 10_550


def test_no_row_has_coefficients_beyond_what_the_engine_adds_up() -> None:
    length = float(1 << 28)
    jobs = tuple(Job(name=f"j{i}", reward=1.0 + i, stages=((length,) * 6,)) for i in range(3))
    night = Instance(name="long", processors=4, deadline=2 * length, jobs=jobs)
    model = Schedule(night)
    rows = [row.linear for row in model.model.proto.constraints]
    assert max(abs(c) for row in rows for c in row.coeffs) <= LARGEST < 6 * length
    assert solve(model, threads=1).objective == 3.0
