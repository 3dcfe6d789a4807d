"""The verb plot: draws instances, results and benches as .png, .svg, .pdf or .html."""

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeGuard

from schedopt.instances.errors import InputError, quote
from schedopt.instances.extras import report_missing_extras
from schedopt.instances.files import is_stream, read_bytes, write_bytes
from schedopt.instances.protocol import AnyInstance, is_instance
from schedopt.problems import problem, problem_of
from schedopt.problems.summary import Plan
from schedopt.solvers.result import Result
from schedopt.sweep import rows
from schedopt.sweep.rows import LINES, BenchRow, read_lines
from schedopt.verbs.load import load
from schedopt.verbs.whatif import Variation

FORMATS = (".png", ".svg", ".pdf", ".html")


@report_missing_extras()
def plot(what: Any, *, instance: AnyInstance | str | Path | None = None, ax: Any = None) -> Any:
    """Return a figure of an instance, of results, or of the rows of a bench.

    Parameters
    ----------
    what : Instance, Result, sequence of Result or of BenchRow, polars.DataFrame, path, or several
        What to draw. A frame is a plan. Paths are loaded. Several results are drawn next to each
        other.
    instance : Instance, str or Path, optional
        The instance of the results or the plan, for its deadline and groups.
    ax : matplotlib.axes.Axes, optional
        The axes of another figure to draw into, for pictures of one panel; of a schedule only the
        tasks are drawn.

    Returns
    -------
    matplotlib.figure.Figure or matplotlib.axes.Axes
        The figure, or the given axes.

    Raises
    ------
    InputError
        If there is nothing to draw, or the picture does not fit into the axes.
    """
    if ax is None:
        return _draw(what, instance)
    from schedopt.pictures.style import draw_into

    with draw_into(ax):
        figure = _draw(what, instance)
    if figure is not ax.figure:
        raise InputError(
            "no axes: this picture needs a figure of its own", found="axes", parameter="ax"
        )
    return ax


def _draw(what: Any, instance: AnyInstance | str | Path | None) -> Any:
    """Return the figure of an instance, a plan, results or rows."""
    alone = isinstance(what, str | Path | Result) or is_instance(what) or _is_frame(what)
    drawn = [what] if alone else [*what]
    items = [item for one in drawn for item in (_read(one) if _is_path(one) else [one])]
    kinds = {_kind(item) for item in items}
    if len(kinds) > 1 or (len(items) > 1 and kinds & {"an instance", "a plan"}):
        expected = "one instance, one plan, or results or rows alone"
        raise InputError(expected, found=f"{len(items)}: {', '.join(sorted(kinds))}")
    if _is_path(instance):
        instance = load(instance)
    match kinds.pop() if kinds else "":
        case "an instance":
            return problem_of(items[0]).draw(items[0])
        case "a plan":
            from schedopt.pictures.charts import plan

            return plan(Plan.of(items[0]), instance)
        case "rows of a bench":
            from schedopt.analysis.statistics import profiles
            from schedopt.pictures import charts

            if not (profiled := profiles(items)):
                expected = "a run with an objective that breaks no side constraint"
                raise InputError(expected, found="none")
            return charts.profiles(profiled)
        case "rows of a what-if":
            from schedopt.pictures.charts import variations

            return variations(items)
    if instance is None and len(items) == 1 and items[0].asked is not None:
        instance = items[0].asked.instance
    return _draw_results(items, instance)


def _is_path(what: object) -> TypeGuard[str | Path]:
    return isinstance(what, str | Path)


def _is_frame(what: object) -> bool:
    return hasattr(what, "to_dicts")


def _kind(item: object) -> str:
    if _is_frame(item):
        return "a plan"
    if isinstance(item, Result):
        return "results"
    if isinstance(item, BenchRow):
        return "rows of a bench"
    return "rows of a what-if" if isinstance(item, Variation) else "an instance"


def _draw_results(results: Sequence[Result], instance: Any) -> Any:
    drawn = [result for result in results if result.solution]
    if not drawn:
        raise InputError("a result with a solution to draw", found="none")
    several = dict.fromkeys(result.problem for result in drawn)
    if len(several) > 1:
        raise InputError("results of one problem", found=quote(list(several)))
    try:
        return problem(drawn[0].problem).draw_results(drawn, instance)
    except InputError:
        raise
    except (ArithmeticError, AttributeError, LookupError, ValueError):
        found = "one that cannot be drawn"
        raise InputError("results that `check` passes", found=found) from None


def _read(path: str | Path) -> list[Any]:
    """Return the contents of a file: an instance, a plan, results, or rows."""
    ending = Path(path).suffix.lower()
    if ending == LINES and b'"values":{' in read_bytes(path).partition(b"\n")[0]:
        return [*read_lines(Path(path), Variation)]
    if ending in rows.FORMATS:
        return [*rows.read_rows(path)]
    held = load(path)
    return held if isinstance(held, list) else [held]


def save(figure: Any, path: str | Path) -> None:
    """Write a figure atomically, in the format of the file's ending.

    A pipe or a device without an ending gets a PNG.
    """
    path = Path(path)
    suffix = path.suffix.lower() or (".png" if is_stream(path) else "")
    if suffix not in FORMATS:
        raise InputError(f"a name ending in {', '.join(FORMATS)}", found=quote(path.name))
    kind = "svg" if suffix == ".html" else suffix[1:]
    from schedopt.pictures.style import image

    data = image(figure, kind, dpi=150)
    if suffix == ".html":
        head = f'<!doctype html><meta charset="utf-8"><title>{html.escape(path.stem)}</title>'
        style = "<style>body{margin:1em}svg{max-width:100%;height:auto}</style>"
        data = (head + style).encode() + data[data.index(b"<svg") :]
    write_bytes(path, data)
