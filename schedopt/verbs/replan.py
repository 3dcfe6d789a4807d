"""Replan: the rest of a night from what has happened, near what was planned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedopt.instances.constraints import Constraint
from schedopt.instances.errors import InputError, at_place, quote
from schedopt.instances.files import load
from schedopt.instances.options import Options
from schedopt.instances.protocol import AnyInstance, identity
from schedopt.problems import problem_of
from schedopt.problems.summary import Replanned
from schedopt.solvers.result import Result
from schedopt.solvers.stopping import stoppable
from schedopt.verbs import plan_table
from schedopt.verbs.load import instance_of_result
from schedopt.verbs.load import load as loaded
from schedopt.verbs.solve import solve

if TYPE_CHECKING:
    import polars as pl

    from schedopt.instances.tables import Source


def replan(
    plan: Replanned | Result | pl.DataFrame | str | Path,
    *,
    at: str | float,
    state: Source | None = None,
    instance: AnyInstance | str | Path | None = None,
    stay: float = 0.0,
    formulation: str | None = None,
    constraints: Sequence[Constraint] = (),
    options: Options | None = None,
    time_limit: float | None = None,
    gap: float = 0.0,
    threads: int | None = None,
    seed: int = 0,
) -> Replanned:
    """Plan the rest of a night again, from what has happened, near what was planned.

    What runs keeps its processors until it ends, what is done is gone, and shares count what was
    used. Of the plans with the best reward one is taken that keeps the most jobs of the old plan.

    Parameters
    ----------
    plan : Replanned, Result, polars.DataFrame, str or Path
        The old plan: what `replan` or `solve` returned, a table, or a file of a result or a plan.
    at : str or float
        Now: a number in the file's unit, a duration such as ``6h``, or a time such as ``02:00``.
    state : str, Path or frame, optional
        A row for each job that is not as planned: ``job``, ``status`` (done, running, failed,
        waiting), and where they are known ``start``, ``processors``, ``end``, ``pool``. A row
        without a job says how many processors there are, of which pool, from its ``start`` on or
        from now.
    instance : Instance, str or Path, optional
        The night. It is looked for beside a result, and among the examples, by its digest.
    stay : float
        The part of the reward still to be earned that may be given up to keep jobs.
    formulation, options, time_limit, gap, threads, seed
        As `solve` has them; the time limit is for all solves together.
    constraints : sequence of Constraint
        Side constraints beyond the instance's; those of a result are kept.
    """
    if not 0 <= stay <= 1:
        raise InputError("a part of the reward, from 0 to 1", found=quote(stay), place="stay")
    old, night, rules = _old_plan(plan, instance)
    record = problem_of(night)
    again = partial(
        solve,
        formulation=formulation or record.default_formulation(night),
        options=options,
        time_limit=None if time_limit is None else time_limit / 3,
        gap=gap,
        threads=threads,
        seed=seed,
    )
    added = [*rules, *(rule for rule in constraints if rule not in rules)]
    with stoppable():  # all solves together
        replanned = record.replan(night, old, at, state, again, stay=stay, constraints=added)
    if not isinstance(old, list):
        return replanned
    taken = "those of the file, --constraints and --state are taken"
    note = f"a plan as a table says neither its rules nor what became of the machine: {taken}"
    return replace(replanned, notes=(*replanned.notes, note))


def _old_plan(
    plan: Replanned | Result | pl.DataFrame | str | Path,
    instance: AnyInstance | str | Path | None,
) -> tuple[Any, AnyInstance, list[Constraint]]:
    """Return the old plan, its instance, and the rules that its question added."""
    file = str(plan) if isinstance(plan, str | Path) else None
    if isinstance(instance, str | Path):
        instance = load(instance)
    if isinstance(plan, Replanned):
        if plan.old is None:
            raise InputError("a plan", found=quote(plan.result.termination), place="plan")
        return plan.old, instance or plan.night, []
    with at_place(file=file):
        held: Any = _read(plan) if isinstance(plan, str | Path) else plan
        if isinstance(held, Result):
            if held.solution is None:
                raise InputError("a result with a solution", found=quote(held.termination))
            return held, _instance_of(held, instance, file), list(held.constraints)
        if instance is None:
            raise InputError("--instance FILE: a plan as a table does not name its night")
        rows = held.to_dicts()
        for n, row in enumerate(rows, start=1):
            if row["job"] not in instance.index:
                expected = f"a job of {instance.name}"
                raise InputError(expected, found=quote(row["job"]), place=f"row {n}")
        return rows, instance, []


def _read(path: str | Path) -> Any:
    if Path(path).suffix.lower() in plan_table.FORMATS:
        table = plan_table.read(path)
        if table is None:
            raise InputError("a plan", found="another table")
        return table
    held = loaded(path)
    if not isinstance(held, Result):
        raise InputError("a plan, or one result", found="something else")
    return held


def instance_of(plan: str | Path, given: AnyInstance | None) -> AnyInstance:
    """Return the instance of a plan in a file: the given one, or its result's."""
    return _old_plan(plan, given)[1] if given is None else given


def _instance_of(plan: Result, given: AnyInstance | None, file: str | None) -> AnyInstance:
    """Return the instance that a result answers."""
    asked = plan.asked.question.instance if plan.asked is not None else None
    if asked is None:
        if given is None:
            raise InputError("--instance FILE: the result does not say which night it is of")
        return given
    wanted = f"{asked.name}, digest {asked.digest[:12]}"
    if given is not None:
        digest = identity(given)
        if digest.digest != asked.digest:
            other = f"{digest.name}, digest {digest.digest[:12]}"
            raise InputError(f"the instance of the result: {wanted}", found=other)
        return given
    if (held := instance_of_result(plan, file)) is not None:
        return held
    where = "its folder and the examples" if file else "the examples"
    raise InputError(f"--instance FILE: {wanted}, is not in {where}")
