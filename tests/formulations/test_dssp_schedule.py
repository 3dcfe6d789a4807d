"""Schedule: theorems 1 and 2, native rows, conflicts, rounding, limits."""

from collections.abc import Sequence
from typing import Any

import pytest
from builders.dssp import TEAMS

from schedopt import Forbid, solve
from schedopt.formulations.dssp import Schedule
from schedopt.formulations.dssp.grid import LARGEST
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.errors import InputError


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


def test_no_row_has_coefficients_beyond_what_the_engine_adds_up() -> None:
    length = float(1 << 28)
    jobs = tuple(Job(name=f"j{i}", reward=1.0 + i, stages=((length,) * 6,)) for i in range(3))
    night = Instance(name="long", processors=4, deadline=2 * length, jobs=jobs)
    model = Schedule(night)
    rows = [row.linear for row in model.model.clone().proto.constraints]  # asking makes them
    assert max(abs(c) for row in rows for c in row.coeffs) <= LARGEST < 6 * length
    assert solve(model, threads=1).objective == 3.0


@pytest.mark.parametrize("size", [1.0, 1e-3, 1e6])
@pytest.mark.parametrize("worth", [1.0, 0.001 * 9, 1e6])
def test_what_is_paid_late_is_proven_in_every_unit(size: float, worth: float) -> None:
    """One processor: the second of two jobs of 4 ends at 8, two of the three after the deadline."""
    night = a_night([(worth, [[4 * size]])] * 2, 1, 6 * size, late=((0.0, 0.5), (3 * size, 0.0)))
    result = solve(night, formulation="schedule")
    assert result.proven
    assert result.objective == pytest.approx(7 / 6 * worth)
    nothing = solve(Schedule(night).add(Forbid(jobs=("j0", "j1"))))
    assert (nothing.proven, nothing.objective, nothing.bound) == (True, 0.0, 0.0)


def test_what_rounding_leaves_open_is_said() -> None:
    """No unit makes roots whole: CP-SAT's bound is above what they may sum to."""
    jobs = [(2.0**0.5 / 3**i, [[4e6]]) for i in range(20)]
    night = a_night(jobs, 1, 6e6, late=((0.0, 0.5), (7e6, 0.0)))
    result = solve(night, formulation="schedule", solver="cp-sat")
    assert result.solution_status == "feasible"
    assert "undecided" in result.message
    assert result.bound > result.objective == pytest.approx(2.0**0.5 * (1 + 5 / 42 + 1 / 126))
