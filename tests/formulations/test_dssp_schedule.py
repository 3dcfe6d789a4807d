"""Schedule against brute force: all subsets of jobs, all orders of their tasks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import msgspec
import pytest
from builders.dssp import TEAMS, some_constraint
from builders.effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from schedopt import evaluate, solve
from schedopt.formulations.dssp import Schedule
from schedopt.formulations.dssp.grid import LARGEST
from schedopt.instances.constraints import AtLeast, FairShare, Forbid, Require
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.dssp.reductions import matching, partition
from schedopt.instances.errors import InputError
from schedopt.instances.files import load
from schedopt.validation.dssp.constraints import broken
from schedopt.validation.dssp.facts import Facts
from schedopt.verbs.generate import generate

LENGTHS = st.one_of(
    st.integers(0, 4).map(float), st.sampled_from([0.5, 0.1, 0.3, 1 / 3, 2**0.5, 1e-3])
)
STAGES = st.lists(st.lists(LENGTHS, min_size=1, max_size=2), min_size=1, max_size=2)
JOBS = st.lists(st.tuples(st.integers(0, 5), STAGES), min_size=1, max_size=3)


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


def optimum(night: Instance) -> float | None:
    """Return the most that any schedule earns, None where side constraints allow none.

    Serial placement in some order of the tasks reaches every left-shifted schedule, and so an
    optimal one; a job with its last task placed too late is as good as not run.
    """
    facts = Facts(night, 1.0)
    best: float | None = None
    for mask in range(2 ** len(night.jobs)):
        chosen = [job for j, job in enumerate(night.jobs) if mask >> j & 1]
        names = frozenset(job.name for job in chosen)
        if any(broken(rule, facts, names) for rule in night.constraints):
            continue
        tasks = [
            (j, s, length)
            for j, job in enumerate(chosen)
            for s, stage in enumerate(job.stages or ())
            for length in stage
            if length > 0
        ]
        for order in set(permutations(tasks)):
            ends = placed(order, [len(job.stages or ()) for job in chosen], night.processors)
            if ends is None or any(end > night.horizon * (1 + 1e-11) for end in ends):
                continue
            earned = sum(
                job.reward * night.worth(night.index[job.name], end)
                for job, end in zip(chosen, ends, strict=True)
            )
            best = earned if best is None else max(best, earned)
    return best


def placed(order: Any, stages: list[int], processors: int) -> list[float] | None:
    """Place tasks one after the other; None for an order that runs against the stages."""
    free = [0.0] * processors
    ended = [[0.0] * (count + 1) for count in stages]
    reached = [0] * len(stages)
    for j, s, length in order:
        if s < reached[j]:
            return None
        reached[j] = s
        p = free.index(min(free))
        free[p] = max(free[p], *ended[j][: s + 1]) + length
        ended[j][s + 1] = max(ended[j][s + 1], free[p])
    return [max(ends) for ends in ended]


def few(jobs: Any) -> bool:
    return sum(len(stage) for _, stages in jobs for stage in stages) <= 6


@settings(max_examples=examples(60))
@given(JOBS.filter(few), st.integers(1, 3), st.sampled_from([0.5, 2.0, 3.0, 4.7, 6.0]))
def test_the_optimum_is_brute_forces(jobs: Any, processors: int, deadline: float) -> None:
    night = a_night(jobs, processors, deadline)
    agrees(night)


@settings(max_examples=examples(40))
@given(JOBS.filter(few), st.integers(1, 2), st.sampled_from([2.0, 3.0, 5.0]), st.data())
def test_side_constraints(jobs: Any, processors: int, deadline: float, data: Any) -> None:
    kinds = some_constraint(len(jobs))
    rules = data.draw(st.lists(kinds, min_size=1, max_size=2, unique_by=lambda r: r.name or id(r)))
    agrees(a_night(jobs, processors, deadline, constraints=tuple(rules)))


@settings(max_examples=examples(30))
@given(
    JOBS.filter(few),
    st.integers(1, 2),
    st.sampled_from([1.0, 2.0, 3.0]),
    st.sampled_from([((0, 0.5), (2, 0.0)), ((0, 1.0), (1, 0.5), (3, 0.25)), ((0, 0.9), (4, 0.9))]),
)
def test_rewards_after_the_deadline(jobs: Any, processors: int, deadline: float, late: Any) -> None:
    agrees(a_night(jobs, processors, deadline, late=late))


def agrees(night: Instance) -> None:
    truth = optimum(night)
    result = solve(night, formulation="schedule", threads=1, time_limit=20)
    if truth is None:
        assert result.termination in ("infeasible", "error")
        return
    assert result.violations == ()
    if not night.constraints:  # a required job that a dispatcher runs too late is no answer here
        for run in evaluate(night, ("lcpf", "cpa", "greedy+lcpf", "maxk")):
            assert run.objective <= truth * (1 + 1e-9)
    if Schedule(night).exact:
        assert result.objective == pytest.approx(truth, rel=1e-4 if night.late else 1e-9, abs=1e-9)
    if result.objective is not None:
        assert result.objective <= truth * (1 + 1e-9)
        assert result.bound is not None
        assert result.bound >= truth * (1 - 1e-9)


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


def test_planted_reductions_are_yes() -> None:
    for seed in range(3):
        assert (
            solve(generate("dssp", "partition", seed=seed), formulation="schedule").objective == 1
        )
        night = generate("dssp", "matching", seed=seed)
        assert solve(night, formulation="schedule", time_limit=30).objective == 3


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
