"""Selections under risk: forged claims are refused, and chances are what nights drawn anew say."""

from functools import cache
from math import inf, sqrt
from random import Random
from statistics import stdev
from typing import Any

import msgspec
import pytest
from builders.dssp import Scenarios
from builders.effort import tried
from contract.dssp import some_night
from hypothesis import strategies as st

import schedopt
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.dssp.jobs import Lognormal
from schedopt.instances.dssp.scenarios import JUDGING, Measure, factors
from schedopt.solvers.result import Document
from schedopt.validation.documents import check
from schedopt.validation.dssp import risk
from schedopt.validation.dssp.facts import Facts

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


@cache
def solved(risk: str) -> Document:
    """Return what is found in 40 scenarios."""
    result = schedopt.solve(NIGHT, risk=risk, seed=7, options={"scenarios": 40}, certificate=True)
    assert result.proven
    reason = "a bound under risk does not follow from the declared rows"
    assert result.message == f"no certificate ({reason}): the bound is believed"
    document = result.document()
    assert check(NIGHT, document).ok
    return document


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
        {"risk": {"in_sample": inf}},
        {"risk": {"confidence": inf}},
        {"risk": {"confidence": 0.99}},
        {"options": {"seed": 8}},
        {"options": {"scenarios": 41}},
        {"options": {"risk": "cvar:0.5"}},
    ],
    ids=str,
)
def test_check_refuses_forged_claims_under_risk(risk: str, change: dict[str, Any]) -> None:
    document = solved(risk)
    forged: dict[str, Any] = {}
    if "objective" in change:
        forged["objective"] = document.objective * change["objective"]
        forged["bound"] = max(document.bound, forged["objective"])
    elif "options" in change:
        forged["options"] = document.options | change["options"]
        asked = document.question.options | change["options"]
        forged["question"] = msgspec.structs.replace(document.question, options=asked)
    else:
        told = {key: document.risk[key] * by for key, by in change["risk"].items()}
        forged["risk"] = document.risk | told if told else msgspec.UNSET
    assert not check(NIGHT, msgspec.structs.replace(document, **forged)).ok


def spread_over(draw: Random, night: Instance, spreads: tuple[Any, ...]) -> Instance:
    """Draw a spread for each job."""
    replace = msgspec.structs.replace
    return replace(
        night, jobs=tuple(replace(job, spread=draw.choice(spreads)) for job in night.jobs)
    )


def edges(share: float, count: int) -> tuple[float, float]:
    """Return Wilson's 95% interval of a share of some draws."""
    middle, square = share + 1.96**2 / 2 / count, share * (1 - share) / count
    wide = 1.96 * sqrt(square + 1.96**2 / 4 / count**2)
    return (middle - wide) / (1 + 1.96**2 / count), (middle + wide) / (1 + 1.96**2 / count)


@tried(150, seed=st.integers(0, 2**31))
def test_risk_measures_equal_scenarios_one_by_one(seed: int) -> None:
    draw = Random(seed)  # noqa: S311
    night = some_night(draw, staged=draw.random() < 0.7)
    night = spread_over(draw, night, (None, 0.5, Lognormal(sigma=0.4)))
    fill, count = draw.choice((0.5, 1.0, 1.5)), draw.randint(2, 9)
    names = [job.name for job in night.jobs if draw.random() < 0.7]
    drawn = factors(night, draw.randint(0, 99), JUDGING, count)
    facts = Facts(night, fill)
    kept = Scenarios(night, drawn.tolist(), min(fill, 1.0)).served(names)
    earned = sorted(sum(night.jobs[j].reward for j in one) for one in kept)
    served = risk._ServiceOrder(facts, frozenset(names), drawn)
    near = {"rel": 1e-9, "abs": 1e-12}
    worth, half = served.worth(Measure.read("mean"), drawn)
    assert worth == pytest.approx(sum(earned) / count, **near)
    assert half == pytest.approx(1.96 * stdev(earned) / sqrt(count), **near)
    tail = count * 0.3
    least = sum(e * min(1.0, max(0.0, tail - i)) for i, e in enumerate(earned))
    worth, half = served.worth(Measure.read("cvar:0.7"), drawn)
    assert worth == pytest.approx(least / tail, **near)
    level = earned[int(tail)]
    beyond = [level - max(0.0, level - e) / 0.3 for e in earned]
    assert half == pytest.approx(1.96 * stdev(beyond) / sqrt(count), **near)
    at = [night.index[name] for name in names]
    share = min((sum(j in one for one in kept) / count for j in at), default=1.0)
    worth, half = served.worth(Measure.read("chance:0.7"), drawn)
    assert worth == pytest.approx(share, **near)
    low, high = edges(share, count)
    assert half == pytest.approx((high - low) / 2, **near)
