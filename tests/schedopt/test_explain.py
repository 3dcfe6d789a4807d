"""solve --explain: each price is the difference that plain enumeration finds."""

import json
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
from builders.dssp import best
from typer.testing import CliRunner

import schedopt
from schedopt.cli import app
from schedopt.instances import files
from schedopt.instances.dssp import Instance
from schedopt.instances.errors import InputError
from schedopt.problems.dssp.reasons import reasons
from schedopt.verbs.plan import plan


def night(seed: int) -> Instance:
    draw = random.Random(seed)  # noqa: S311
    jobs = [
        {
            "name": f"j{j}",
            "reward": draw.randrange(1, 12),
            "demand": draw.randrange(1, 8),
            "critical_path": draw.choice((1, 1, 1, 1, 11)),
            "groups": {"team": ("fx", "light")[j % 2]},
        }
        for j in range(8)
    ]
    rules = [
        {"kind": "fair-share", "name": "cap", "by": "team", "at_most": {"fx": 0.3}},
        {"kind": "apart", "name": "one", "jobs": ["j1", "j3"]},
        {"kind": "forbid", "jobs": ["j5"]},
    ]
    document = {"problem": "dssp", "name": f"n{seed}", "processors": 2, "deadline": 10}
    return files.parse(files.encode({**document, "jobs": jobs, "constraints": rules}))


@pytest.mark.parametrize("seed", range(12))
def test_prices_are_the_differences_that_solving_again_finds(seed: int) -> None:
    instance = night(seed)
    result = schedopt.solve(instance, explain=True)
    told: Any = result.explanation
    assert told["unproven"] == 0
    optimum = best(instance)
    assert optimum == result.objective
    for i, price in enumerate(told["rules"]):
        rules = tuple(rule for k, rule in enumerate(instance.constraints) if k != i)
        other = best(msgspec.structs.replace(instance, constraints=rules))
        assert price["cost"] == pytest.approx(other - optimum)
        gained = sum(instance.jobs[instance.index[name]].reward for name in price["gains"])
        lost = sum(instance.jobs[instance.index[name]].reward for name in price["loses"])
        assert gained - lost == pytest.approx(price["cost"])
    wider = msgspec.structs.replace(instance, processors=3)
    longer = msgspec.structs.replace(instance, deadline=11.0)
    for more, other_night in zip(told["more"], (wider, longer), strict=True):
        assert more["worth"] == pytest.approx(best(other_night) - optimum)
    out = [job.name for job in instance.jobs if job.name not in result.solution.selected]
    assert [one["job"] for one in told["left_out"]] == out
    for one in told["left_out"]:
        job = instance.jobs[instance.index[one["job"]]]
        asked = best(instance, [schedopt.Require(jobs=(one["job"],))])
        if one["reason"] == "never":
            assert job.critical_path > instance.deadline
        elif asked is None:
            assert one["needed"] is None and one["reason"] in ("rule:forbid[2]", "rule:cap")
        else:
            assert one["needed"] == pytest.approx(optimum - asked + job.reward)
            dearer = msgspec.structs.replace(job, reward=one["needed"] + 1)
            jobs = tuple(dearer if other is job else other for other in instance.jobs)
            again = schedopt.solve(msgspec.structs.replace(instance, jobs=jobs))
            assert job.name in again.solution.selected


def test_on_the_command_line_and_where_time_runs_out(tmp_path: Path) -> None:
    files.dump(night(1), tmp_path / "n.json")
    run = CliRunner().invoke
    ended = run(app, ["solve", str(tmp_path / "n.json"), "--explain", "--json"])
    assert ended.exit_code == 0
    told = json.loads(ended.stdout)["explanation"]
    assert {one["what"] for one in told["more"]} == {"1 processor more", "1 unit of time more"}
    ended = run(app, ["solve", str(tmp_path / "n.json"), "--explain"])
    assert "what each rule costs" in ended.stdout
    result = schedopt.solve(night(1), explain=True, time_limit=0)
    if result.explanation:
        assert result.explanation["unproven"] and "not proven" in str(result.message)
    with pytest.raises(InputError, match="no prices"):
        schedopt.solve(schedopt.example("twins"), explain=True)


def test_a_season_is_explained_too() -> None:
    instance = files.parse(
        b'{"problem":"dssp","name":"s","processors":1,"deadline":5,"nights":2,"jobs":['
        b'{"name":"a","reward":5,"stages":[[4]],"groups":{"team":"fx"}},'
        b'{"name":"b","reward":4,"stages":[[4]],"groups":{"team":"fx"}},'
        b'{"name":"c","reward":3,"stages":[[3]],"last_night":1},{"name":"d","reward":3,'
        b'"stages":[[6]]}],"constraints":['
        b'{"kind":"fair-share","name":"cap","by":"team","each":{"at_most":0.4},"window":2}]}'
    )
    told: Any = schedopt.solve(instance, explain=True).explanation
    assert told["rules"][0]["cost"] == 1 and told["rules"][0]["gains"] == ["b"]
    assert [one["reason"] for one in told["left_out"]] == ["rule:cap", "never"]


@pytest.mark.parametrize("seed", range(4))
def test_plan_and_explanation_give_one_reason(seed: int) -> None:
    instance = night(seed)
    result = schedopt.solve(instance, explain=True)
    told: Any = result.explanation
    why = {job: str(reason) for job, reason in reasons(instance, result).items()}
    assert why == {one["job"]: one["reason"] for one in told["left_out"]}
    table = plan(instance, result)
    rows = table.filter(~table["run"])
    assert dict(zip(rows["job"], rows["reason"], strict=True)) == why
