"""Plot: the picture that suits an instance, a result or a bench, as .png, .svg, .pdf or .html."""

import html
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from schedopt.instances.errors import InputError, shown
from schedopt.instances.files import load, parse, read_bytes, write_bytes
from schedopt.instances.protocol import AnyInstance
from schedopt.problems import problem as record_of
from schedopt.problems import problem_of
from schedopt.solvers.result import Result
from schedopt.sweep import rows
from schedopt.sweep.journal import LINES, read_lines
from schedopt.sweep.rows import Row
from schedopt.sweep.variations import Variation, is_variations
from schedopt.verbs.load import instance_of_result, parse_results

FORMATS = (".png", ".svg", ".pdf", ".html")


def plot(what: Any, *, instance: AnyInstance | str | Path | None = None, ax: Any = None) -> Any:
    """Return the picture of an instance, of results, or of the rows of a bench.

    Parameters
    ----------
    what : Instance, Result, sequence of Result, sequence of Row, polars.DataFrame, path, or several
        What to draw: a frame is a plan; paths, also of a plan (.csv, .parquet), are loaded. Several
        results are drawn beside each other.
    instance : Instance, str or Path, optional
        The instance of the results or the plan, for its deadline and groups. That of one result
        in a file is looked for in its folder and among the examples.
    ax : matplotlib.axes.Axes, optional
        Axes of a figure of your own, for a picture of one panel; of a schedule its tasks alone.

    Returns
    -------
    matplotlib.figure.Figure or matplotlib.axes.Axes
        The axes, where they were given.

    Raises
    ------
    InputError
        If a file cannot be read, or there is nothing to draw in it, or several panels are.
    """
    if ax is None:
        return _draw(what, instance)
    from schedopt.pictures.style import draw_into

    with draw_into(ax):
        figure = _draw(what, instance)
    if figure is not ax.figure:
        raise InputError("none: the picture takes a figure of its own", found="axes", place="ax")
    return ax


def _draw(what: Any, instance: AnyInstance | str | Path | None) -> Any:
    """Return the figure that suits what is given."""
    paths = [what] if isinstance(what, str | Path) or _is_frame(what) else what
    if isinstance(paths, Sequence) and paths and all(map(_is_frame, paths)):
        return _draw_plans(paths, instance)
    if isinstance(paths, Sequence) and paths and isinstance(paths[0], str | Path):
        if (planned := _plans(paths, instance)) is not None:
            return planned
        what = read(paths[0]) if len(paths) == 1 else _read_several(paths)
        if instance is None and isinstance(what, Result):
            instance = instance_of_result(what, paths[0])
    if isinstance(instance, str | Path):
        instance = load(instance)
    parse_results = [what] if isinstance(what, Result) else what
    if not isinstance(parse_results, Sequence):
        return problem_of(what).draw(what)
    if parse_results and isinstance(parse_results[0], Row):
        return _profiles([row for row in parse_results if isinstance(row, Row)])
    if parse_results and isinstance(parse_results[0], Variation):
        from schedopt.pictures.charts import variations

        return variations([row for row in parse_results if isinstance(row, Variation)])
    drawn = [result for result in parse_results if result.solution]
    if not drawn:
        raise InputError("a result with a solution to draw", found="none")
    several = dict.fromkeys(result.problem for result in drawn)
    if len(several) > 1:
        raise InputError("results of one problem", found=shown(list(several)))
    try:
        return record_of(drawn[0].problem).draw_results(drawn, instance)
    except InputError:
        raise
    except (ArithmeticError, AttributeError, LookupError, ValueError) as failure:
        why = _reason(drawn, instance, failure)
        raise InputError("results that `check` passes", found=why) from None


def _reason(drawn: Sequence[Result[Any]], instance: AnyInstance | None, failure: Exception) -> str:
    """Return why results cannot be drawn; raise the failure where no reason is known."""
    from schedopt.validation.documents import check

    if instance is None:
        return "some whose numbers cannot be drawn: give --instance to see why"
    for result in drawn:
        wrong = check(instance, result.document()).violations
        if wrong:
            return f"{wrong[0]} ({result.instance})"
    raise failure


def _plans(paths: Sequence[str | Path], instance: AnyInstance | str | Path | None) -> Any | None:
    """Return the picture of a plan; None where files hold something else."""
    from schedopt.verbs import plan_table as plans

    if any(Path(path).suffix.lower() not in plans.FORMATS for path in paths):
        return None
    tables = [plans.read(path) for path in paths]
    found = [table for table in tables if table is not None]
    if not found:
        return None
    if len(found) < len(paths):
        raise InputError("plans alone", found="other tables too")
    return _draw_plans(found, instance)


def _draw_plans(tables: Sequence[Any], instance: AnyInstance | str | Path | None) -> Any:
    """Return the picture of a plan, up to its instance's deadline if that is known."""
    from schedopt.pictures import plan as pictures

    if len(tables) > 1:
        raise InputError("one plan", found=f"{len(tables)} plans")
    if isinstance(instance, str | Path):
        instance = load(instance)
    return pictures.plan(tables[0], getattr(instance, "deadline", None))


def _is_frame(what: Any) -> bool:
    return hasattr(what, "columns") and hasattr(what, "to_dicts")


def _read_several(paths: Sequence[str | Path]) -> list[Any]:
    """Return the results, or the rows, of several files as one list."""
    found = []
    for path in paths:
        held = read(path)
        several = held if isinstance(held, list) else [held]
        if any(not isinstance(one, Result | Row) for one in several):
            raise InputError("results or rows in each of several files", file=str(path))
        found += several
    if len({isinstance(one, Row) for one in found}) > 1:
        raise InputError("files of results, or files of rows", found="both")
    return found


def read(path: str | Path) -> Any:
    """Return what a file holds: an instance, a result, a list of results, or rows of a bench."""
    if Path(path).suffix == LINES and is_variations(read_bytes(path)):
        return read_lines(Path(path), Variation)
    if Path(path).suffix in rows.FORMATS:
        return rows.read_rows(path)
    data = read_bytes(path)
    held = parse_results(data, path)
    return parse(data, file=str(path)) if held is None else held


def _profiles(found: Sequence[Row]) -> Any:
    from schedopt.analysis.profiles import profiles
    from schedopt.pictures import charts

    profiled = profiles(found)
    if not profiled:
        raise InputError("a run with an objective that breaks no side constraint", found="none")
    return charts.profiles(profiled)


def save(figure: Any, path: str | Path) -> None:
    """Write a figure whole or not at all, in the format that the name ends in."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise InputError(f"a name ending in {', '.join(FORMATS)}", found=shown(path.name))
    kind = "svg" if suffix == ".html" else suffix[1:]
    dated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}  # the same picture, same bytes
    from schedopt.pictures.style import without_font_warnings

    buffer = BytesIO()
    with without_font_warnings():
        figure.savefig(buffer, format=kind, dpi=150, metadata=dated.get(kind))
    data = buffer.getvalue()
    write_bytes(path, _page(path.stem, data) if suffix == ".html" else data)


def _page(title: str, svg: bytes) -> bytes:
    drawing = svg[svg.index(b"<svg") :]
    head = f'<!doctype html><meta charset="utf-8"><title>{html.escape(title)}</title>'
    style = "<style>body{margin:1em}svg{max-width:100%;height:auto}</style>"
    return (head + style).encode() + drawing
