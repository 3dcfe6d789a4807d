"""Selections under risk: forged claims are refused, and chances are what nights drawn anew say."""

from math import sqrt
from random import Random
from typing import Any

import msgspec
import pytest
from builders.effort import examples
from contract.dssp import some_night

import schedopt
from schedopt.instances.dssp import Instance, Job, Scheduled
from schedopt.instances.dssp.jobs import Lognormal
from schedopt.instances.dssp.scenarios import JUDGING, MILLION, factors
from schedopt.instances.errors import InputError
from schedopt.problems import problem
from schedopt.problems.dssp.chances import chances, ran
from schedopt.validation.documents import check
from schedopt.verbs.plan import carried_out, plan

NIGHT = Instance(
    name="guessed",
    processors=2,
    deadline=10,
    jobs=(
        Job(name="long", reward=9, stages=((5, 5), (2,)), spread=0.5),
        Job(name="wide", reward=4, stages=((2, 2, 1),), spread=Lognormal(sigma=0.4)),
        Job(name="sure", reward=1, stages=((2,),)),
        Job(name="slow", reward=3, stages=((9,),), spread=0.3),
    ),
)
MEASURES = ("mean", "cvar:0.8", "chance:0.9")


@pytest.mark.parametrize("risk", MEASURES)
@pytest.mark.parametrize(
    "change",
    [
        {"objective": 1.001},
        {"risk": {"in_sample": 1.001}},
        {"risk": {"out_of_sample": 0.999}},
        {"risk": {"confidence": 1.01}},
        {"risk": {"scenarios": 2.0}},
        {"risk": {}},
        {"options": {"seed": 8}},
        {"options": {"scenarios": 41}},
        {"options": {"risk": "cvar:0.5"}},
    ],
    ids=str,
)
def test_a_forged_claim_is_refused(risk: str, change: dict[str, Any]) -> None:
    result = schedopt.solve(NIGHT, risk=risk, seed=7, options={"scenarios": 40})
    document = result.document()
    assert result.proven
    assert check(NIGHT, document).ok
    forged: dict[str, Any] = {}
    if "objective" in change:
        forged["objective"] = document.objective * change["objective"]
        forged["bound"] = document.bound * change["objective"]
    elif "options" in change:
        forged["options"] = document.options | change["options"]
        asked = document.question.options | change["options"]
        forged["question"] = msgspec.structs.replace(document.question, options=asked)
    else:
        told = {key: document.risk[key] * by for key, by in change["risk"].items()}
        forged["risk"] = document.risk | told if told else msgspec.UNSET
    assert not check(NIGHT, msgspec.structs.replace(document, **forged)).ok


def test_a_job_without_its_chance_is_refused() -> None:
    all_of_them = schedopt.dssp.Selection(NIGHT).selected([0, 1, 2])
    result = schedopt.solve(NIGHT, risk="chance:0.9")
    document = msgspec.structs.replace(result, solution=all_of_them, objective=14.0).document()
    assert any("for a job, below 0.9" in what for what in check(NIGHT, document).violations)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"risk": "worst"}, "mean, cvar:Q or chance:Q"),
        ({"risk": "cvar:1"}, "mean, cvar:Q or chance:Q"),
        ({"risk": "mean", "formulation": "season"}, "an option of season"),
        ({"risk": "mean", "explain": True}, "without --risk"),
        ({"options": {"scenarios": 5}}, "--risk beside it"),
    ],
    ids=str,
)
def test_what_is_not_supported_is_refused(asked: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError) as refused:
        schedopt.solve(NIGHT, **asked)
    assert says in str(refused.value)


def test_a_machine_that_changes_is_refused_under_risk() -> None:
    with pytest.raises(InputError, match="capacity"):
        schedopt.solve(msgspec.structs.replace(NIGHT, changes=((4, 1),)), risk="mean")


def test_scenarios_are_the_same_however_many_are_drawn() -> None:
    few, many = factors(NIGHT, 3, JUDGING, 5), factors(NIGHT, 3, JUDGING, 2_000)
    assert (few == many[:5]).all()
    assert (many[:, 2] == MILLION).all()
    assert many[:, 0].min() >= 0.5 * MILLION
    assert many[:, 0].max() <= 1.5 * MILLION
    assert many.mean(axis=0) / MILLION == pytest.approx(1.0, abs=0.03)


def test_a_plan_tells_the_chance_of_each_job_that_is_run() -> None:
    result = schedopt.solve(NIGHT, risk="mean")
    columns = {
        c.title: c.cells for c in problem("dssp").plan(NIGHT, result, carried_out(NIGHT, result))
    }
    told = dict(zip(columns["job"], columns["chance"], strict=True))
    assert {name for name, chance in told.items() if chance is not None} == set(
        result.solution.selected
    )
    assert 0 < told["long"] < 1
    plain = msgspec.structs.replace(
        NIGHT, jobs=tuple(msgspec.structs.replace(job, spread=None) for job in NIGHT.jobs)
    )
    certain = schedopt.solve(plain)
    assert "chance" not in plan(plain, certain, carried_out(plain, certain)).columns


def test_a_chance_lies_in_its_interval_on_nights_simulated_anew() -> None:
    """Its 99% interval, of at least 95 of 100 nights."""
    held = tried = 0
    draw = Random(29)  # noqa: S311
    while tried < examples(100):
        night = some_night(draw, staged=True)
        spreads = [draw.choice((0.3, 0.6, Lognormal(sigma=0.4))) for _ in night.jobs]
        jobs = zip(night.jobs, spreads, strict=True)
        night = msgspec.structs.replace(
            night, jobs=tuple(msgspec.structs.replace(job, spread=s) for job, s in jobs)
        )
        result = schedopt.solve(night)
        run = carried_out(night, result)
        assert isinstance(run.solution, Scheduled)
        told = chances(night, run.solution, str(run.policy), tried)
        name = next((name for name, chance in told.items() if 0 < chance < 1), None)
        if name is None:
            continue
        anew_of, anew = ran(night, run.solution, str(run.policy), 1000 + tried)
        count, again = len(anew), float(anew[:, anew_of.tolist().index(night.index[name])].mean())
        both = (told[name] + again) / 2
        wide = 2.576 * sqrt(2 * both * (1 - both) / count) + 1 / count
        tried, held = tried + 1, held + (abs(told[name] - again) <= wide)
    assert held >= 0.95 * tried
