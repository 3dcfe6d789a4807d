"""Prices of scenarios prove what their definition says, to the last digit, and nothing else."""

from fractions import Fraction
from itertools import accumulate, chain, combinations
from math import ceil
from random import Random
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
from builders.effort import tried
from hypothesis import strategies as st

from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.dssp.scenarios import DECIDING, MILLION, Measure, factors
from schedopt.validation.dssp import scenario_prices
from schedopt.validation.dssp.facts import Facts


def asked(told: str, count: int, **more: Any) -> Any:
    """Return a claim about so many scenarios."""
    options = {"risk": told, "scenarios": count, "seed": 7}
    return SimpleNamespace(options=options, formulation="selection", **{"bound": 0.0} | more)


def some_night(draw: Random) -> Instance:
    """Draw jobs in tenths: some too large, some too long."""
    jobs = tuple(
        Job(
            name=f"j{i}",
            reward=draw.randint(0, 90) / draw.choice((1, 10, 100)),
            demand=draw.randint(0, 150) / 10,
            critical_path=draw.choice((0, draw.randint(1, 60) / 10)),
            spread=draw.choice((None, 0.9)),
        )
        for i in range(draw.randint(1, 5))
    )
    return Instance(name="priced", processors=draw.randint(1, 2), deadline=5.5, jobs=jobs)


def proven(facts: Facts, told: str, given: dict[str, Any], count: int) -> Fraction:
    """Return the bound by its definition: prices, and what jobs bring beyond them."""
    night, measure = facts.night, Measure.read(told)
    parts = int(given["parts"])
    planned = Fraction(int(given["planned"]), parts)
    prices = [Fraction(int(price), parts) for price in given["prices"]]
    weights = [
        Fraction(int(weight), sum(map(int, given["weights"]))) for weight in given["weights"]
    ]
    there = night.processors * as_written(night.deadline)
    room, whole = min(facts.fill, Fraction(1)) * there, facts.fill * there
    bound = planned + sum(prices)
    drawn = factors(night, 7, DECIDING, count)
    for j, job in enumerate(night.jobs):
        demand, path = as_written(job.demand or 0.0), as_written(job.critical_path or 0.0)
        if demand > whole or path > as_written(night.deadline):
            continue
        longer = [Fraction(int(one), MILLION) for one in drawn[:, j]]
        fitting = [s for s in range(count) if longer[s] * path <= as_written(night.deadline)]
        asks = {s: prices[s] * longer[s] * demand / room for s in fitting}
        reward = as_written(job.reward)
        if measure.kind == "chance":
            least = ceil(measure.level * count)
            enough = len(fitting) >= least
            brings = reward - sum(sorted(asks.values())[:least]) if enough else Fraction(0)
        else:
            brings = sum((max(0, weights[s] * reward - asks[s]) for s in fitting), Fraction(0))
        bound += max(Fraction(0), brings - planned * demand / whole)
    return bound


@tried(150, seed=st.integers(0, 2**31))
def test_prices_prove_what_they_are_defined_to(seed: int) -> None:
    draw = Random(seed)  # noqa: S311
    night, count = some_night(draw), draw.randint(2, 6)
    told = draw.choice(("mean", "cvar:0.5", "chance:0.5", "chance:0.9"))
    facts = Facts(night, draw.choice((0.5, 1.0, 1.5)))
    weights = [1] * count
    if told == "cvar:0.5":  # one above the others, by as much as the worst half allows
        weights = [draw.randint(2, 4) for _ in range(count)]
        weights[0] = max(weights[0], sum(weights[1:]) // (count - 1))
        while max(weights) * count > 2 * sum(weights):
            weights[weights.index(max(weights))] -= 1
    top = draw.choice((3, 40))
    given = {
        "kind": "scenario-prices",
        "parts": str(draw.randint(1, 9)),
        "planned": str(draw.randint(1, top)),
        "prices": [str(draw.randint(0, top)) for _ in weights],
        "weights": [str(weight) for weight in weights],
    }
    bound = proven(facts, told, given, count)
    above, below = (float(bound) * (1 + by) for by in (1e-13, -1e-13))
    assert scenario_prices.shown(facts, given, asked(told, count, bound=above)) is None
    refused = scenario_prices.shown(facts, given, asked(told, count, bound=below))
    assert refused is not None and refused.startswith("prices of scenarios prove")


@tried(150, seed=st.integers(0, 2**31))
def test_no_selection_that_is_served_in_order_gains_more(seed: int) -> None:
    draw = np.random.default_rng(seed)
    scenarios, jobs = int(draw.integers(1, 5)), int(draw.integers(1, 6))
    unit = 10**6  # claims are rounded: what that takes is below it
    gain = draw.integers(-9, 10, (scenarios, jobs)).astype(object) * unit
    on, cost = draw.random(scenarios) < 0.5, draw.integers(0, 30, jobs).astype(object) * unit
    least = 0
    for chosen in chain.from_iterable(combinations(range(jobs), n) for n in range(jobs + 1)):
        walks = (max(accumulate(row[list(chosen)].tolist(), initial=0)) for row in gain)
        least = max(least, sum(walks) - int(cost[list(chosen)].sum()))
    found = scenario_prices._served(gain, on, cost)
    assert found >= least - unit // 2
    whoever = np.maximum(np.maximum(gain, 0).sum(axis=0) - cost, 0).sum()  # without an order
    assert found <= whoever + unit // 2
    claims = scenario_prices._claims(gain, on, cost)
    assert ((claims >= 0) | (gain <= 0)).all()
    assert (abs(claims) <= abs(gain)).all()


def test_claims_carry_burdens_as_far_as_gains_and_cost_go() -> None:
    gain = np.array([[4, 0], [4, -1], [-6, 0]], dtype=object)
    on, cost = np.array([True, False, False]), np.array([2, 0], dtype=object)
    assert scenario_prices._claims(gain, on, cost).tolist() == [[4, 0], [4, 0], [-6, 0]]
    assert scenario_prices._served(gain, on, cost) == 4 + 4 - 2


NIGHT = Instance(
    name="one",
    processors=1,
    deadline=4,
    jobs=(Job(name="a", reward=2, stages=((3,),), spread=0.2),),
)
RIGHT: dict[str, Any] = {
    "kind": "scenario-prices",
    "parts": "1",
    "planned": "1",
    "prices": ["1"] * 4,
    "weights": ["1"] * 4,
}
WINDOWED = msgspec.structs.replace(
    NIGHT, jobs=(Job(name="a", reward=2, stages=((3,),), release=1),)
)


@pytest.mark.parametrize(
    ("change", "told", "night", "says"),
    [
        ({"planned": "-1"}, "mean", NIGHT, "whole numbers"),
        ({"planned": "1" * 200}, "mean", NIGHT, "whole numbers"),
        ({"prices": ["1", "1", "1", "\u0661"]}, "mean", NIGHT, "whole numbers"),
        ({"prices": ["1"] * 3}, "mean", NIGHT, "of 4 scenarios"),
        ({"weights": ["1"] * 5}, "mean", NIGHT, "of 4 scenarios"),
        ({"parts": "0"}, "mean", NIGHT, "of 4 scenarios"),
        ({"weights": ["0"] * 4}, "mean", NIGHT, "of 4 scenarios"),
        ({"weights": ["2", "1", "1", "1"]}, "mean", NIGHT, "weights: one is above"),
        ({"weights": ["3", "1", "1", "0"]}, "cvar:0.5", NIGHT, "weights: one is above"),
        ({}, "mean", WINDOWED, "without windows"),
        ({}, "mean", msgspec.structs.replace(NIGHT, nights=2), "without windows"),
        ({}, "mean", msgspec.structs.replace(NIGHT, changes=((2, 2),)), "without windows"),
        ({"served": True}, "chance:0.5", NIGHT, "an order"),
        ({}, "mean", msgspec.structs.replace(NIGHT, deadline=1e-7), "no room"),
    ],
    ids=str,
)
def test_what_is_no_proof_is_refused(
    change: dict[str, Any], told: str, night: Instance, says: str
) -> None:
    claim = asked(told, 4, bound=99.0)
    facts, given = Facts(night, 1.0), RIGHT | change
    assert says in str(scenario_prices.shown(facts, given, claim))
    assert scenario_prices.shown(Facts(NIGHT, 1.0), RIGHT, claim) is None
    claim.formulation = "schedule"
    served = scenario_prices.shown(Facts(NIGHT, 1.0), RIGHT | {"served": True}, claim)
    assert "an order" in str(served)
