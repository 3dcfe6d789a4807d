"""The pictures of a report: each policy's solution of an instance, beside the reference."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from typing import TYPE_CHECKING, Any

from schedopt.analysis.contenders import counts, sign_of
from schedopt.formats import cut
from schedopt.instances.encoding import to_json
from schedopt.instances.errors import InputError
from schedopt.instances.protocol import AnyInstance
from schedopt.solvers.result import Result
from schedopt.sweep.measure import solutions
from schedopt.sweep.plan import ProblemPlan, Sweep
from schedopt.sweep.rows import Row
from schedopt.sweep.sources import from_label
from schedopt.verbs.bench import plan_task

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BUDGET = 60.0
"""Most seconds of bench time of the runs that are drawn: they are run again for their solutions."""

MOST = 120  # pictures of a report: each takes a fifth of a second, and tens of kilobytes
PHONE, NAME = 3.9, 16  # inches of a picture for a phone, and letters of a name in it

IN_THE_WAY = (
    re.compile(r"<metadata>.*?</metadata>", re.DOTALL),
    re.compile(r"<style.*?</style>", re.DOTALL),  # would hold for all of the page
    re.compile(r"<!--.*?-->", re.DOTALL),  # repeat every text of the picture
)


@dataclass(frozen=True)
class Picture:
    """A drawing and what it shows."""

    caption: str
    svg: str = ""  # markup that holds no script; empty where there is nothing to draw
    note: str = ""  # why there is nothing to draw
    keys: tuple[str, ...] = ()  # the rows whose solution it shows; none for the reference


def order(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of one instance, the best first; those that do not count come last."""
    sign = sign_of(rows[0].problem, "objective") if rows else 1.0
    return sorted(
        rows,
        key=lambda row: (
            not counts(row),
            row.gap is None,
            row.gap or 0.0,
            -sign * (row.objective or 0.0),
        ),
    )


def chosen(cases: Mapping[str, Sequence[Row]], most: int) -> list[str]:
    """Return the files to draw: where policies differ most, within the time budget."""

    def spread(file: str) -> float:
        found = [row.gap for row in cases[file] if row.gap is not None]
        return max(found, default=0.0)

    left = BUDGET
    files: list[str] = []
    for file in sorted(cases, key=spread, reverse=True):
        cost = cases[file][0].reference_seconds + sum(row.seconds for row in cases[file])
        if len(files) < most and cost <= left:
            files.append(file)
            left -= cost
    return [file for file in cases if file in files]


def drawn(
    rows: Sequence[Row], sweep: Sweep, of: Mapping[str, ProblemPlan], most: int
) -> list[Picture]:
    """Return an instance's pictures: the reference, then each policy, the best first."""
    ordered = order(rows)
    try:
        task = plan_task(from_label(ordered[0].file), sweep, of)
        known = {run.key for run in task.runs}
        if not all(row.key in known for row in ordered):
            return [Picture("", note="not drawn: the file has changed since")]
        wanted = {row.key for row in ordered}
        task = replace(task, runs=tuple(run for run in task.runs if run.key in wanted))
        found = {run.key: rest for run, *rest in solutions(task)}
    except Exception as error:  # noqa: BLE001  one instance must not cost the whole page
        return [Picture("", note=_reason(error))]
    return list(_pictures(ordered, found, most))


def _pictures(
    rows: Sequence[Row], found: Mapping[str, Sequence[Any]], most: int
) -> Iterator[Picture]:
    """Yield the reference's picture, then one for each solution that policies have."""
    instance, _, reference = found[rows[0].key]
    what = "The optimum" if reference.proven else "The best solution that the solver found"
    yield _picture(what, reference, instance)
    groups: dict[bytes, list[Row]] = {}
    for row in rows:
        result = found[row.key][1]
        same = to_json(result.document().solution) if result.solution else b""
        groups.setdefault(same or row.key.encode(), []).append(row)
    for place, alike in enumerate(groups.values(), start=1):
        names = list(dict.fromkeys(_called(row, rows) for row in alike))
        caption, keys = ", ".join(names), tuple(row.key for row in alike)
        if place < most:
            yield replace(_picture(caption, found[alike[0].key][1], instance), keys=keys)
        else:
            yield Picture(caption, note=f"not drawn: a report has {MOST} pictures", keys=keys)


def _called(row: Row, rows: Sequence[Row]) -> str:
    several = sum(other.policy == row.policy for other in rows) > 1
    return f"{row.policy}, seed {row.seed}" if several else row.policy


def _picture(caption: str, result: Result, instance: AnyInstance) -> Picture:
    from schedopt.verbs.plot import plot

    if not result.solution:
        why = f": {result.message}" if result.message else ""
        return Picture(caption, note=f"no solution: {result.termination}{why}")
    try:
        return Picture(caption, svg(plot(result, instance=instance), caption))
    except Exception as error:  # noqa: BLE001  as above
        return Picture(caption, note=_reason(error))


def _reason(error: Exception) -> str:
    kind = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
    return f"not drawn: {kind}{error}"


def slim(figure: Figure) -> Figure:
    """Lay out a figure for a phone: legends below, fewer hours, shorter names."""
    from matplotlib.ticker import FixedLocator

    figure.set_figwidth(PHONE)
    legend = dict[str, Any]()
    for axes in figure.axes:
        if own := axes.get_legend():
            texts = [cut(text.get_text(), NAME) for text in own.get_texts()]
            legend |= dict(zip(texts, own.legend_handles, strict=True))
            own.remove()
        place = axes.get_subplotspec()
        step = 2 if place is None or len(place.colspan) == place.get_gridspec().ncols else 3
        if isinstance(axes.xaxis.get_major_locator(), FixedLocator):
            told, day = list[str](), ""
            for i, text in enumerate(axes.get_xticklabels()):
                hour, _, new = text.get_text().partition("\n")
                day = new or day
                told.append("" if i % step else f"{hour}\n{day}".rstrip())
                day = "" if told[-1] else day
            axes.set_xticks(axes.get_xticks(), told)
        if isinstance(axes.yaxis.get_major_locator(), FixedLocator):
            names = [cut(text.get_text(), NAME) for text in axes.get_yticklabels()]
            axes.set_yticks(axes.get_yticks(), names)
        axes.set_title(axes.get_title(), fontsize=8, wrap=True)
    if legend:
        below: Any = {"loc": "outside lower center", "ncols": 3, "fontsize": 7, "frameon": False}
        figure.legend(legend.values(), legend.keys(), **below)
    return figure


def svg(figure: Figure, caption: str, salt: str = "schedopt") -> str:
    """Return a figure as markup to embed in a page, the same bytes each time."""
    import matplotlib

    from schedopt.pictures.style import quietly

    buffer = BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": salt}), quietly():
        figure.savefig(buffer, format="svg", dpi=110, transparent=True, metadata={"Date": None})
    drawing = buffer.getvalue().decode()
    drawing = drawing[drawing.index("<svg") :]
    for part in IN_THE_WAY:
        drawing = part.sub("", drawing)
    label = html.escape(caption, quote=True)
    wide = f"--natural: {figure.get_figwidth():g}in"
    return drawing.replace("<svg ", f'<svg role="img" aria-label="{label}" style="{wide}" ', 1)
