"""What is in hand at once keeps every rule, and no optimum is beyond its bound."""

from importlib import import_module
from random import Random

import msgspec
import pytest
from builders.effort import examples

from schedopt.instances.constraints import Apart, AtLeast, FairShare, Require
from schedopt.solvers.door import TRIVIAL
from schedopt.solvers.dssp.trivial import trivial
from schedopt.verbs.generate import generate
from schedopt.verbs.solve import solve

DRAWN = import_module("contract.dssp").FORMULATIONS


@pytest.mark.parametrize("name", ["dssp/selection", "dssp/season"])
def test_it_keeps_the_rules_and_bounds_the_optimum(name: str) -> None:
    found = 0
    for seed in range(examples(40)):
        model = DRAWN[name](Random(seed))  # noqa: S311
        best = solve(DRAWN[name](Random(seed)), threads=1)  # noqa: S311
        solution, bound = trivial(model)
        if best.proven:
            assert best.objective <= bound, seed
        if solution is not None and "risk" not in model.options:  # which it need not keep
            found += 1
            assert best.termination != "infeasible", seed
            late = solve(model, time_limit=0.0, threads=1)
            assert late.violations == (), (seed, late.violations)
            assert late.solution is not None, seed
            assert model.instance.objective_of(solution) <= bound, seed
    assert found > 5


def test_floors_and_requirements_come_first() -> None:
    night = generate("dssp", "uncorrelated", seed=3, options={"jobs": 3000, "groups": 6})
    poorest = min(night.jobs, key=lambda job: job.reward / max(job.demand or 0, 1))
    rules = [
        FairShare(by="team", at_most={"team-01": 0.1}, at_least={"team-02": 0.2}),
        Require(jobs=(poorest.name,)),
        AtLeast(by="team", group="team-03", count=40),
    ]
    result = solve(night, constraints=rules, time_limit=0.0)
    assert result.violations == ()
    assert poorest.name in result.solution.selected
    assert result.objective <= result.bound


def test_a_season_has_something_in_hand_without_any_time() -> None:
    season = generate("dssp", "season", seed=1, options={"nights": 20, "processors": 100})
    cap = FairShare(by="team", each={"at_most": 0.4}, window=3)
    season = msgspec.structs.replace(season, constraints=(cap,))
    result = solve(season, formulation="season", time_limit=0.0)
    assert result.violations == ()
    assert 0 < result.objective <= result.bound
    assert result.termination == "time-limit"


@pytest.mark.parametrize("name", ["dssp/selection", "dssp/season"])
def test_too_many_rows_are_given_to_no_engine(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    season = generate("dssp", "season", seed=2, options={"nights": 3, "processors": 100})
    if name == "dssp/selection":
        jobs = tuple(
            msgspec.structs.replace(job, first_night=1, last_night=None) for job in season.jobs
        )
        season = msgspec.structs.replace(season, nights=1, jobs=jobs)
    rules = [Apart(jobs=tuple(job.name for job in season.jobs[i : i + 3])) for i in (0, 2, 9)]
    best = solve(season, constraints=rules, threads=1, gap=0.01)
    for limit in ("WRITTEN", "WRITTEN_A_SECOND", "APART", "SMALL"):
        monkeypatch.setattr(f"schedopt.solvers.dssp.selection.{limit}", 0)
    result = solve(season, constraints=rules, time_limit=5.0)
    assert result.termination == "time-limit"
    assert result.found_by == result.bounded_by == TRIVIAL
    assert result.violations == ()
    assert result.objective <= best.bound
    assert best.objective <= result.bound
