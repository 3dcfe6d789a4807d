"""Selections under risk: forged claims are refused, and chances are what nights drawn anew say."""

from functools import cache
from math import inf
from typing import Any

import msgspec
import pytest

import schedopt
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.dssp.jobs import Lognormal
from schedopt.solvers.result import Document
from schedopt.validation.documents import check

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
