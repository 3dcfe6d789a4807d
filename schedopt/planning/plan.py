"""Plan a night: from a table of jobs or an instance to a solved plan."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from schedopt.formats import count_of, number
from schedopt.instances.constraints import Constraint, FairShare, Forbid, Require
from schedopt.instances.dssp import Instance, Scheduled, Selected, jobtable
from schedopt.instances.dssp.clock import TONIGHT, Clock
from schedopt.instances.dssp.columns import HOLDS, POOL, SEATS
from schedopt.instances.dssp.jobtable import BY_WORD
from schedopt.instances.dssp.scenarios import AT_RISK, is_measure
from schedopt.instances.errors import InputError, at_place, pick_name, quote
from schedopt.instances.fair_share import Each
from schedopt.instances.options import OptionNames
from schedopt.instances.tables import Source
from schedopt.planning import cloud
from schedopt.planning import farm as farms
from schedopt.planning.carry import with_past
from schedopt.planning.farm import Farm, Settings
from schedopt.planning.plan_rows import as_dispatched, lateness
from schedopt.planning.release import tasks_in_order
from schedopt.planning.why import smallest_changes
from schedopt.problems.summary import Explanation, SmallestChange, Solve
from schedopt.solvers.clock import now
from schedopt.solvers.question import as_document
from schedopt.solvers.result import Result

EACH = "*"
"""In place of a group: each group of the grouping."""
TIMING = 2.0
"""Most seconds for the schedule of the jobs that are selected under risk."""
Tell = Callable[[str], None]
_TIME_OF_DAY = re.compile(r"\d?\d:\d\d(:\d\d)?", re.ASCII)


def expect_possible(
    night: Instance, farm: Farm, names: OptionNames, *, risk: str | None, why: Sequence[str]
) -> None:
    """Raise `InputError` for settings that are not possible together."""
    if risk is not None and not is_measure(risk):
        raise InputError(AT_RISK["risk"].expected, found=quote(risk), place=names.place("risk"))
    for name in why:
        with at_place(names.place("why")):
            pick_name(name, night.index, "the name of a job")
    has_cloud = farm.get("cloud") is not None
    if risk and len(night.objectives) > 1:
        expected = "fewer levels of priority: there are too many for a choice under risk"
        raise InputError(expected, place=names.place("reward"))
    if risk and why:
        expected = "a plan without risk: under risk the smallest changes are not known"
        raise InputError(expected, place=names.place("why"))
    if risk and has_cloud:
        expected = "a plan without risk: in the cloud, run times must be certain"
        raise InputError(expected, found=quote(risk), place=names.place("risk"))
    if why and has_cloud:
        expected = "a plan without a cloud: with one the smallest changes are not known"
        raise InputError(expected, place=names.place("why"))


def rules_of(
    night: Instance,
    whole: Farm,
    filed: Farm,
    settings: Settings,
    names: OptionNames,
    *,
    carried: Sequence[Constraint],
    tell: Tell | None,
) -> tuple[Instance, list[Constraint]]:
    """Return the night and the side constraints of the farm, with the usage of earlier nights."""
    own = shares(night, whole, farms.merge(Farm(), settings, names), names)
    replaced = {rule.name for rule in own}
    lasting = (rule for rule in filed.get("constraints", ()) if rule.name not in replaced)
    chosen = chosen_jobs(night, whole, settings, names, tell)
    every_night, carried = with_past([*lasting, *own, *chosen], carried)
    own_rules, carried = with_past(night.constraints, carried)
    night = msgspec.structs.replace(night, constraints=tuple(own_rules))
    return night, rules_tonight([*every_night, *carried], night, tell)


def solved(
    night: Instance,
    rules: Sequence[Constraint],
    solve: Solve,
    *,
    risk: str | None,
    explain: bool,
    why: Sequence[str],
    time_limit: float | None,
) -> tuple[Result, Result | None]:
    """Return the result of a night, and the same with times; None without a solution."""
    began, stages = now(), 1 + explain + bool(why)
    seconds = None if time_limit is None else time_limit * (stages - bool(why)) / stages
    kept = min(TIMING, 0.3 * seconds) if risk and seconds is not None else 0.0
    result = solve(
        night,
        formulation="selection" if risk else "schedule",
        risk=risk,
        constraints=rules,
        explain=explain,
        time_limit=None if seconds is None else seconds - kept,
    )
    if result.solution is None:
        return result, None
    left = None if time_limit is None else max(0.0, time_limit - (now() - began))
    if why:
        result = with_changes(night, rules, result, why, solve=solve, seconds=left)
    if not risk:
        result = in_array_order(night, result)
        return result, result
    run = schedule_chosen(night, result, solve, TIMING if left is None else min(TIMING, left))
    return result, None if run is None else in_array_order(night, run)


def night_of(
    what: Instance | Source, settings: Settings, whole: Farm, names: OptionNames, tell: Tell | None
) -> Instance:
    """Return the night of a table; an instance is returned unchanged."""
    if isinstance(what, Instance):
        for key, value in settings.items():
            if value not in (None, (), []) and key not in ("cap", "floor", "must", "forbid"):
                expected = "a table of jobs: an instance has this setting in its file"
                raise InputError(expected, place=names.place(key))
        return what
    night = read(what, whole, names, tell)
    if (overhead := whole.get("overhead")) is not None:
        with at_place(names.place("overhead")):
            night = night.with_overhead(Clock.of(night.unit, None).length(str(overhead)))
    return night


def with_cloud(
    night: Instance,
    rules: list[Constraint],
    farm: Farm,
    names: OptionNames,
    tell: Tell | None,
) -> tuple[Instance, list[Constraint]]:
    """Return the night and its rules with the farm's cloud processors; report jobs that stay."""
    text, budget, everything = farm.get("cloud"), farm.get("budget"), bool(farm.get("all_"))
    if text is None:
        for key in ("budget", "all_"):
            if farm.get(key):
                expected = f"{names.example('cloud', '200@0.05')} beside it"
                raise InputError(expected, place=names.place(key))
        return night, rules
    places = {"place": names.place("cloud"), "budget_place": names.place("budget")}
    offer = cloud.Offer.of(text, budget, everything=everything, **places)
    going = [job.name for job in night.jobs if "cloud" in job.labels]
    with at_place(names.place("cloud")):
        if not going:
            raise InputError(
                "a column 'cloud' with yes for the jobs that may run there", found="none"
            )
        night, rules, notes = cloud.with_cloud(night, rules, offer, going)
    if tell is not None:
        for note in notes:
            tell(note)
    return night, rules


def in_array_order(night: Instance, run: Result[Scheduled]) -> Result[Scheduled]:
    """Return a schedule in which equal tasks start in the order of their numbers."""
    schedule: Any = run.solution
    tasks = tuple(tasks_in_order(night, schedule.tasks))
    return msgspec.structs.replace(run, solution=msgspec.structs.replace(schedule, tasks=tasks))


def read(table: Source, farm: Farm, names: OptionNames, tell: Tell | None = None) -> Instance:
    """Read a table of jobs into the night of a farm."""
    until, reward, begin = farm.get("until"), farm.get("reward"), farm.get("from_")
    begin = None if begin is None else str(begin).strip()
    if isinstance(reward, Mapping):
        reward = f"{BY_WORD}{_as_text(reward)}"
    options = {
        "processors": farm.get("processors"),
        "start": f"{TONIGHT}{begin}" if begin and _TIME_OF_DAY.fullmatch(begin) else begin,
        "deadline": until,
        "end": until,
        "capacity": _as_text(farm.get("capacity")),
        "reward": reward,
        "keep": ",".join(farm.get("keep") or ()) or None,
    }
    options |= {key: farm.get(key) for key in ("priority", "groups", "unit", "duplicates")}
    for prefix, key in ((SEATS, "seats"), (HOLDS, "resources"), (POOL, "pools")):
        options |= {f"{prefix}{name}": n for name, n in _amounts(farm.get(key)).items()}
    for key in ("column", "where", "missing"):
        options |= {f"{key}:{name}": text for name, text in farms.texts_of(farm, key).items()}
    return jobtable.convert(table, tell=tell, option_names=names, **options)


def _as_text(values: Any) -> Any:
    if not isinstance(values, Mapping):
        return values
    return ",".join(f"{key}={value}" for key, value in values.items()) or None


def _amounts(values: Any) -> dict[str, Any]:
    """Return the amount or the profile of each thing."""
    return {name: farms.as_number(_as_text(amount)) for name, amount in (values or {}).items()}


def shares(night: Instance, whole: Farm, given: Farm, names: OptionNames) -> list[FairShare]:
    """Return the fair shares of ``cap`` and ``floor``."""
    rules = []
    for flag, bound in (("cap", "at_most"), ("floor", "at_least")):
        pairs, own_tonight = farms.pairs_of(whole, flag), farms.pairs_of(given, flag)
        for key, value in pairs.items():
            by, _, group = key.partition(":")
            if key in own_tonight:
                with at_place(names.place(flag)):
                    if not night.groups:
                        expected = f"jobs with a grouping; {names.place('groups')} names its column"
                        raise InputError(expected, found="none")
                    pick_name(by, night.groups, "GROUPING:GROUP=SHARE of a grouping")
                    if group != EACH:
                        pick_name(group, night.groups[by], f"a group of {quote(by)}")
            share = farms.as_share(value)
            if share is None:
                expected, place = "a share above 0 and up to 1, such as 0.4 or 40%", f"{flag}:{key}"
                raise InputError(expected, found=quote(value), place=names.place(place))
            bounds: dict[str, Any] = {bound: {group: share}}
            if group == EACH:
                named = {one.partition(":")[2] for one in pairs if one.startswith(f"{by}:")}
                free = 1.0 if flag == "cap" else 0.0  # a group's own share goes before it
                own = dict.fromkeys(named & night.groups.get(by, {}).keys(), free)
                bounds = {bound: own, "each": Each(**{bound: share})}
            rules.append(FairShare(by=by, name=f"{flag} {key}", **bounds))
    return rules


def chosen_jobs(
    night: Instance, whole: Farm, given: Settings, names: OptionNames, tell: Tell | None
) -> list[Constraint]:
    """Return the rules of ``must`` and ``forbid``."""
    rules: list[Constraint] = []
    known = {rule.name for rule in night.constraints}
    for key, kind in (("must", Require), ("forbid", Forbid)):
        for job in farms.texts_in(whole, key):
            if job in night.index:
                rule = kind(name=f"{key} {job}", jobs=(job,))
                rules += [] if rule.name in known else [rule]
            elif job in farms.texts_in(given, key):
                with at_place(names.place(key)):
                    pick_name(job, night.index, "the name of a job")
            elif tell:
                tell(f"farm: no job tonight is called {job}; {key} {job} is ignored")
    return rules


def with_changes(
    night: Instance,
    rules: Sequence[Constraint],
    result: Result,
    why: Sequence[str],
    *,
    solve: Solve,
    seconds: float | None,
) -> Result:
    """Return a plan with the smallest changes that would let some jobs run."""
    began, changes = now(), list[SmallestChange]()
    for k, name in enumerate(why):
        if result.solution is not None and name in result.solution.completion:
            words = "the plan runs it"
            changes.append(SmallestChange(job=name, change="none", today="", words=words))
            continue
        left = None if seconds is None else max(0.0, began + seconds - now()) / (len(why) - k)
        changes += smallest_changes(night, rules, name, result, solve=solve, seconds=left)
    known = result.explanation or {}
    empty = Explanation(left_out=(), rules=(), unproven=0, seconds=now() - began)
    told = as_document(empty) | known | {"changes": [as_document(one) for one in changes]}
    return result.with_details(explanation=told)


def rules_tonight(
    rules: Iterable[Constraint], night: Instance, tell: Tell | None
) -> list[Constraint]:
    """Return the rules without groups that have no job tonight."""
    kept: list[Constraint] = []
    for rule in rules:
        if not isinstance(rule, FairShare):
            kept.append(rule)
            continue
        there = {*night.groups.get(rule.by, ()), *rule.past}
        gone = [group for group in (*rule.at_most, *rule.at_least) if group not in there]
        if gone and tell:
            named = ", ".join(dict.fromkeys(gone))
            tell(f"farm: no job tonight is of {rule.by} {named}; its share is ignored")
        most = {group: share for group, share in rule.at_most.items() if group in there}
        least = {group: share for group, share in rule.at_least.items() if group in there}
        if most or least or (rule.each and there):
            kept.append(msgspec.structs.replace(rule, at_most=most, at_least=least))
    return kept


def quality_line(instance: Instance, result: Result, run: Result | None) -> str:
    """Return the quality of a plan in words, with its bound."""
    if run is None or run.solution is None:
        if result.conflict:
            one = len(result.conflict) == 1
            what = "this rule cannot hold" if one else "these rules cannot hold together"
            return f"no plan: {what}: {', '.join(result.conflict)}"
        return f"no plan ({result.termination})"
    value = float(run.objective or 0.0)
    jobs = len(instance.jobs) - len(cloud.twins_of(instance))
    done = f"{len(run.solution.completion):,} of {count_of(jobs, 'job')}"
    late = sum(by > 0 for by in lateness(instance, run.solution).values())
    line = f"{done}{f', {late:,} late' if late else ''}, reward {number(value)}"
    if result.termination == "error":
        return f"{line}; {result.message}"
    if risk := result.options.get("risk"):
        line += f"; under {risk} it is worth {number(result.objective)}"
        value = float(result.objective or 0.0)
    if twins := {*run.solution.completion} & {*cloud.twins_of(instance)}:
        bill = cloud.bill_of(instance, twins)
        line += f"; {count_of(len(twins), 'job')} in the cloud for {number(bill)}"
    if result.bound is None:
        return f"{line}; no bound is known"
    if result.proven or result.bound == value:
        later = "" if result.proven else f"; {result.message}"  # of objectives after the reward
        if twins and result.proven:
            later = ", and none that earns as much costs less"
        return f"{line}; no plan {'is worth' if risk else 'earns'} more{later}"
    more = f" ({(result.bound - value) / value:.1%} more)" if value > 0 else ""
    return (
        f"{line}; no plan {'is worth' if risk else 'earns'} more than {number(result.bound)}{more}"
    )


def schedule_chosen(
    night: Instance, result: Result[Selected], solve: Solve, seconds: float
) -> Result | None:
    """Return the best schedule of the jobs that were selected under risk, all on time."""
    chosen = {*result.solution.selected} if result.solution else set()
    others = tuple(name for name in night.index if name not in chosen)
    rules = [*result.constraints, *([Forbid(name="not chosen", jobs=others)] if others else [])]
    timed = solve(night, formulation="schedule", constraints=rules, time_limit=seconds)
    if timed.solution is None:
        return None
    return as_dispatched(result, "schedule", timed.objective or 0.0, timed.solution, "all on time")
