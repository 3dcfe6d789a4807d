"""The pictures of a report: what the best policy does on an instance, and what is optimal."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from instances.errors import InputError
from instances.protocol import AnyInstance
from schedopt.analysis.contenders import counts, sign_of
from schedopt.sweep.measure import solutions
from schedopt.sweep.plan import ProblemPlan, Sweep
from schedopt.sweep.rows import Row
from schedopt.sweep.sources import from_label
from schedopt.verbs.bench import task_of
from solvers.result import Result

BUDGET = 60.0
"""Seconds that the runs to be drawn took in the bench: they are made again for their solutions."""

IN_THE_WAY = (
    re.compile(r"<metadata>.*?</metadata>", re.DOTALL),
    re.compile(r"<style.*?</style>", re.DOTALL),  # would hold for all of the page
    re.compile(r"<!--.*?-->", re.DOTALL),  # repeat every text of the picture
)


@dataclass(frozen=True)
class Picture:
    """A drawing and what it shows.

    Attributes
    ----------
    caption : str
    svg : str
        Markup that holds no script; empty where there is nothing to draw.
    note : str
        Why there is nothing to draw.
    """

    caption: str
    svg: str = ""
    note: str = ""


def best(rows: Sequence[Row]) -> Row | None:
    """Return the best row of one instance: the first of the least gap, or of the best objective."""
    with_gap = [row for row in rows if row.gap is not None]
    if with_gap:
        return min(with_gap, key=lambda row: row.gap or 0.0)
    fine = [row for row in rows if counts(row)]
    return max(
        fine,
        key=lambda row: sign_of(row.problem, "objective") * (row.objective or 0.0),
        default=None,
    )


def chosen(cases: Mapping[str, Sequence[Row]], most: int) -> list[str]:
    """Return the files worth a picture: where policies differ most, as many as time allows.

    Parameters
    ----------
    cases : mapping
        Each file's rows.
    most : int
        How many at the most.
    """

    def spread(file: str) -> float:
        found = [row.gap for row in cases[file] if row.gap is not None]
        return max(found, default=0.0)

    left = BUDGET
    files: list[str] = []
    for file in sorted(cases, key=spread, reverse=True):
        cost = cases[file][0].reference_seconds + max(row.seconds for row in cases[file])
        if len(files) < most and cost <= left:
            files.append(file)
            left -= cost
    return [file for file in cases if file in files]


def drawn(row: Row, sweep: Sweep, of: Mapping[str, ProblemPlan]) -> list[Picture]:
    """Return the pictures of a row's policy and of its reference.

    Parameters
    ----------
    row : Row
        The row of the instance's best policy.
    sweep : Sweep
        What the bench did.
    of : mapping of str to ProblemPlan
        What that means for each problem.
    """
    caption = f"Best policy: {row.policy}"
    try:
        task = task_of(from_label(row.file), sweep, of)
        same = [run for run in task.runs if run.key == row.key]
        if not same:
            return [Picture(caption, note="not drawn: the file has changed since")]
        instance, found, reference = solutions(task, same[0])
    except Exception as error:  # noqa: BLE001  one instance must not cost the whole page
        return [Picture(caption, note=_reason(error))]
    optimum = "The optimum" if reference.proven else "The best that the solver found"
    return [
        _picture(caption, found, instance),
        _picture(optimum, reference, instance),
    ]


def _picture(caption: str, result: Result, instance: AnyInstance) -> Picture:
    from schedopt.verbs.plot import plot

    if not result.solution:
        return Picture(caption, note=f"no solution: {result.termination}")
    try:
        return Picture(caption, svg(plot(result, instance=instance), caption))
    except Exception as error:  # noqa: BLE001  as above
        return Picture(caption, note=_reason(error))


def _reason(error: Exception) -> str:
    kind = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
    return f"not drawn: {kind}{error}"


def svg(figure: Any, caption: str) -> str:
    """Return a figure as markup that can stand in a page, the same each time."""
    import matplotlib

    buffer = BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "schedopt"}):
        figure.savefig(buffer, format="svg", dpi=110, transparent=True, metadata={"Date": None})
    drawing = buffer.getvalue().decode()
    drawing = drawing[drawing.index("<svg") :]
    for part in IN_THE_WAY:
        drawing = part.sub("", drawing)
    label = html.escape(caption, quote=True)
    wide = f"--natural: {figure.get_figwidth():g}in"
    return drawing.replace("<svg ", f'<svg role="img" aria-label="{label}" style="{wide}" ', 1)
