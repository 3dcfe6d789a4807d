"""The verb whatif: solves an instance for every combination of values at some places."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from schedopt.instances.constraints import Constraint
from schedopt.instances.encoding import to_json
from schedopt.instances.errors import InputError
from schedopt.instances.options import Options
from schedopt.instances.protocol import AnyInstance
from schedopt.problems import problem_of
from schedopt.solvers.result import Result
from schedopt.solvers.stopping import finishing
from schedopt.sweep.measure import digest_of
from schedopt.sweep.pool import PlannedRun, expect_jobs, finish_tasks
from schedopt.sweep.rows import LINES, Journal
from schedopt.sweep.variations import Variant, Variation, combinations
from schedopt.verbs.load import load


def whatif(
    what: AnyInstance | str | Path,
    vary: Sequence[str],
    *,
    formulation: str | None = None,
    solver: str | None = None,
    constraints: Sequence[Constraint] = (),
    time_limit: float | None = None,
    gap: float = 0.0,
    seed: int = 0,
    options: Options | None = None,
    jobs: int = 1,
    output: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Variation]:
    """Solve an instance for every combination of values at some of its places.

    Parameters
    ----------
    what : Instance, str or Path
        The instance; a path is loaded. The night of a plan document is solved as a schedule, with
        the side constraints of the plan.
    vary : sequence of str
        ``PLACE=VALUES``. A place is a path of names separated by points: ``processors``,
        ``deadline``, ``jobs.hero.reward``, ``rules.cap.at_most.fx`` (a side constraint by its name,
        or by kind and position), ``option.fill``. Values are separated by commas, or are
        ``FIRST:LAST:STEP``; times may have units, such as ``12h``, or be times of day.
    formulation, solver, constraints, time_limit, gap, seed, options
        See `solve`.
    jobs : int
        The number of processes.
    output : path, optional
        A .jsonl file, to which rows are appended, and whose rows are not computed again.
    progress : callable, optional
        Called with the number of combinations that are done, and the number of all.

    Returns
    -------
    list of Variation
        A row for each combination; the values of the last place change fastest.

    Raises
    ------
    InputError
        If a place, a value or another argument is not valid, before anything is solved.
    SweepInterrupt
        At Ctrl-C: a `KeyboardInterrupt` with the ``rows`` that are done.
    """
    expect_jobs(jobs)
    if output is not None and Path(output).suffix.lower() != LINES:
        raise InputError(f"a name ending in {LINES}", file=str(output))
    if isinstance(what, str | Path):
        what, of_plan, planned = question_of(what)
        constraints, formulation = [*of_plan, *constraints], formulation or planned
    how = {
        "formulation": formulation,
        "solver": solver,
        "time_limit": time_limit,
        "gap": gap,
        "seed": seed,
        "options": dict(options or {}),
    }
    if not vary:
        raise InputError("PLACE=VALUES", found="nothing", parameter="vary")
    record = problem_of(what)
    document = msgspec.json.decode(to_json(what))
    rules = tuple(msgspec.json.decode(to_json(list(constraints))))
    variants = []
    for values in combinations(vary, lambda text: record.quantity(text, what)):
        run = PlannedRun(digest_of(document, rules, values, how))
        asked = {"document": document, "rules": rules, "values": values, "how": how}
        variants.append(Variant(label=what.name, runs=(run,), **asked))
        variants[-1].read()  # raises errors before anything is solved
    keys = [variant.runs[0].key for variant in variants]
    rows = Journal(None if output is None else Path(output), keys, Variation)
    try:
        for _, why in finish_tasks(variants, rows, jobs, progress=progress):
            raise CompleteMessageError(why)
    finally:
        with finishing():
            variations: list[Variation] = rows.finish()
    return variations


def question_of(
    path: str | Path,
) -> tuple[AnyInstance, Sequence[Constraint], str | None]:
    """Return the instance of a file, and the side constraints and formulation if it is a plan."""
    held = load(path)
    if not isinstance(held, Result):
        return held, (), None
    night = held.asked.instance if held.asked is not None else None
    if night is None:
        raise InputError("an instance, or a plan document with its night", file=str(path))
    return night, held.constraints, held.formulation or None


class CompleteMessageError(InputError):
    """An error whose message is complete."""

    def __str__(self) -> str:
        return self.expected
