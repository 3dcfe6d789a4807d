"""What if: the optimum for every combination of values at places of an instance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from schedopt.instances.constraints import Constraint
from schedopt.instances.errors import InputError, shown
from schedopt.instances.files import load
from schedopt.instances.options import Options, most_at_once
from schedopt.instances.protocol import AnyInstance
from schedopt.problems import problem_of
from schedopt.sweep.varied import FORMATS, Question, Variation, answers, read, write
from schedopt.sweep.varying import Vary, combinations, key


def whatif(
    what: AnyInstance | str | Path,
    vary: Sequence[str],
    *,
    unit: str = "s",
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
    unit : str
        What times are in where values have units, such as ``12h``: ``s``, ``m``, ``h`` or ``d``.
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
    how = {
        "formulation": formulation,
        "solver": solver,
        "time_limit": time_limit,
        "gap": gap,
        "seed": seed,
        "options": dict(options or {}),
    }
    asked = questions(what, vary, unit=unit, constraints=constraints, how=how)
    return solved(asked, jobs, None if output is None else Path(output), progress)


def questions(
    what: AnyInstance | str | Path,
    vary: Sequence[str],
    *,
    unit: str = "s",
    constraints: Sequence[Constraint] = (),
    how: Mapping[str, Any],
) -> list[Question]:
    """Return what is to be solved, each combination read and judged.

    Parameters
    ----------
    what, vary, unit, constraints
        As `whatif` takes them.
    how : mapping
        Further arguments of `schedopt.solve`.

    Raises
    ------
    InputError
        If a place or a value is not right.
    """
    if isinstance(what, str | Path):
        what = load(what)
    if not vary:
        raise InputError("PLACE=VALUES", found="nothing", place="--vary")
    record = problem_of(what)
    varied = [Vary.of(text, lambda text: record.quantity(text, unit)) for text in vary]
    document = msgspec.json.decode(msgspec.json.encode(what))
    rules = tuple(msgspec.json.decode(msgspec.json.encode(list(constraints))))
    asked = [
        Question(document, rules, values, how, key([document, rules, values, how]))
        for values in combinations(varied)
    ]
    for question in asked:
        question.read()
    return asked


def solved(
    questions: Sequence[Question],
    jobs: int = 1,
    output: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Variation]:
    """Return a row for each question; those that the output holds already are taken from it."""
    kept = output is not None and output.suffix.lower() == FORMATS[0]
    asked = {question.key for question in questions}
    done: dict[str, Variation] = {}
    if output is not None and kept and output.exists():
        held = read(output)
        if strange := [row for row in held if row.key not in asked]:
            expected = "rows of this what-if, or no such file"
            raise InputError(expected, found=f"{len(strange)} others", file=str(output))
        done = {row.key: row for row in held}
        write(list(done.values()), output)  # without a last line that was cut off
    left = [question for question in questions if question.key not in done]
    for row in answers(left, jobs):
        done[row.key] = row
        if output is not None and kept:
            with output.open("ab") as file:
                file.write(msgspec.json.encode(row) + b"\n")
        if progress:
            progress(len(done), len(questions))
    found = [done[question.key] for question in questions]
    if output is not None:
        write(found, output)
    return found
