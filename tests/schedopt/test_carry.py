"""Carry: nights solved one after the other, each knowing what the others used, make a season."""

import json
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
from builders.cli import run

import schedopt
from schedopt.instances import files
from schedopt.instances.dssp import Instance, selected_nights
from schedopt.instances.errors import InputError
from schedopt.solvers.result import Result


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
@pytest.mark.parametrize("seed", [1, 2])
def test_carried_shares_keep_the_rule_of_the_season(memory: dict[str, Any], seed: int) -> None:
    nights = nights_of(5, seed)
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


def test_from_results_to_the_rules_of_tonight_on_the_command_line(tmp_path: Path) -> None:
    first, second = nights_of(2, 3)
    for night in (first, second):
        files.dump(night, tmp_path / f"{night.name}.json")
    (tmp_path / "cap.json").write_bytes(files.encode([rule()]))
    at = tmp_path.joinpath
    run("solve", at("n1.json"), "--constraints", at("cap.json"), "-o", at("r1.json"))
    run("carry", at("r1.json"), "--half-life", "7d", "--output", at("rules.json"))
    told = json.loads(at("rules.json").read_bytes())
    used = json.loads(at("r1.json").read_bytes())["solution"]["shares"]["team"]["fx"] * 15
    assert told[0]["past"]["fx"] == pytest.approx(used)
    assert (told[0]["past_total"], told[0]["half_life"]) == (15, 7)
    assert told[0]["at_most"] == {"fx": 0.4}
    run("solve", at("n2.json"), "--constraints", at("rules.json"), "-o", at("r2.json"))
    both = run("carry", at("r1.json"), at("r2.json"), "--window", "7", "--json")
    assert json.loads(both.stdout)[0]["past_total"] == 30


@pytest.mark.parametrize(
    ("memory", "says"),
    [
        ({"half_life": "soon"}, "nights"),
        ({}, "half-life or --window"),
        ({"window": 1.5}, "whole nights"),
        ({"window": 2}, "a fair share to carry over"),
    ],
)
def test_what_carry_is_not_given(memory: dict[str, Any], says: str) -> None:
    result = schedopt.solve(nights_of(1, 1)[0])
    with pytest.raises(InputError, match=says):
        schedopt.carry(result, **memory)
