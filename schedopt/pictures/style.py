"""The style of all pictures: colours, dashes, axes, and names."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import time
from io import BytesIO
from typing import TYPE_CHECKING, Any, cast

from matplotlib.figure import Figure

from schedopt.formats import cut, number
from schedopt.instances.errors import InputError, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from schedopt.instances.protocol import AnyInstance
    from schedopt.instances.times import Dates
    from schedopt.solvers.result import Result


COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8A8A8A")
"""Okabe and Ito's, Color Universal Design, 2008, which the colour-blind tell apart as well; with a
grey in place of their yellow, which cannot be seen on white."""

BLUE, ORANGE, GREEN, PURPLE, SKY, RED, GREY = COLOURS

PALE = "#DDDDDD"
"""The colour of the background: what was requested, and what stays empty."""

_GIVEN: ContextVar[Axes | None] = ContextVar("axes", default=None)


def callers_axes() -> Axes | None:
    """Return the axes that the caller gave for the picture; None without them."""
    return _GIVEN.get()


@contextmanager
def draw_into(axes: Axes | None) -> Iterator[None]:
    """Draw into the axes of a caller within this context."""
    before = _GIVEN.set(axes)
    try:
        yield
    finally:
        _GIVEN.reset(before)


def panels(
    size: tuple[float, float], rows: int = 1, columns: int = 1, **how: Any
) -> tuple[Figure, Any]:
    """Return a figure and its axes by row and column; a caller's axes serve a single panel."""
    import numpy as np
    from matplotlib.figure import Figure

    if (axes := callers_axes()) is None:
        figure = Figure(figsize=size, layout="constrained")
        return figure, figure.subplots(rows, columns, squeeze=False, **how)
    if rows * columns > 1:
        found = f"a picture of {rows * columns} panels"
        raise InputError("none, or a picture of one panel", found=found, parameter="ax")
    return cast("Figure", axes.figure), np.array([[axes]])


def single_panel(size: tuple[float, float]) -> tuple[Figure, Axes]:
    """Return a figure with one panel and its axes, or those of the caller."""
    figure, ((axes,),) = panels(size)
    return figure, axes


def set_title(figure: Figure, what: str) -> None:
    """Write a title over a figure, or over a caller's axes."""
    if (axes := callers_axes()) is None:
        figure.suptitle(what, fontsize=10)
    else:
        axes.set_title(what, fontsize=10)


def decorate(
    axes: Axes, title: str = "", x: str = "", y: str = "", *, shares: str = "", legend: str = ""
) -> None:
    """Write a title and the labels of the axes.

    ``shares``: which axis, ``x`` or ``y``, is of percentages; ``legend``: ``inside``, ``beside``,
    or none.
    """
    if title:
        axes.set_title(title, fontsize=10)
    if x:
        axes.set_xlabel(x)
    if y:
        axes.set_ylabel(y)
    if shares:
        getattr(axes, f"{shares}axis").set_major_formatter(lambda value, _: f"{value:.0%}")
    if legend:
        beside: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
        handles, labels = axes.get_legend_handles_labels()
        once = dict(zip(labels, handles, strict=True))  # several rules have marks of one meaning
        where = beside if legend == "beside" else {}
        axes.legend(once.values(), once.keys(), frameon=False, fontsize=8, **where)


DASHES = ("solid", "dashed", "dotted", "dashdot")
"""Dashes of lines that overlap, as matplotlib and CSS call them."""


def image(figure: Figure, kind: str, **how: Any) -> bytes:
    """Return a figure as an image of a format, the same bytes each time."""
    import matplotlib

    buffer, date = BytesIO(), {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with matplotlib.rc_context({"svg.hashsalt": "schedopt"}), warnings.catch_warnings():
        # Characters that the font lacks are drawn as boxes.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(buffer, format=kind, metadata=date.get(kind), **how)
    return buffer.getvalue()


def colours(names: Iterable[str]) -> dict[str, str]:
    """Return a colour for each name; colours repeat after the last."""
    return {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}


def lines(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return a colour and a dash for each name, distinct for the first 28 names."""
    return {
        name: (COLOURS[i % len(COLOURS)], DASHES[i % len(DASHES)]) for i, name in enumerate(names)
    }


def names(results: Sequence[Result]) -> list[str]:
    """Return the name of each result: its policy or formulation, and distinguishing options."""
    who = [(result.instance, str(result.policy or result.formulation)) for result in results]
    words = [
        [*_rules(of), *map("{0[0]}={0[1]}".format, sorted(of.options.items())), f"seed {of.seed}"]
        for of in results
    ]
    common = {
        one: set.intersection(*(set(own) for own, of in zip(words, who, strict=True) if of == one))
        for one in who
    }
    labels = [
        (one[0], ", ".join([one[1], *(word for word in own if word not in common[one])]))
        for one, own in zip(who, words, strict=True)
    ]
    twice = {one for one in labels if labels.count(one) > 1}
    return [f"{one[1]} ({i})" if one in twice else one[1] for i, one in enumerate(labels, start=1)]


def keys(results: Sequence[Result]) -> list[str]:
    """Return the legend entry of each result, with its instance if there are several."""
    several = len({result.instance for result in results}) > 1
    return [
        f"{result.instance}: {name}" if several else name
        for result, name in zip(results, names(results), strict=True)
    ]


def _rules(result: Result) -> list[str]:
    """Return the rules of a result, including those of its instance if they are known."""
    if result.asked is None:
        return [rule.name or rule.kind() for rule in result.constraints]
    return [rule.get("name") or rule["kind"] for rule in result.asked.question.constraints]


def title(result: Result, what: str, name: str = "") -> str:
    """Return the title of a picture: instance, engine or policy, objective, and proof."""
    who = name or names([result])[0]
    proven = ", proven optimal" if result.proven else ""
    return f"{label(result.instance)}: {label(who)}, {what} {number(result.objective)}{proven}"


def label(name: str, most: int = 40) -> str:
    """Return a name for matplotlib: short, printable, and free of mathtext."""
    return cut(printable(name), most).replace("$", r"\$")


def time_unit(scale: float) -> tuple[float, str]:
    """Return a divisor that makes times readable, and the name of the unit."""
    return (3600.0, "hours") if scale >= 2 * 3600 else (1.0, "")


def label_clock_times(axes: Axes, dates: Dates, unit: float) -> None:
    """Label an axis of times with the hours of the day; ``unit`` is in the file's unit of time."""
    from matplotlib import dates as untyped

    clock: Any = untyped
    zone = dates.start.tzinfo
    first, last = (dates.at(end * unit) for end in axes.get_xlim())
    values = clock.AutoDateLocator(zone, minticks=3, maxticks=8).tick_values(first, last)
    moments = [moment for moment in clock.num2date(values, zone) if first <= moment <= last]
    days = all(moment.time() == time() for moment in moments)
    texts, day = list[str](), None
    for moment in moments:
        hour = f"{moment:%H:%M}" if moment.date() == day else f"{moment:%H:%M\n%d %b}"
        texts.append(f"{moment:%d %b}" if days else hour)
        day = moment.date()
    axes.set_xticks([dates.since(moment) / unit for moment in moments], texts)
    axes.set_xlabel(f"time ({zone})")


def sizes(instance: AnyInstance) -> Figure:
    """Draw the number of jobs of an instance, and of each of its groups."""
    counts = {"all jobs": float(len(instance.index))}
    for by, groups in instance.groups.items():
        counts |= {f"{by}: {group}": float(len(jobs)) for group, jobs in groups.items()}
    return bars(instance.name, counts, "jobs")


def objectives(results: Sequence[Result], what: str = "objective") -> Figure:
    """Draw the objective of each result."""
    heights = {
        name: result.objective
        for name, result in zip(keys(results), results, strict=True)
        if result.objective is not None
    }
    return bars(results[0].instance, heights, what)


def bars(title: str, values: Mapping[str, float], what: str) -> Figure:
    """Draw values by name as horizontal bars, the first on top."""
    figure, axes = single_panel((8, 1.4 + 0.4 * len(values)))
    places = range(len(values))
    axes.barh(places, list(values.values()), color=BLUE)
    axes.set_yticks(places, [label(name) for name in values])
    axes.invert_yaxis()
    decorate(axes, label(title), what)
    return figure
