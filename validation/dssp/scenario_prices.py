"""Re-prove a bound under risk from prices of scenarios, in whole numbers, without a solver.

In scenario s the selected jobs that are in time fit the machine. So for any prices, of the room
there is in each scenario and of the room there is by planned times, nothing is worth more than

    all prices + sum over jobs of what each brings beyond what it asks for at these prices,

where a job is in time in the scenarios in which that pays, or under a chance in those that are the
cheapest. Under ``cvar`` scenarios have weights, none above that of the worst part. This holds for
selections and for schedules: neither the order nor the dispatcher matters.

Where a selection is ``served`` in its order, more is known: whoever is in time, all before him have
taken their room. In each scenario the jobs up to some place are served, of copies of the selection.
That the copies are one selection has prices too, `_claims`; any would do.
"""

from collections.abc import Mapping
from fractions import Fraction
from math import ceil, floor
from typing import Any

import msgspec
import numpy as np

from schedopt.instances.decimals import as_written
from schedopt.instances.dssp.scenarios import DECIDING, MILLION, Measure, factors
from schedopt.solvers.result import Document
from schedopt.validation.dssp.facts import Facts
from schedopt.validation.dssp.risk import by_density


class ScenarioPrices(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="scenario-prices"
):
    """Whole prices, of which ``parts`` are one unit of reward, and whole weights of scenarios.

    ``planned`` is the price of all there is by planned times, ``prices`` of all in each scenario.
    """

    parts: str
    planned: str
    prices: list[str]
    weights: list[str]
    served: bool = False


def shown(facts: Facts, certificate: Mapping[str, object], claim: Document) -> str | None:
    """Return why a bound does not follow from prices; None where it does."""
    given = msgspec.convert(certificate, ScenarioPrices, strict=True)
    numbers = [given.parts, given.planned, *given.prices, *given.weights]
    if not all(text.isascii() and text.isdigit() and len(text) < 200 for text in numbers):
        return "prices: whole numbers of up to 199 digits are expected"
    measure, count = Measure.read(claim.options.get("risk")), claim.options["scenarios"]
    drawn = factors(facts.night, claim.options["seed"], DECIDING, count)
    weights = [int(text) for text in given.weights]
    unit = sum(weights)
    if not len(given.prices) == len(weights) == count or not int(given.parts) or not unit:
        return f"prices: of {count} scenarios each has a price and a weight"
    tail = (1 - measure.level) * count if measure.kind == "cvar" else count
    if max(weights) * tail > unit:
        return "weights: one is above that of the worst scenarios"
    if facts.windowed or facts.night.beyond or facts.night.nights > 1:
        return "prices: of nights without windows of jobs' own alone"
    if given.served and (claim.formulation != "selection" or measure.kind == "chance"):
        return "prices: an order that is not that of schedules, nor of chances"
    return _compared(facts, measure, given, drawn, claim)


def _compared(
    facts: Facts, measure: Measure, given: ScenarioPrices, drawn: Any, claim: Document
) -> str | None:
    """Compare what the prices prove with the claim."""
    parts, planned, weights = int(given.parts), int(given.planned), list(map(int, given.weights))
    prices, unit = np.array(list(map(int, given.prices)), dtype=object), sum(weights)
    there = facts.night.processors * facts.deadline * facts.scale
    names = {name for name, units in facts.units.items() if units <= facts.fill * there}
    jobs = [job for job in facts.night.jobs if facts.fits(job.name) and job.name in names]
    at = [facts.night.index[job.name] for job in jobs]
    rewards = [as_written(job.reward) for job in jobs]
    work = np.array([facts.units[job.name] for job in jobs], dtype=object)
    room, planned_room = int(min(facts.fill, Fraction(1)) * there * MILLION), facts.fill * there
    if not room:
        return "prices: there is no room to have a price"
    scale = max((reward.denominator for reward in rewards), default=1)
    while any(scale % reward.denominator for reward in rewards):
        scale *= 10
    worth = np.array([int(reward * scale) for reward in rewards], dtype=object)
    longest = [
        (facts.due[job.name] - facts.release[job.name]) * MILLION // path
        if (path := facts.critical_path[job.name])
        else 2**62
        for job in jobs
    ]
    fits = drawn[:, at].astype(object) <= np.array(longest, dtype=object)
    charge = unit * scale * prices[:, None] * (drawn[:, at].astype(object) * work)
    if measure.kind == "chance":
        least = ceil(measure.level * len(drawn))
        enough = fits.sum(axis=0) >= least
        never = int(charge.max(initial=0)) + 1
        cheapest = np.sort(np.where(fits, charge, never), axis=0)[:least].sum(axis=0)
        brings = np.where(enough, parts * unit * room * worth - cheapest, 0)
    else:
        gain = fits * (np.array(weights, dtype=object) * parts * room)[:, None] * worth - charge
        brings = np.where(fits.astype(bool), np.maximum(gain, 0), 0).sum(axis=0)
    total = Fraction(planned + int(prices.sum()))
    if given.served:
        unit_of = room * unit * scale
        fitting = dict(zip(at, fits.sum(axis=0).tolist(), strict=True))
        place = {j: i for i, j in enumerate(at)}
        order = [place[j] for j in by_density(facts.night.jobs, fitting)]
        paid = [planned * unit_of * w / planned_room for w in work.tolist()]
        cost = np.array([floor(price) for price in paid], dtype=object)
        most = _served(gain[:, order], prices > 0, cost[order])
        total += Fraction(most, unit_of)
        brings = brings[:0]
    for brought, asked in zip(brings.tolist(), work.tolist(), strict=not given.served):
        paid = planned * asked / planned_room
        total += max(Fraction(0), Fraction(brought, room * unit * scale) - paid)
    proven, claimed = total / parts, Fraction(claim.bound or 0.0)
    if proven <= claimed + abs(claimed) / 10**14:
        return None
    return f"prices of scenarios prove {float(proven):.17g}, not {claim.bound:.17g}"


def _served(gain: Any, on: Any, cost: Any) -> int:
    """Return the most that a selection's copies gain in all scenarios beyond what is priced."""
    claims = _claims(gain, on, cost)
    spared = np.maximum(-claims, 0)
    walk = np.cumsum(np.maximum(gain - claims, 0) - spared, axis=1).max(axis=1)
    left = np.maximum(claims.sum(axis=0) - cost, 0)
    return int(np.maximum(walk, 0).sum() + spared.sum() + left.sum())


def _claims(gain: Any, on: Any, cost: Any) -> Any:
    """Return each job's claim in each scenario; together at most its cost.

    Burdens are carried, and what is gained beyond the cost is left to scenarios with a price.
    """
    whole = 2**60
    gains, burden = np.maximum(gain, 0), np.maximum(-gain, 0).sum(axis=0)
    dear, rest = gains[on].sum(axis=0), gains[~on].sum(axis=0)
    free = (dear + rest - cost) * whole // np.maximum(burden, 1)
    carried = np.minimum(whole, np.maximum(0, free))
    part = (cost * whole + carried * burden - rest * whole) // np.maximum(dear, 1)
    part = np.where(on[:, None], np.minimum(whole, np.maximum(0, part)), whole)
    return np.where(gain > 0, part, carried) * gain // whole
