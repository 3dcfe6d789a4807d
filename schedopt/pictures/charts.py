"""Charts of plans and of many results: profiles, what-ifs and reproductions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from schedopt.formats import count_of
from schedopt.instances.errors import InputError
from schedopt.instances.times import SECONDS, Dates
from schedopt.pictures import style
from schedopt.problems.summary import KINDS, Plan, PlanRow

if TYPE_CHECKING:  # which would load all that solves
    from schedopt.analysis.statistics import PerformanceProfile
    from schedopt.validation.reproduce.ledger import Entry
    from schedopt.verbs.whatif import Variation


def profiles(
    curves: Sequence[PerformanceProfile],
    *,
    farthest: float = 4.0,  # the largest ratio that is drawn
) -> Figure:
    """Draw performance profiles: the share of instances within a factor of the best."""
    problems = list(dict.fromkeys(profile.problem for profile in curves))
    figure, grid = style.panels((9, 4.5 * len(problems)), len(problems))
    for axes, problem in zip(grid[:, 0], problems, strict=True):
        mine = [profile for profile in curves if profile.problem == problem]
        axes.set_title(f"{problem}: {count_of(mine[0].instances, 'instance')}")
        finite = {one.contender: [r for r in one.ratios if isfinite(r)] for one in mine}
        far = max((ratios[-1] for ratios in finite.values() if ratios), default=1.0)
        most = min(farthest, 1 + 1.1 * (far - 1)) if far > 1 else 2.0
        for name, (colour, dash) in style.lines(finite).items():
            ratios = [1.0, *finite[name]]
            shares = [i / mine[0].instances for i in range(len(ratios))]
            drawn: Any = {"color": colour, "linestyle": dash, "label": style.label(name)}
            axes.step(
                [*ratios, max(most, ratios[-1])], [*shares, shares[-1]], where="post", **drawn
            )
        axes.set(xlim=(1, most), ylim=(0, 1.02))
        style.decorate(axes, x="ratio to the best", y="share of instances", legend="beside")
    return figure


def variations(rows: Sequence[Variation]) -> Figure:
    """Draw the objective and the shares of groups against the place with the most values."""
    places = list(rows[0].values)
    along = max(places, key=lambda place: len({row.values[place] for row in rows}))
    others = [place for place in places if place != along]
    groupings = [] if others else list(dict.fromkeys(by for row in rows for by in row.shares))
    figure, grid = style.panels((8, 3.8 + 3 * len(groupings)), 1 + len(groupings), sharex=True)
    curves: dict[str, dict[str, list[tuple[object, float]]]] = {"": {}}
    for row in rows:
        name = ", ".join(f"{place} {row.values[place]}" for place in others)
        if row.objective is not None:
            curves[""].setdefault(name, []).append((row.values[along], row.objective))
        for by in groupings:
            for group, share in row.shares.get(by, {}).items():
                of = curves.setdefault(by, {}).setdefault(group, [])
                of.append((row.values[along], share))
    for axes, by in zip(grid[:, 0], ("", *groupings), strict=True):
        _curves(axes, curves.get(by, {}))
        style.decorate(axes, y=f"share by {by}" if by else "objective", shares="y" if by else "")
    grid[-1, 0].set_xlabel(style.label(along))
    if all(isinstance(row.values[along], int) for row in rows):
        grid[-1, 0].xaxis.get_major_locator().set_params(integer=True)
    style.set_title(figure, style.label(rows[0].instance))
    return figure


def _curves(
    axes: Axes,
    curves: Mapping[str, Sequence[tuple[object, float]]],
    *,
    most: int = 8,  # curves of a panel: the first ones
) -> None:
    kept = dict(list(curves.items())[:most])
    for name, colour in style.colours(kept).items():
        points = kept[name]
        numeric = all(isinstance(x, int | float) for x, _ in points)
        ordered = sorted(points, key=lambda point: float(str(point[0]))) if numeric else points
        x: list[Any] = [x if numeric else str(x) for x, _ in ordered]
        y = [value for _, value in ordered]
        axes.plot(x, y, marker="o", markersize=3, color=colour, label=style.label(name))
    style.decorate(axes, legend="beside" if len(kept) > 1 else "")


def curves(points: Mapping[str, Any], entry: Entry) -> Figure:
    """Draw the curves of a reproduction; predicted curves are dashed."""
    figure, axes = style.single_panel((9, 5))
    look = style.colours(dict.fromkeys(name.split(",")[0] for name in points))
    for name, (x, y) in points.items():
        colour = look[name.split(",")[0]]
        axes.plot(x, y, color=colour, linestyle="--" if "predicted" in name else "-", label=name)
    axes.set_ylim(bottom=0)
    style.decorate(axes, f"{entry.title}\n{entry.source}", *entry.axes, legend="beside")
    return figure


# --- the picture of a plan: a bar for each job that runs -----------------------------------------

WIDTH = 0.17  # part of the time axis that the words beside a bar take
BESIDE: Any = {
    "xytext": (4, 0),
    "textcoords": "offset points",
    "va": "center",
    "fontsize": 7,
    "zorder": 3,
    "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 0.5},  # no line crosses the words
}
WORDS = {"never": "it cannot be on time", "late": "it would end too late to earn anything"}


def plan(
    table: Plan,
    night: Any = None,
    replanned_at: float = 0.0,
    *,
    most: int = 60,  # jobs that are drawn: the earliest
    named: int = 20,  # jobs that are left out and named
) -> Figure:
    """Draw a plan, and the deadline of its night if known.

    The time of the last replanning is marked if it is after the start.
    """
    timed = [row for row in table.rows if row["run"] and row["start"] is not None]
    timed.sort(key=itemgetter("start", "end", "job"))
    if not timed:
        raise InputError("a plan in which a job runs, and when", found="none")
    out = sorted((row for row in table.rows if not row["run"]), key=lambda row: -row["reward"])
    runs, dropped = timed[:most], out[:named]
    last = max(row["end"] for row in runs)
    due = None if night is None else float(night.deadline)
    unit, word = style.time_unit(max(last, due or 0.0))
    figure, axes = style.single_panel((9, 1.4 + 0.26 * (len(runs) + len(dropped))))
    wide = 1 + WIDTH
    until = 0.0 if due is None else due * (wide if due < wide * wide * last else 1.02)
    axes.set_xlim(0, max(wide * last, until, 1e-9) / unit)
    axes.set_ylim(len(runs) + len(dropped) - 0.4, -0.6)
    by = _grouping(table, night)
    groups = [str(row[by] or "none") for row in table.rows] if by else []
    _bars(axes, runs, by, style.colours(dict.fromkeys(groups)), unit, due=due)
    _left_out(axes, dropped, len(runs), last / unit)
    rows = [*runs, *dropped]
    names = [style.label(row["job"]) for row in rows]
    axes.set_yticks(range(len(rows)), names, fontsize=8)
    if due is not None:
        axes.axvline(due / unit, color="black", linestyle="--", label="deadline")
    if replanned_at:  # not beside the jobs that are left out, whose reasons are written there
        times, ends = [replanned_at / unit] * 2, [-0.6, len(runs) - 0.5]
        axes.plot(times, ends, color="black", linestyle=":", label="replanned")
    more = f" (the first {most}; {len(timed) - most:,} more)" if len(timed) > most else ""
    late = sum((row["late"] or 0) > 0 for row in timed)
    words = f"{count_of(len(timed), 'job')} run{more}, {late:,} late; {len(out):,} left out"
    style.decorate(axes, words, f"time, {word}" if word else "time")
    if axes.get_legend_handles_labels()[0]:
        style.decorate(axes, legend="beside")
    if due is not None and night.start is not None:
        style.label_clock_times(axes, Dates.of(night.start, SECONDS[night.unit]), unit)
    return figure


def _grouping(table: Plan, night: Any) -> str | None:
    """Return the first grouping that has few enough groups for colours; no column that is kept."""
    own = [title for title in table.titles if title not in KINDS]
    groupings = own if night is None else [title for title in own if title in night.groups]
    groups = {by: {row[by] for row in table.rows} for by in groupings}
    return next((by for by in groupings if len(groups[by]) <= len(style.COLOURS)), None)


def _bars(
    axes: Axes,
    runs: Sequence[PlanRow],
    by: str | None,
    look: Mapping[str, str],
    unit: float,
    *,
    due: float | None,
) -> None:
    """Draw the jobs that run, in the colours of their groups; no words cross the deadline."""
    reach = WIDTH * axes.get_xlim()[1]
    for row, job in enumerate(runs):
        start, end, late = job["start"] / unit, job["end"] / unit, (job["late"] or 0.0) / unit
        colour = look[str(job[by] or "none")] if by else style.COLOURS[0]
        axes.barh(row, end - start, 0.7, left=start, color=colour)
        if late:
            axes.barh(
                row, min(late, end - start), 0.7, left=max(start, end - late), color=style.RED
            )
        beside = due / unit if due is not None and end < due / unit < end + reach else end
        axes.annotate(count_of(job["processors"], "processor"), (beside, row), **BESIDE)
    for group, colour in look.items():
        axes.barh(0, 0, color=colour, label=style.label(group))
    if any(job["late"] for job in runs):
        axes.barh(0, 0, color=style.RED, label="after its deadline")


def _left_out(axes: Axes, jobs: Sequence[PlanRow], first: int, end: float) -> None:
    """Write the reasons why jobs are left out in place of their bars."""
    for row, job in enumerate(jobs, start=first):
        axes.axhspan(row - 0.5, row + 0.5, color=style.PALE, alpha=0.4, linewidth=0)
        reason, _, rule = str(job["reason"] or "not said why").partition(":")
        words = f"by the rule '{rule}'" if rule else WORDS.get(reason, reason)
        why = f"left out: {words}; reward {job['reward']:,.6g}"
        axes.annotate(style.label(why, 80), (0.01 * end, row), va="center", fontsize=8)
