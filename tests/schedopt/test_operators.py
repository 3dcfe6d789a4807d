"""What an operator of a night meets: refusals before work, plans, and shares carried over."""

import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
from builders.cli import run

import schedopt
from schedopt.instances.constraints import FairShare
from schedopt.instances.dssp import Instance, Job, selected_nights
from schedopt.solvers.result import Result


def crowded() -> Instance:
    """Three jobs whose demand fits, of which no dispatcher has more than two in time."""
    jobs = tuple(Job(name=name, reward=1, stages=((6,),)) for name in "abc")
    return Instance(name="crowded", processors=2, deadline=10, jobs=jobs)


def test_solve_cautions_first_about_a_job_that_ends_late(tmp_path: Path) -> None:
    night = crowded()
    schedopt.dump(night, tmp_path / "n.json")
    said = run("solve", tmp_path / "n.json")
    first = said.stdout.splitlines()[0]
    assert first.startswith("caution")
    assert "1 selected job would end late" in first and "formulation schedule" in first
    table = schedopt.plan_table(night, schedopt.solve(night))
    assert table["run"].to_list() == [True, True, False]
    assert table["reason"].to_list() == ["", "", "late"]
    assert table["late"].to_list() == [0, 0, 2]
    paid = msgspec.structs.replace(night, late=((0, 1), (4, 0)))
    assert schedopt.plan_table(paid, schedopt.solve(paid))["run"].to_list() == [True] * 3


def test_carried_rules_apply_to_a_night_without_the_group(tmp_path: Path) -> None:
    def made(team: str) -> Instance:
        jobs = (Job(name="a", reward=1, stages=((6,),), groups={"team": team}),)
        return msgspec.structs.replace(crowded(), jobs=jobs)

    both = msgspec.structs.replace(crowded(), jobs=(made("fx").jobs[0], *crowded().jobs[1:]))
    cap = FairShare(by="team", at_most={"fx": 0.1}, at_least={"fx": 0}, name="cap")
    schedopt.dump(schedopt.solve(both, constraints=[cap]), tmp_path / "monday.json")
    run("carry", tmp_path / "monday.json", "--window", 3, "-o", tmp_path / "rules.json")
    schedopt.dump(made("light"), tmp_path / "tuesday.json")
    said = run("solve", tmp_path / "tuesday.json", "--constraints", tmp_path / "rules.json")
    assert "1 of 1 selected" in said.stdout


def rule(**memory: Any) -> schedopt.FairShare:
    return schedopt.FairShare(name="fair", by="team", at_most={"fx": 0.4}, **memory)


def nights_of(count: int, seed: int) -> list[Instance]:
    draw = random.Random(seed)  # noqa: S311
    found = []
    for n in range(1, count + 1):
        jobs = tuple(
            schedopt.dssp.Job(
                name=f"n{n}-j{j}",
                reward=draw.randrange(1, 9),
                demand=draw.randrange(1, 6),
                critical_path=1,
                groups={"team": ("fx", "light")[j % 2]},
            )
            for j in range(8)
        )
        found.append(Instance(name=f"n{n}", processors=3, deadline=5, jobs=jobs))
    return found


@pytest.mark.parametrize("memory", [{"half_life": 2.5}, {"window": 3}, {"window": 1}])
def test_carried_shares_keep_the_rule_of_the_season(memory: dict[str, Any]) -> None:
    nights = nights_of(5, 1)
    results: list[Result] = []
    for night in nights:
        rules = [rule()]
        if results:
            rules = schedopt.carry(results, **memory, constraints=[rule()])  # type: ignore[assignment]
        results.append(schedopt.solve(night, constraints=rules))
        assert results[-1].proven
    jobs = [
        msgspec.structs.replace(job, first_night=n, last_night=n)
        for n, night in enumerate(nights, start=1)
        for job in night.jobs
    ]
    season = msgspec.structs.replace(
        nights[0], name="s", nights=5, jobs=tuple(jobs), constraints=(rule(**memory),)
    )
    chosen = [[season.index[name] for name in result.solution.selected] for result in results]
    solution = selected_nights(season, chosen)
    best = schedopt.solve(season)
    assert best.proven and not best.violations
    walked = msgspec.structs.replace(
        best,
        solution=solution,
        objective=sum(result.objective or 0.0 for result in results),
        solution_status="feasible",
        bound=None,
        gap=None,
    )
    assert not schedopt.check(season, walked).violations
    assert (walked.objective or 0.0) <= (best.objective or 0.0)
