"""Policies for seasons: they decide night by night, not knowing the jobs to come.

On each night they choose among the jobs whose first night has come, that have not been run, and
whose last night has not passed. What can be said of a single night is kept: fair shares, resources,
seats and exclusions. Requirements and counts speak of the season, which nobody knows yet; the
result's violations say which of them are broken.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

import msgspec

from schedopt.formulations.dssp import Season
from schedopt.instances.constraints import Constraint, FairShare, Forbid, Require, Resource, Seats
from schedopt.instances.dssp import FILL, Instance, Job, SelectedNights, one_night, selected_nights
from schedopt.instances.dssp.placing import down_on
from schedopt.policies.registry import NotApplicableError, Policy, register, registered
from schedopt.solvers import door
from schedopt.solvers.result import Limits

How = Literal["alone", "carried", "greedy"]
PATIENCE = 10.0
"""Seconds for the choice of one night; the best by then is taken."""


def with_rules(policy: Policy, constraints: Sequence[Constraint]) -> Policy:
    """Return a policy of this module that keeps further side constraints."""
    return replace(policy, run=partial(policy.run, constraints=tuple(constraints)))


def nightly(
    season: Instance,
    *,
    how: How,
    fill: float | str = 1.0,
    constraints: tuple[Constraint, ...] = (),
) -> SelectedNights:
    """Choose night by night.

    Parameters
    ----------
    season : Instance
        With several nights.
    how : {"alone", "carried", "greedy"}
        The optimum of each night by itself; the same with what the nights before used; or jobs by
        reward for their demand, without regard to rules.
    fill : float
        The selection parameter r.
    constraints : tuple of Constraint
        Side constraints beyond the instance's.

    Raises
    ------
    NotApplicableError
        If there is one night only, or the rules cannot hold on one of them.
    """
    if season.nights == 1:
        raise NotApplicableError("it is for several nights, and here is one")
    r = season.fill(fill)
    rules = [*season.constraints, *constraints]
    alone = [_without_history(rule) for rule in rules]
    ran: list[list[str]] = []
    note = ""
    for n in range(1, season.nights + 1):
        done = {name for night in ran for name in night}
        waiting = [
            job
            for job in season.jobs
            if job.first_night <= n <= (job.last_night or season.nights) and job.name not in done
        ]
        if how == "greedy":
            night = one_night(season, [job.name for job in waiting], (), n)
            ran.append(list(registered("dssp")["greedy"].run(night, fill=r).selected))
            continue
        kept = rules if how == "carried" else alone
        if how == "alone":  # each night is then the first that there is
            here = msgspec.structs.replace(season, down=down_on(season, n))
            tonight, proven = _optimal_choice(here, waiting, (), kept, r)
        else:
            tonight, proven = _optimal_choice(season, waiting, ran, kept, r)
        note = note if proven else "not every night's choice is proven to be its optimum"
        ran.append(tonight)
    nights = [[season.index[name] for name in night] for night in ran]
    found = selected_nights(season, nights, r)
    return msgspec.structs.replace(found, note=note) if note else found


def _optimal_choice(
    season: Instance,
    waiting: Sequence[Job],
    ran: Sequence[Sequence[str]],
    rules: Sequence[Constraint],
    fill: float,
) -> tuple[list[str], bool]:
    """Return the best choice for a night, given the past ones, and whether it is proven."""
    past = [
        _restrict_to_night(season.jobs[season.index[name]], n)
        for n, night in enumerate(ran, 1)
        for name in night
    ]
    tonight = len(ran) + 1
    jobs = (*past, *(_restrict_to_night(job, tonight) for job in waiting))
    down = tuple(one for one in season.down if (one.night or 1) <= tonight)
    known = msgspec.structs.replace(season, nights=tonight, jobs=jobs, constraints=(), down=down)
    model = Season(known, fill=fill).add(*_restrict_to_known_jobs(rules, known))
    if past:
        name = "past nights"
        while any(rule.name == name for rule in model.added):
            name += "'"
        model.add(Require(name=name, jobs=tuple(job.name for job in past)))
    result = door.solve(model, Limits(time_limit=PATIENCE))
    if result.solution is None:
        why = ", ".join(result.conflict) or result.termination
        raise NotApplicableError(f"night {tonight} has no choice: {why}")
    return list(result.solution.nights[-1].selected), result.proven


def _restrict_to_night(job: Job, night: int) -> Job:
    return msgspec.structs.replace(job, first_night=night, last_night=night)


def _without_history(rule: Constraint) -> Constraint:
    """Return a rule for each night by itself."""
    if not isinstance(rule, FairShare):
        return rule
    return msgspec.structs.replace(rule, past={}, past_total=None, window=None, half_life=None)


def _restrict_to_known_jobs(rules: Sequence[Constraint], known: Instance) -> Iterator[Constraint]:
    """Yield side constraints restricted to the jobs known by now."""
    for i, rule in enumerate(rules):
        name = rule.name or f"{rule.kind()}[{i}]"
        if isinstance(rule, FairShare):
            groups = known.groups.get(rule.by, {})
            most = {group: share for group, share in rule.at_most.items() if group in groups}
            least = {group: share for group, share in rule.at_least.items() if group in groups}
            if not groups or not (most or least or rule.each):
                continue
            yield msgspec.structs.replace(rule, name=name, at_most=most, at_least=least)
        elif isinstance(rule, Resource | Seats):
            use = {job: amount for job, amount in rule.use.items() if job in known.index}
            yield msgspec.structs.replace(rule, name=name, use=use)
        elif isinstance(rule, Forbid):
            jobs = tuple(job for job in rule.jobs if job in known.index)
            if jobs:
                yield msgspec.structs.replace(rule, name=name, jobs=jobs)


_POLICIES: tuple[tuple[str, How, str], ...] = (
    ("nightly", "alone", "the optimum of each night by itself, shares of that night alone"),
    ("nightly-carried", "carried", "the optimum of each night, shares with what was used before"),
    ("nightly-greedy", "greedy", "each night by reward for demand, without regard to rules"),
)
for _name, _how, _summary in _POLICIES:
    register(
        Policy(
            name=_name,
            problem="dssp",
            run=partial(nightly, how=_how),
            source="ours: the optimum of Anderson et al., SPAA 2005, section 3.1, night by night",
            summary=_summary,
            options={"fill": FILL},
        )
    )
