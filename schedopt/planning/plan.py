"""The plan of a night: from a table of jobs, or an instance, to a solved plan and its quality."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from schedopt.formats import count_of, number
from schedopt.instances.constraints import Constraint, FairShare, Forbid
from schedopt.instances.dssp import Instance, Selected, jobtable
from schedopt.instances.dssp.clock import TONIGHT, Clock
from schedopt.instances.dssp.jobrows import BY_WORD
from schedopt.instances.dssp.scenarios import AT_RISK, is_measure
from schedopt.instances.errors import InputError, at_place, quote
from schedopt.instances.naming import pick_name
from schedopt.instances.options import OptionNames
from schedopt.instances.tables import Source
from schedopt.planning import farm as farms
from schedopt.planning.farm import Farm, Settings
from schedopt.planning.plan_rows import as_dispatched, lateness
from schedopt.problems.summary import Solve, Tonight
from schedopt.solvers.result import Result

TIMING = 2.0
"""Most seconds for the schedule of jobs that are chosen under risk."""
Tell = Callable[[str], None]
_TIME_OF_DAY = re.compile(r"\d?\d:\d\d(:\d\d)?", re.ASCII)


def plan(
    what: Instance | Source,
    settings: Settings,
    solve: Solve,
    *,
    farm: Farm,
    names: OptionNames,
    rules: Callable[[Instance], list[Constraint]],
    risk: str | None = None,
    tell: Tell | None = None,
) -> Tonight:
    """Plan a table of jobs, or an instance, on a farm.

    Parameters
    ----------
    what : Instance or Source
        The night, or the table that it is read from.
    settings, farm : Settings and Farm
        What was given for this night, and before that what the farm's file says.
    solve : callable
        Solves a formulation, with limits.
    names : OptionNames
        How messages name the settings.
    rules : callable
        Returns the side constraints beyond those of the farm.
    risk : str, optional
        As `schedopt.solve` has it.
    tell : callable, optional
        Called with lines on what became of the table.
    """
    if risk is not None and not is_measure(risk):
        raise InputError(AT_RISK["risk"].expected, found=quote(risk), place=names.place("risk"))
    whole = farms.merge(farm, settings, names)
    if isinstance(what, Instance):
        for key, value in settings.items():
            if value not in (None, (), []) and key not in ("cap", "floor"):
                expected = "a table: an instance says that itself"
                raise InputError(expected, place=names.place(key))
        night = what
    else:
        night = read(what, whole, names, tell)
        if (overhead := whole.get("overhead")) is not None:
            with at_place(names.place("overhead")):
                night = night.with_overhead(Clock.of(night.unit, None).length(str(overhead)))
    lasting = farm.get("constraints", ())
    own = shares(night, whole, farms.merge(Farm(), settings, names), names)
    further, replaced = rules(night), {rule.name for rule in own}
    every_night = [*(rule for rule in lasting if rule.name not in replaced), *own]
    tonight = [*rules_tonight(every_night, night, tell), *further]
    kind = "selection" if risk else "schedule"
    result = solve(night, formulation=kind, risk=risk, constraints=tonight)
    run = None
    if result.solution is not None:
        run = schedule_chosen(night, result, solve) if risk else result
    line = quality_line(night, result, run)
    return Tonight(night, result, run, line, whole, whole.get("template"))


def read(table: Source, farm: Farm, names: OptionNames, tell: Tell | None = None) -> Instance:
    """Read a table of jobs into the night of a farm."""
    until, reward, begin = farm.get("until"), farm.get("reward"), farm.get("from_")
    begin = None if begin is None else str(begin).strip()
    if isinstance(reward, Mapping):
        reward = f"{BY_WORD}{_as_text(reward)}"
    asked = jobtable.Reading(
        processors=farm.get("processors"),
        start=f"{TONIGHT}{begin}" if begin and _TIME_OF_DAY.fullmatch(begin) else begin,
        deadline=until,
        end=until,
        capacity=_as_text(farm.get("capacity")),
        reward=reward,
        priority=farm.get("priority"),
        groups=farm.get("groups"),
        unit=farm.get("unit"),
        seats=_amounts(farm.get("seats")),
        holds=_amounts(farm.get("resources")),
        pools=_amounts(farm.get("pools")),
        column=farms.texts_of(farm, "column"),
        keep=",".join(farm.get("keep") or ()) or None,
        where=farms.texts_of(farm, "where"),
        missing=farms.texts_of(farm, "missing"),
        duplicates=farm.get("duplicates"),
        names=names,
    )
    return jobtable.read(table, asked, tell)


def _as_text(values: Any) -> Any:
    """Return amounts that change over time as texts: ``02:00=20,03:00=30``."""
    if not isinstance(values, Mapping):
        return values
    return ",".join(f"{key}={value}" for key, value in values.items()) or None


def _amounts(values: Any) -> dict[str, Any]:
    """Return how much there is of each thing, which may change over time."""
    return {name: farms.as_number(_as_text(amount)) for name, amount in (values or {}).items()}


def shares(night: Instance, whole: Farm, given: Farm, names: OptionNames) -> list[FairShare]:
    """Return the rules of ``cap`` and ``floor``; `InputError` if tonight's own name no group."""
    rules = []
    for flag, bound in (("cap", "at_most"), ("floor", "at_least")):
        for key, value in farms.pairs_of(whole, flag).items():
            by, _, group = key.partition(":")
            if key in farms.pairs_of(given, flag):
                with at_place(names.place(flag)):
                    pick_name(by, night.groups, "GROUPING:GROUP=SHARE of a grouping")
                    pick_name(group, night.groups[by], f"a group of {quote(by)}")
            share = farms.as_number(value)
            if not isinstance(share, int | float) or not 0 < share <= 1:
                expected, place = "a share above 0 and up to 1, such as 0.4", f"{flag}:{key}"
                raise InputError(expected, found=quote(value), place=names.place(place))
            bounds: dict[str, Any] = {bound: {group: float(share)}}
            rules.append(FairShare(by=by, name=f"{flag} {key}", **bounds))
    return rules


def rules_tonight(
    rules: Iterable[Constraint], night: Instance, tell: Tell | None
) -> list[Constraint]:
    """Return the rules of every night without the groups of which there is no job tonight."""
    kept: list[Constraint] = []
    for rule in rules:
        if not isinstance(rule, FairShare):
            kept.append(rule)
            continue
        there = {*night.groups.get(rule.by, ()), *rule.past}
        gone = [group for group in (*rule.at_most, *rule.at_least) if group not in there]
        if gone and tell:
            named = ", ".join(dict.fromkeys(gone))
            tell(f"farm: no job tonight of {rule.by} {named}: no share is kept for it")
        most = {group: share for group, share in rule.at_most.items() if group in there}
        least = {group: share for group, share in rule.at_least.items() if group in there}
        if most or least or (rule.each and there):
            kept.append(msgspec.structs.replace(rule, at_most=most, at_least=least))
    return kept


def quality_line(instance: Instance, result: Result, run: Result | None) -> str:
    """Say in a line how good a plan is, and how good any plan can be."""
    if run is None or run.solution is None:
        if result.conflict:
            return f"no plan: these rules cannot hold together: {', '.join(result.conflict)}"
        return f"no plan ({result.termination})"
    value = float(run.objective or 0.0)
    done = f"{len(run.solution.completion):,} of {count_of(len(instance.jobs), 'job')}"
    late = sum(by > 0 for by in lateness(instance, run.solution).values())
    line = f"{done}{f', {late:,} late' if late else ''}, reward {number(value)}"
    if result.termination == "error":
        return f"{line}; {result.message}"
    if risk := result.options.get("risk"):
        line += f"; under {risk} it is worth {number(result.objective)}"
        value = float(result.objective or 0.0)
    if result.bound is None:
        return f"{line}; how much more a plan could earn is not known"
    if result.proven:
        return f"{line}; no plan {'is worth' if risk else 'earns'} more"
    more = f" ({(result.bound - value) / value:.1%} more)" if value > 0 else ""
    return (
        f"{line}; no plan {'is worth' if risk else 'earns'} more than {number(result.bound)}{more}"
    )


def schedule_chosen(night: Instance, result: Result[Selected], solve: Solve) -> Result | None:
    """Return a choice under risk as the best schedule of its jobs, none of them late, runs it."""
    chosen = {*result.solution.selected} if result.solution else set()
    others = tuple(name for name in night.index if name not in chosen)
    rules = [*result.constraints, *([Forbid(name="not chosen", jobs=others)] if others else [])]
    timed = solve(night, formulation="schedule", constraints=rules, time_limit=TIMING)
    if timed.solution is None:
        return None
    return as_dispatched(result, "schedule", timed.objective or 0.0, timed.solution, "all in time")
