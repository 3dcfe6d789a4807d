"""Explanations of a selection, a schedule or a season, each computed by solving again.

For a job that is left out, the optimum with the job gives the reward at which it would run. The
optimum without a rule gives the cost of the rule. What cannot be solved to a proof within the time
limit is reported as unproven.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import msgspec

from schedopt.formulations.dssp import Schedule, Season, Selection
from schedopt.formulations.dssp.rows import selectable
from schedopt.instances.constraints import Apart, AtLeast, Constraint, Require, label
from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.errors import quote
from schedopt.planning.cloud import hidden, twins_of
from schedopt.planning.reasons import Reason, reasons
from schedopt.problems.summary import Explanation, LeftOut, RulePrice
from schedopt.solvers import portfolio
from schedopt.solvers.clock import now
from schedopt.solvers.result import Limits, Result
from schedopt.solvers.stopping import stopped

Model = Selection | Schedule | Season


@dataclass(frozen=True)
class _Optimum:
    """The result of a further solve."""

    worth: Fraction | None = None
    chosen: frozenset[str] = frozenset()
    proven: bool = False
    conflict: tuple[str, ...] = ()
    later: tuple[Fraction, ...] = ()  # the values of the objectives after the reward


def explain(model: Model, result: Result, limits: Limits) -> Explanation:
    """Return why jobs are left out, and the cost of each rule."""
    night, began, quick = model.instance, now(), reasons(model.instance, result)
    rules = [
        rule if rule.name else msgspec.structs.replace(rule, name=label(rule, i))
        for i, rule in enumerate([*night.constraints, *model.added])
    ]
    asked = "asked for"
    while asked in {rule.name for rule in rules}:
        asked += "'"
    names = frozenset(result.solution.selected if result.solution else ())
    best = _optimum(model.instance, result)
    absent = names | hidden(night, names)
    out = [job for job in night.jobs if job.name not in absent]
    twins = twins_of(night)
    places = {job.name: [job.name] for job in out}  # a job may run on the farm or in the cloud
    for twin, name in twins.items():
        if name in places:
            places[name].append(twin)
    if isinstance(model, Schedule):
        possible = night.in_time | bool(night.late)
    else:
        possible = selectable(night, model.fill)
    can_run = dict(zip(night.index, possible, strict=True))
    able = {name for name, own in places.items() if any(can_run[place] for place in own)}
    # A rule that only states that a job runs once, on the farm or in the cloud, has no price.
    priced = [
        rule
        for rule in rules
        if not (isinstance(rule, Apart) and any(twins.get(name) in rule.jobs for name in rule.jobs))
    ]
    questions = [[other for other in rules if other is not rule] for rule in priced]
    questions += [[*rules, _runs(asked, places[job.name])] for job in out if job.name in able]
    solved = _solve_each(model, questions, limits)
    without = {str(rule.name): next(solved) for rule in priced}
    prices = tuple(_price(name, best, other, night.index) for name, other in without.items())
    left = []
    for job in out:
        reason = quick[job.name]
        if job.name not in able:
            entry = LeftOut(job=job.name, reason="never", words=reason.words, reward=job.reward)
        else:
            entry = _left_out(job, best, next(solved), without, reason)
        left.append(entry)
    return Explanation(
        left_out=tuple(left),
        rules=prices,
        unproven=sum(not one.proven for one in prices) + sum(not one.proven for one in left),
        seconds=now() - began,
    )


def _solve_each(
    model: Model,
    questions: Sequence[Sequence[Constraint]],
    limits: Limits,
    *,
    each: float = 10.0,  # most seconds of a solve
    together: float = 120.0,  # seconds of all solves without a time limit
) -> Iterator[_Optimum]:
    """Yield the optimum of the night for each list of rules."""
    bare = msgspec.structs.replace(model.instance, constraints=())
    end = now() + (together if limits.time_limit is None else limits.time_limit)
    for n, rules in enumerate(questions):
        remaining = end - now()
        if remaining <= 0 or stopped():
            yield _Optimum()
            continue
        share = min(remaining / (len(questions) - n), each)
        own = replace(limits, gap=0.0, watch=None, time_limit=share)
        fill: Any = {} if isinstance(model, Schedule) else {"fill": model.fill}
        again = portfolio.solve(type(model)(bare, **fill).add(*rules), own)
        if again.solution is None:
            yield _Optimum(proven=again.termination == "infeasible", conflict=again.conflict)
        else:
            yield _optimum(model.instance, again)


def _runs(name: str, places: Sequence[str]) -> Constraint:
    """Return the rule that a job runs in one of its places."""
    if len(places) == 1:
        return Require(name=name, jobs=tuple(places))
    return AtLeast(name=name, jobs=tuple(places), count=1)


def _optimum(night: Instance, result: Result) -> _Optimum:
    """Return the optimum of a result; a job in the cloud has its own name."""
    chosen = frozenset(result.solution.selected if result.solution else ())
    paid_in_part = as_written(result.objective or 0.0)
    worth = paid_in_part if night.late else _total(night, "reward", chosen)
    later = tuple(_total(night, name, chosen) for name in night.objectives[1:])
    twins = twins_of(night)
    jobs = frozenset(twins.get(name, name) for name in chosen)
    return _Optimum(worth, jobs, result.proven, later=later)


def _total(night: Instance, objective: str, chosen: frozenset[str]) -> Fraction:
    worths, index = night.worths(objective), night.index
    return sum((as_written(float(worths[index[name]])) for name in chosen), Fraction(0))


def _price(name: str, best: _Optimum, other: _Optimum, index: dict[str, int]) -> RulePrice:
    """Return the cost of a rule, from the optimum without it."""
    if other.worth is None or best.worth is None:
        return RulePrice(rule=name, cost=None, proven=False)
    return RulePrice(
        rule=name,
        cost=float(other.worth - best.worth),
        gains=tuple(sorted(other.chosen - best.chosen, key=index.__getitem__)),
        loses=tuple(sorted(best.chosen - other.chosen, key=index.__getitem__)),
        proven=other.proven and best.proven,
    )


def _left_out(
    job: Job, best: _Optimum, asked: _Optimum, without: dict[str, _Optimum], quick: Reason
) -> LeftOut:
    """Return why a job is left out, from the optimum with it, and those without each rule."""
    assert best.worth is not None  # noqa: S101  of what is chosen
    if asked.proven and asked.worth is None:
        names = tuple(name for name in asked.conflict if name in without)
        allow = "allows" if len(names) == 1 else "together allow"
        words = f"{' and '.join(map(quote, names))} {allow} no selection with it"
        return LeftOut(
            job=job.name,
            reason=f"rule:{names[0]}" if names else "never",
            words=words if names else "no selection can include it",
            reward=job.reward,
            rules=names,
        )
    needed = None
    words = "not solved again within the time limit; try a longer one"
    if asked.worth is not None:
        needed = float(best.worth - asked.worth + as_written(job.reward))
        words = f"its reward is {job.reward:.6g}; with {needed:.6g} or more it would be selected"
        if needed <= job.reward and asked.later >= best.later:
            words = "another optimum selects it"
        elif needed <= job.reward:
            words = "with it the reward is the same, but a later objective is worse"
    blocking = {
        name: float(other.worth - best.worth)
        for name, other in without.items()
        if job.name in other.chosen and other.worth is not None and other.worth > best.worth
    }
    costs = (f"{quote(name)} (the rule costs {c:.6g} in reward)" for name, c in blocking.items())
    if blocking:
        words += f"; it is selected without {' or without '.join(costs)}"
    return LeftOut(
        job=job.name,
        reason=f"rule:{next(iter(blocking))}" if blocking else str(quick),
        words=words,
        reward=job.reward,
        needed=needed,
        rules=tuple(blocking),
        proven=asked.proven and best.proven,
    )
