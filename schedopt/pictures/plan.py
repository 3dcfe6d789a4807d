"""The picture of a plan: a bar for each job that runs, from its start to its end."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from schedopt.formats import counted
from schedopt.instances.errors import InputError
from schedopt.instances.times import UNITS, Dates
from schedopt.pictures.style import (
    COLOURS,
    PALE,
    RED,
    colours,
    label,
    label_clock_times,
    single_panel,
    time_unit,
)
from schedopt.problems.summary import CLOCKED, FIXED

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

MOST = 60  # jobs that are drawn, the earliest; bars of more could not be read
OUT = 20  # jobs that are left out and named
BESIDE: Any = {
    "xytext": (4, 0),
    "textcoords": "offset points",
    "va": "center",
    "fontsize": 7,
    "zorder": 3,
    "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 0.5},  # no line crosses the words
}
WORDS = {"never": "it cannot be in time", "late": "it would end too late to pay"}


def plan(table: pl.DataFrame, deadline: float | None = None) -> Figure:
    """Draw a plan, as `schedopt.plan_table` makes it, and the deadline of its one night."""
    import polars as pl

    # Of several nights, whose numbers stand before the times.
    before = table.columns[table.columns.index("processors") - 1]
    several = before == "night" and all(
        str(night).isdecimal() for night in table["night"].drop_nulls().to_list()
    )
    order = (["night"] if several else []) + ["start", "end", "job"]
    if several:
        table = table.with_columns(pl.col("night").cast(pl.Int64))
    timed = table.filter(pl.col("run") & pl.col("start").is_not_null()).sort(*order)
    if timed.is_empty():
        raise InputError("a plan in which a job runs, and when", found="none")
    out = table.filter(~pl.col("run")).sort("reward", descending=True, maintain_order=True)
    shown, named = timed.head(MOST), out.head(OUT)
    lines = len(shown) + len(named)
    figure, axes = single_panel((9, 1.4 + 0.26 * lines))
    fixed = (*FIXED, *CLOCKED, *(("night",) if several else ()))
    by = next((title for title in table.columns[4:-4] if title not in fixed), None)
    groups = [str(group or "none") for group in table[by].to_list()] if by else []
    look = colours(dict.fromkeys(groups)) if len(set(groups)) <= len(COLOURS) else {}
    last = max(map(float, shown["end"].to_list()))
    due = None if several else deadline
    unit, word = time_unit(max(last, due or 0.0))
    for row, job in enumerate(shown.to_dicts()):
        start, end, late = job["start"] / unit, job["end"] / unit, (job["late"] or 0.0) / unit
        colour = look.get(str(job[by] or "none") if by else "", COLOURS[0])
        axes.barh(row, end - start, 0.7, left=start, color=colour)
        if late:
            axes.barh(row, min(late, end - start), 0.7, left=max(start, end - late), color=RED)
        wide = counted(job["processors"], "processor")
        axes.annotate(wide, (end, row), **BESIDE)
    _left_out(axes, named.to_dicts(), len(shown), last / unit)
    names = [*map(label, [*shown["job"], *named["job"]])]
    if several:
        nights = shown["night"].to_list()
        names[: len(shown)] = [f"night {n}: {name}" for n, name in zip(nights, names, strict=False)]
        for row in range(1, len(shown)):
            if nights[row] != nights[row - 1]:
                axes.axhline(row - 0.5, color=PALE, linewidth=0.8)
    axes.set_yticks(range(lines), names, fontsize=8)
    axes.set_xlim(0, max(1.14 * last / unit, 1.02 * (due or 0.0) / unit, 1e-9))
    axes.set_ylim(lines - 0.4, -0.6)
    since = "time from the night's start" if several else "time"
    axes.set_xlabel(f"{since}, {word}" if word else since)
    if (dates := _dates(timed)) is not None:
        label_clock_times(axes, dates, unit)
    more = f" (the first {MOST}; {len(timed) - MOST:,} more)" if len(timed) > MOST else ""
    late = len(timed.filter(pl.col("late") > 0))
    run = f"{counted(len(timed), 'job')} run{more}"
    axes.set_title(f"{run}, {late:,} late; {len(out):,} left out", fontsize=10)
    _legend(axes, look, late, None if due is None else due / unit)
    return figure


def _legend(axes: Axes, look: Mapping[str, str], late: int, due: float | None) -> None:
    """Draw the deadline, if it is known, and say what lines and colours mean."""
    if due is not None:
        axes.axvline(due, color="black", linestyle="--", label="deadline")
    for group, colour in look.items():
        axes.barh(0, 0, color=colour, label=label(group))
    if late:
        axes.barh(0, 0, color=RED, label="after its deadline")
    if look or late or due is not None:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8)


def _dates(table: pl.DataFrame) -> Dates | None:
    """Return when time 0 is by the clock, and the unit, as the times of a plan tell."""
    if "start_time" not in table.columns:
        return None
    rows = [row for row in table.to_dicts() if row["start_time"] and row["end_time"]]
    longest = max(rows, key=lambda row: row["end"] - row["start"], default=None)
    if longest is None or longest["end"] <= longest["start"]:
        return None
    start, end = (datetime.fromisoformat(longest[key]) for key in ("start_time", "end_time"))
    unit = (end - start).total_seconds() / (longest["end"] - longest["start"])
    unit = min(UNITS, key=lambda one: abs(one - unit))
    return Dates(start - timedelta(seconds=longest["start"] * unit), unit)


def _left_out(axes: Axes, jobs: list[dict[str, object]], first: int, end: float) -> None:
    """Write why jobs are left out, where their bars would be."""
    for row, job in enumerate(jobs, start=first):
        axes.axhspan(row - 0.5, row + 0.5, color=PALE, alpha=0.4, linewidth=0)
        reason, _, rule = str(job["reason"] or "not said why").partition(":")
        words = f"by the rule '{rule}'" if rule else WORDS.get(reason, reason)
        why = f"left out: {words}; reward {job['reward']:,.6g}"
        axes.annotate(label(why, 80), (0.01 * end, row), va="center", fontsize=8)
