"""What `--confirm` says: a second method agrees, disagrees, or is not there."""

from fractions import Fraction
from random import Random

import msgspec
import pytest
from builders.dssp_delicate import best_exactly, delicate
from builders.effort import tried
from builders.msfq import at_load, one_or_all
from contract.dssp import some_night, some_rule
from hypothesis import assume
from hypothesis import strategies as st

from schedopt import generate, solve
from schedopt.formulations.dssp import Selection
from schedopt.formulations.msfq import OptimalPolicy
from schedopt.problems import problem
from schedopt.solvers import door
from schedopt.solvers.result import Limits
from schedopt.verbs.solve import with_confirmation


@pytest.mark.parametrize(
    ("example", "second"),
    [
        ("dssp/constraints", "highs"),
        ("dssp/conflict", "highs"),
        ("epoch/fig8", "cp-sat"),
        ("hesrpt/amdahl-twins", "clarabel"),
    ],
)
def test_a_second_method_agrees(example: str, second: str) -> None:
    result = solve(f"instances/{example}.json", confirm=True)
    assert f"confirmed by {second}" in str(result.message)
    assert result.termination in ("optimal", "infeasible")


@tried(25, st.integers(0, 10**6))
def test_a_schedule_is_confirmed_start_by_start(seed: int) -> None:
    draw = Random(seed)  # noqa: S311
    night = some_night(draw, staged=True)
    assume(night.deadline < 100)  # of larger units there are too many starts
    rules = [some_rule(draw, [job.name for job in night.jobs]) for _ in range(draw.randint(0, 2))]
    result = solve(night, formulation="schedule", constraints=rules, confirm=True, threads=1)
    assert "confirmed by start-by-start" in str(result.message)
    assert result.termination in ("optimal", "infeasible")


def test_what_is_too_large_for_a_second_method_says_so() -> None:
    night = generate("dssp", seed=1)
    result = solve(night, formulation="schedule", confirm=True, time_limit=1)
    assert "not confirmed: cp-sat: time-limit" in str(result.message)


def test_a_queue_is_confirmed_by_its_chain() -> None:
    result = solve(at_load(4, 0.5), confirm=True, certificate=True)
    assert "confirmed by model" in str(result.message)  # as the table of engines says
    assert "no certificate" not in str(result.message)  # it needs none
    assert result.bound_checked


def test_an_optimal_policy_is_confirmed_by_the_linear_program() -> None:
    result = solve(at_load(2, 0.3), formulation="optimal-policy", confirm=True)
    assert result.proven
    assert "confirmed by model" in str(result.message)
    queues = problem("msfq")
    dearer = one_or_all(2, 0.25, 0.2)  # another question, so two methods disagree
    again = queues.confirm(OptimalPolicy(dearer), result, Limits())
    assert with_confirmation(result, again).termination == "error"
    assert queues.confirm(OptimalPolicy(at_load(8, 0.5)), result, Limits()) is None  # too large


def test_where_two_methods_disagree_nothing_is_optimal() -> None:
    result = solve("instances/dssp/constraints.json")
    other = msgspec.structs.replace(result, solver="other", objective=36.0, bound=36.0)
    judged = with_confirmation(result, other)
    assert judged.termination == "error"
    assert not judged.proven
    assert judged.bound is None
    assert "two methods disagree" in str(judged.message)


@tried(60, st.integers(0, 10**9))
def test_selecting_again_is_right(seed: int) -> None:
    night = delicate(seed, most=8)
    best = best_exactly(night)
    found = door.solve(Selection(night), solver="highs")
    second = door.confirm(Selection(night), found, Limits())
    assert second is not None and second.solver in ("scip", "highs", "tree")
    found = second
    if best is None:
        assert found.termination == "infeasible"
    else:
        assert found.proven
        reward = {job.name: Fraction(str(job.reward)) for job in night.jobs}
        assert sum((reward[name] for name in found.solution.selected), Fraction(0)) == best


def test_a_certificate_that_proves_too_little_is_kept_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "schedopt.validation.hesrpt.bound.reproved", lambda *given: "a price is missing"
    )
    result = solve("example:twins", certificate=True)
    assert result.proven
    assert result.violations == ()
    assert result.certificate is msgspec.UNSET
    assert "no certificate (bound: a price is missing): the bound is believed" in result.message
