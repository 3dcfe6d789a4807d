"""Explanations: each price and each reason is held against plain enumeration."""

import json
import random
from itertools import chain, combinations
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import polars as pl
import pytest
from builders.dssp import best, night
from builders.effort import tried
from contract.dssp import some_rule
from hypothesis import example
from hypothesis import strategies as st
from typer.testing import CliRunner

import schedopt
from schedopt.cli import app
from schedopt.formulations.dssp import Selection
from schedopt.instances import constraints, files
from schedopt.instances.constraints import Constraint
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.errors import InputError
from schedopt.planning.reasons import left_out, reasons
from schedopt.validation.dssp.constraints import JudgedChoice, violations
from schedopt.validation.dssp.facts import Facts
from schedopt.verbs.plan_table import plan_table
from schedopt.verbs.solve import solve


def small_night(seed: int) -> Instance:
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
def test_explain_prices_and_reasons_equal_brute_force(seed: int) -> None:
    instance = small_night(seed)
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
    why = {one["job"]: one["reason"] for one in told["left_out"]}
    assert why == {job: str(reason) for job, reason in reasons(instance, result).items()}
    rows = plan_table(instance, result).filter(~pl.col("run"))
    assert dict(zip(rows["job"], rows["reason"], strict=True)) == why


def test_explain_on_the_command_line_and_at_a_time_limit(tmp_path: Path) -> None:
    files.dump(small_night(1), tmp_path / "n.json")
    run = CliRunner().invoke
    ended = run(app, ["solve", str(tmp_path / "n.json"), "--explain", "--json"])
    assert ended.exit_code == 0
    assert json.loads(ended.stdout)["explanation"]["unproven"] == 0
    ended = run(app, ["solve", str(tmp_path / "n.json"), "--explain"])
    assert "what each rule costs" in ended.stdout
    result = schedopt.solve(small_night(1), explain=True, time_limit=0)
    if result.explanation:
        assert result.explanation["unproven"] and "not proven" in str(result.message)
    with pytest.raises(InputError, match="no others are explained"):
        schedopt.solve(schedopt.example("twins"), explain=True)


def test_explain_season_gives_the_cost_of_a_cap_and_reasons_for_omitted_jobs() -> None:
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


def told(instance: Instance, *added: constraints.Constraint, fill: float = 1.0) -> dict[str, str]:
    result = solve(instance, constraints=added, options={"fill": fill})
    assert result.proven
    found = left_out(Selection(instance, fill=fill).add(*added), result.solution)
    return {name: str(reason) for name, reason in found.items()}


@example([(0, 0), (0, 1), (1, 10)], 0)  # of two rules, only one is broken once others make way
@tried(120, st.lists(st.tuples(st.integers(0, 9), st.integers(0, 12)), max_size=7), st.integers(0))
def test_reasons_hold_against_all_subsets_of_jobs(pairs: list[tuple[int, int]], seed: int) -> None:
    instance, draw = night(pairs, 10.0), Random(seed)  # noqa: S311
    count = draw.randint(0, 3) if pairs else 0
    rules = [some_rule(draw, [job.name for job in instance.jobs]) for _ in range(count)]
    rules = [rule for rule in rules if not isinstance(rule, constraints.Seats)]
    result = solve(instance, constraints=rules)
    if result.solution is None:
        return
    facts, chosen = Facts(instance, 1.0), frozenset(result.solution.selected)
    named = {constraints.label(rule, i): rule for i, rule in enumerate(rules)}
    found = left_out(Selection(instance).add(*rules), result.solution)
    assert set(found) == set(facts.demand) - chosen
    subsets = list(
        chain.from_iterable(combinations(sorted(chosen), k) for k in range(len(chosen) + 1))
    )
    reward = {job.name: job.reward for job in instance.jobs}

    def fits(names: frozenset[str]) -> bool:
        return facts.total(names) <= facts.capacity

    def judged(rule: Constraint, names: frozenset[str]) -> list[str]:
        return violations(rule, JudgedChoice([facts], [names]))

    possible = {name for name in reward if fits(frozenset({name}))}
    for name, reason in found.items():
        assert (reason.kind == "never") == (not fits(frozenset({name})))
        swaps = [
            chosen - set(gone) | {name}
            for gone in subsets
            if fits(chosen - set(gone) | {name})
            and (not gone or sum(reward[other] for other in gone) < reward[name])
        ]
        if reason.kind == "rule":
            rule = named[reason.rule]
            everyone = [
                frozenset({name, *others})
                for size in range(len(reward))
                for others in combinations(possible - {name}, size)
            ]
            shut_out = all(judged(rule, names) for names in everyone)
            assert shut_out or any(judged(rule, names) for names in swaps)
        elif reward[name] and chosen | {name} in swaps:
            pytest.fail(f"{name} is {reason}, though there is room for it")


def test_explain_schedule_by_solving_again() -> None:
    """Two jobs of three tasks fill half of the capacity each, but only one of them fits."""
    jobs = tuple(
        Job(name=name, reward=reward, stages=((2.0, 2.0, 2.0),))
        for name, reward in (("a", 5.0), ("b", 3.0))
    )
    night = Instance(name="x", processors=2, deadline=6.0, jobs=jobs)
    cap = constraints.AtMost(name="one", jobs=("a", "b"), count=1)
    told: Any = schedopt.solve(night, formulation="schedule", constraints=cap, explain=True)
    assert told.explanation["rules"][0]["cost"] == 3.0
    (left,) = told.explanation["left_out"]
    assert (left["job"], left["needed"], left["rules"]) == ("b", 5.0, ["one"])
    shorter = msgspec.structs.replace(night, deadline=5.0)
    told = schedopt.solve(shorter, formulation="schedule", explain=True)
    (left,) = told.explanation["left_out"]
    assert (left["job"], left["needed"], left["proven"]) == ("b", 5.0, True)
