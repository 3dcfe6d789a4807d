"""What if: the optimum for every combination of values at places of an instance."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from schedopt.instances.constraints import Constraint
from schedopt.instances.encoding import to_json
from schedopt.instances.errors import InputError, shown
from schedopt.instances.files import load, write_bytes
from schedopt.instances.options import Options, most_at_once
from schedopt.instances.protocol import AnyInstance
from schedopt.problems import problem_of
from schedopt.solvers.stopping import finishing, stoppable
from schedopt.sweep.journal import LINES, Journal
from schedopt.sweep.plan import PlannedRun
from schedopt.sweep.pool import computed, leave_if_begun_by_ourselves
from schedopt.sweep.variations import (
    FORMATS,
    Variant,
    Variation,
    VariedSource,
    Vary,
    combinations,
    key,
    read,
    table,
)
from schedopt.verbs.bench import keep_rows


def whatif(
    what: AnyInstance | str | Path,
    vary: Sequence[str],
    *,
    unit: str | None = None,
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
        The instance; a path is loaded.
    vary : sequence of str
        ``PLACE=VALUES``. Places are names with points between: ``processors``, ``deadline``,
        ``jobs.hero.reward``, ``rules.cap.at_most.fx`` (a side constraint by its name, or by kind
        and position), ``option.fill``. Values have commas between, or are ``FIRST:LAST:STEP``.
    unit : str, optional
        What times are in where values have units, such as ``12h``: ``s``, ``m``, ``h`` or ``d``;
        the instance's own if left out.
    formulation, solver, constraints, time_limit, gap, seed, options
        As `solve` takes them.
    jobs : int
        Processes.
    output : path, optional
        A .jsonl file, to which each row is appended as it is known, and whose rows are not solved
        again; or a .csv, written at the end.
    progress : callable, optional
        Called with combinations done and in all.

    Returns
    -------
    list of Variation
        One for each combination, the last place changing fastest.

    Raises
    ------
    InputError
        If a place, a value or something else given is not right; before anything is solved.
    """
    if not 1 <= jobs <= most_at_once():
        raise InputError(f"from 1 to {most_at_once()} processes", found=shown(jobs), place="jobs")
    if output is not None and Path(output).suffix.lower() not in FORMATS:
        raise InputError(f"a name ending in {', '.join(FORMATS)}", found=shown(str(output)))
    if jobs > 1:
        leave_if_begun_by_ourselves()
    how = {
        "formulation": formulation,
        "solver": solver,
        "time_limit": time_limit,
        "gap": gap,
        "seed": seed,
        "options": dict(options or {}),
    }
    asked = variants_of(what, vary, unit=unit, constraints=constraints, how=how)
    return solve_variants(asked, jobs, None if output is None else Path(output), progress)


def variants_of(
    what: AnyInstance | str | Path,
    vary: Sequence[str],
    *,
    unit: str | None = None,
    constraints: Sequence[Constraint] = (),
    how: Mapping[str, Any],
) -> list[Variant]:
    """Return what is to be solved, each combination read; ``how`` is for `schedopt.solve`."""
    if isinstance(what, str | Path):
        what = load(what)
    if not vary:
        raise InputError("PLACE=VALUES", found="nothing", place="--vary")
    record = problem_of(what)
    own = str(unit or getattr(what, "unit", "s"))
    varied = [Vary.of(text, lambda text: record.quantity(text, what, own)) for text in vary]
    document = msgspec.json.decode(to_json(what))
    rules = tuple(msgspec.json.decode(to_json(list(constraints))))
    asked = []
    for values in combinations(varied):
        source = VariedSource(what.name, document, rules, values)
        source.read()
        mark = key([document, rules, values, how])
        run = PlannedRun(mark, "", 0, {})
        variant = Variant(source=source, digest=mark, runs=(run,), problem=record.name, how=how)
        asked.append(variant)
    return asked


def solve_variants(
    variants: Sequence[Variant],
    jobs: int = 1,
    output: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Variation]:
    """Return a row for each combination; those that the output holds are taken from it."""
    journaled = output is None or output.suffix.lower() == LINES
    keys = [variant.digest for variant in variants]
    rows = Journal(output if journaled else None, keys, read, table)
    left = [variant for variant in variants if variant.digest not in rows]
    kept, total = len(variants) - len(left), len(variants)

    def advance(done: int, total: int) -> None:
        if progress and done > kept:
            progress(done, total)

    outcomes = computed(left, min(jobs, max(1, len(left))))
    try:
        with stoppable(), closing(keep_rows(rows, outcomes, kept, total, advance)) as failures:
            for _, why in failures:
                raise FinishedMessageError(why)
    finally:
        with finishing():
            found: list[Variation] = rows.finish()
    if output is not None and not journaled:
        write_bytes(output, table(found, output.suffix.lower()))
    return found


class FinishedMessageError(InputError):
    """An error with a finished message."""

    def __str__(self) -> str:
        return self.expected
