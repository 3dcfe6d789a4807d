"""Tonight: a table of jobs planned on a farm, and how good that is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schedopt.formats import counted, number
from schedopt.instances.constraints import Forbid
from schedopt.instances.dssp import Instance, Selected
from schedopt.instances.errors import InputError, placed
from schedopt.problems.dssp.farm import (
    FLAG_OF,
    merge_farm,
    name_flags,
    pairs,
    read,
    rules_tonight,
    shares,
)
from schedopt.problems.dssp.planning import as_dispatched
from schedopt.problems.summary import Solve, Tonight
from schedopt.solvers.result import Result

TIMING = 2.0
"""Most seconds for the schedule of jobs that are chosen under risk."""


def plan(what: Any, given: Mapping[str, Any], solve: Solve) -> Tonight:
    """Plan a table of jobs, or an instance, on a farm."""
    given = dict(given)
    file, risk, rules = given.pop("farm"), given.pop("risk"), given.pop("constraints")
    tell = given.pop("tell")
    caps, floors = (
        pairs(given.pop(key, None), f"--{key}", "GROUPING:GROUP=SHARE", last=True)
        for key in ("cap", "floor")
    )
    farm = merge_farm(file, given)
    if isinstance(what, Instance):
        for key in (key for key, value in given.items() if value and key != "template"):
            flag = f"--{FLAG_OF.get(key, key).rstrip('_')}"
            raise InputError("a table: an instance says that itself", place=flag)
        night = what
    else:
        night = read(what, farm, tell)
    with placed(file=file):
        lasting = rules_tonight(farm.constraints, night, tell)
    own = shares(night, caps, floors)
    before = {rule.name for rule in own}
    farm.constraints = (*(rule for rule in farm.constraints if rule.name not in before), *own)
    together = [*(rule for rule in lasting if rule.name not in before), *own, *rules(night)]
    kind = "selection" if risk else "schedule"
    with name_flags():
        result = solve(night, formulation=kind, risk=risk, constraints=together)
    run = None
    if result.solution is not None:
        run = schedule_chosen(night, result, solve) if risk else result
    return Tonight(night, result, run, quality_line(night, result, run), farm, farm.template)


def quality_line(instance: Instance, result: Result, run: Result | None) -> str:
    """Say in a line how good a plan is, and how good any plan can be."""
    if run is None or run.solution is None:
        if result.conflict:
            return f"no plan: these rules cannot hold together: {', '.join(result.conflict)}"
        return f"no plan ({result.termination})"
    value = float(run.objective or 0.0)
    done = f"{len(run.solution.completion):,} of {counted(len(instance.jobs), 'job')}"
    told = f"{done}, reward {number(value)}"
    if result.termination == "error":
        return f"{told}; {result.message}"
    if risk := result.options.get("risk"):
        told += f"; under {risk} it is worth {number(result.objective)}"
        value = float(result.objective or 0.0)
    if result.bound is None:
        return f"{told}; how much more a plan could earn is not known"
    if result.proven:
        return f"{told}; no plan {'is worth' if risk else 'earns'} more"
    more = f" ({(result.bound - value) / value:.1%} more)" if value > 0 else ""
    return (
        f"{told}; no plan {'is worth' if risk else 'earns'} more than {number(result.bound)}{more}"
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
