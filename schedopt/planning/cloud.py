"""Cloud processors: which jobs run there, within a budget or at the least bill.

The cloud is a pool of processors in addition to those of the farm. Each job that may run there has
a twin that runs only there; at most one of the two runs. The bill is the price of the rented
processor-hours. It is a resource that the budget limits, and the last objective, to be minimized.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from msgspec.structs import replace

from schedopt.instances.constraints import (
    Apart,
    AtLeast,
    AtMost,
    Constraint,
    FairShare,
    Forbid,
    Imply,
    Require,
    Resource,
    Seats,
    Together,
)
from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.dssp.records import LEAST
from schedopt.instances.errors import InputError, quote
from schedopt.instances.fair_share import weight
from schedopt.instances.times import NUMBER

CLOUD, FARM = "cloud", "farm"  # the pools
BILL, BUDGET = "bill", "budget"  # the value of jobs and the objective; the rule
TWIN = "cloud of"  # the label of a twin, which names its job
HOURS = {"s": Fraction(1, 3600), "m": Fraction(1, 60), "h": Fraction(1), "d": Fraction(24)}


@dataclass(frozen=True)
class Offer:
    """An offer of processors to rent."""

    processors: int  # the most at a time
    price: Fraction  # of a processor-hour
    budget: Fraction | None = None  # the largest bill
    everything: bool = False  # whether every job must run on time, at the least bill

    @classmethod
    def of(
        cls,
        text: str,
        budget: str | float | None,
        *,
        everything: bool,
        place: str = "cloud",
        budget_place: str = "budget",
    ) -> Offer:
        """Read ``200@0.05``: 200 processors at 0.05 for a processor-hour."""
        count, sign, price = (part.strip() for part in str(text).partition("@"))
        whole = count.isascii() and count.isdecimal() and int(count) > 0
        if not (sign and whole and NUMBER.fullmatch(price)) or float(price) < 0:
            expected = "PROCESSORS@PRICE, such as 200@0.05 for a processor-hour"
            raise InputError(expected, found=quote(text), place=place)
        most = None
        if budget is not None:
            if not NUMBER.fullmatch(str(budget)) or float(budget) < 0:
                raise InputError("an amount of money >= 0", found=quote(budget), place=budget_place)
            most = as_written(float(budget))
        return cls(int(count), as_written(float(price)), most, everything)


def with_cloud(
    night: Instance, rules: Iterable[Constraint], offer: Offer, going: Sequence[str]
) -> tuple[Instance, list[Constraint], list[str]]:
    """Return a night with cloud processors, its further rules, and which jobs stay on the farm.

    ``going`` are the jobs that may run in the cloud; each has a twin there, which counts as the job
    in the rules. Shares of the machine remain shares of the farm alone. `InputError` if the night
    has pools, or a fair share of the selected demand.
    """
    if night.pools:
        raise InputError("a night without pools, since the cloud is a pool", place="cloud")
    stays = _tied(night, [*night.constraints, *rules])
    names = [name for name in dict.fromkeys(going) if name not in stays]
    notes = [f"{name} stays on the farm: {stays[name]}" for name in going if name in stays]
    twins = {name: _twin_name(name, night.index) for name in names}
    jobs = [*(replace(job, pools=(FARM,)) for job in night.jobs)]
    jobs += [_twin(night, name, twin, offer) for name, twin in twins.items()]
    pools: dict[str, Any] = {FARM: _levels(night), CLOUD: offer.processors}
    whole = replace(
        night,
        processors=0,
        changes=(),
        down=(),
        pools=pools,
        jobs=tuple(jobs),
        constraints=(),
        objectives=(*(night.objectives or ("reward",)), *([LEAST + BILL] if twins else [])),
    )
    farm, total = night.exact_capacity(), whole.exact_capacity()
    own = [_for_twins(rule, night, twins, farm, total) for rule in night.constraints]
    more = [_for_twins(rule, night, twins, farm, total) for rule in rules]
    own += [Apart(name=f"once {name}", jobs=(name, twin)) for name, twin in twins.items()]
    if offer.budget is not None and twins:
        use = {twin: whole.jobs[whole.index[twin]].values[BILL] for twin in twins.values()}
        own.append(Resource(name=BUDGET, capacity=float(offer.budget), use=use))
    if offer.everything:
        more += [
            AtLeast(name=f"on time {job.name}", jobs=(job.name, *_of(twins, job.name)), count=1)
            for job in night.jobs
        ]
    return replace(whole, constraints=tuple(own)), more, notes


def bill_of(night: Instance, names: Iterable[str]) -> float:
    """Return the total bill of some jobs."""
    costs = (night.jobs[night.index[name]].values.get(BILL, 0.0) for name in names)
    return float(sum(map(as_written, costs), Fraction(0)))


def twins_of(night: Instance) -> dict[str, str]:
    """Return the job of each twin, by the twin's name."""
    return {job.name: job.labels[TWIN] for job in night.jobs if TWIN in job.labels}


def hidden(night: Instance, chosen: Container[str]) -> set[str]:
    """Return the jobs that a plan does not show: one of each job and its twin."""
    pairs = twins_of(night).items()
    return {job if twin in chosen else twin for twin, job in pairs}


def _of(twins: Mapping[str, str], name: str) -> tuple[str, ...]:
    return (twins[name],) if name in twins else ()


def _twin_name(name: str, taken: Mapping[str, object]) -> str:
    twin = f"{name}@cloud"
    while twin in taken:
        twin += "@"
    return twin


def _twin(night: Instance, name: str, twin: str, offer: Offer) -> Job:
    """Return the twin of a job, whose bill is rounded to a hundredth of a cent."""
    j = night.index[name]
    job, work = night.jobs[j], as_written(float(night.demands[j])) * HOURS[night.unit]
    bill = float(round(work * offer.price, 4))
    return replace(
        job,
        name=twin,
        pools=(CLOUD,),
        values=job.values | {BILL: bill},
        labels=job.labels | {TWIN: job.name},
        groups={},
    )


def _levels(night: Instance) -> Any:
    (steps,) = night.machine.pools.values()
    levels = [(float(time), int(steps.at(time))) for time in steps.times]
    return levels[0][1] if len(levels) == 1 else tuple(levels)


def _tied(night: Instance, rules: Iterable[Constraint]) -> dict[str, str]:
    tied = {job.name: "it waits for another job" for job in night.jobs if job.after}
    tied |= {name: "another job waits for it" for job in night.jobs for name in job.after}
    unpaid = (job.name for job in night.jobs if not job.reward and not job.values)
    tied |= dict.fromkeys(unpaid, "it has no reward")
    for rule in rules:
        if isinstance(rule, Imply | Together):
            tied |= {name: "a rule ties it to another job" for _, name in rule.jobs_named()}
    return tied


def _for_twins(
    rule: Constraint, night: Instance, twins: Mapping[str, str], farm: Fraction, total: Fraction
) -> Constraint:
    if isinstance(rule, FairShare):
        return _on_farm(rule, farm, total)
    if isinstance(rule, Resource | Seats):
        use: dict[str, Any] = dict(rule.use)
        return replace(rule, use=use | {twins[n]: u for n, u in use.items() if n in twins})
    if not isinstance(rule, Require | Forbid | Apart | AtMost | AtLeast):
        return rule
    names = rule.jobs
    if isinstance(rule, AtMost | AtLeast) and names is None:
        members = night.groups[str(rule.by)][str(rule.group)]
        names = tuple(night.jobs[j].name for j in members)
    names = names or ()
    jobs = (*names, *(twin for name in names for twin in _of(twins, name)))
    if isinstance(rule, Require):  # at most one of a job and its twin runs
        return AtLeast(name=rule.name, jobs=jobs, count=len(names))
    if isinstance(rule, AtMost | AtLeast):
        return replace(rule, jobs=jobs, by=None, group=None)
    return replace(rule, jobs=jobs)


def _on_farm(rule: FairShare, farm: Fraction, total: Fraction) -> FairShare:
    """Return a share of the farm, scaled to the farm and the cloud together."""
    if rule.of == "selected":
        expected = "a share of the capacity: with rented processors, shares are of the farm"
        raise InputError(expected, found=quote("selected"), place=rule.name or rule.kind())
    used = rule.past_total if rule.past_total is not None else sum(rule.past.values())
    counts = weight(1, rule.half_life) if rule.window != 1 else Fraction(0)
    past = as_written(float(used)) * counts
    part = (past + farm) / (past + total)

    def scaled(shares: Mapping[str, float]) -> dict[str, float]:
        return {group: float(as_written(share) * part) for group, share in shares.items()}

    each = rule.each and replace(
        rule.each,
        **{
            key: float(as_written(own) * part)
            for key in ("at_most", "at_least")
            if (own := getattr(rule.each, key)) is not None
        },
    )
    changed: FairShare = replace(
        rule, at_most=scaled(rule.at_most), at_least=scaled(rule.at_least), each=each
    )
    return changed
