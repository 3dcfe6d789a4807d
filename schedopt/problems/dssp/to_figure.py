"""Pictures of nights: jobs, shares of the capacity, schedules, and nights that were carried out."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from math import fsum
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from schedopt.instances.dssp import Instance, Scheduled
from schedopt.instances.dssp.clock import dates_of
from schedopt.pictures import style
from schedopt.pictures.style import BLUE, COLOURS, GREEN, PALE, RED, colours, decorate, label
from schedopt.planning.carried_out import CarriedOut
from schedopt.planning.release import Span
from schedopt.problems.dssp.to_tables import share_bounds
from schedopt.problems.dssp.to_tables import shares as group_shares

ALL = "all jobs"  # in place of groups, if there are none
DEADLINE: Any = {"color": "black", "linestyle": "--", "linewidth": 1.2}
Documents = Sequence[Any]  # results, each with a solution


def jobs(night: Instance) -> Figure:
    """Draw each job's critical path against its demand, by its first grouping."""
    figure, axes = style.single_panel((8, 5))
    unit, word = style.time_unit(night.deadline)
    labels = _labels(night)
    for group, colour in colours(dict.fromkeys(labels.values())).items():
        mine = [j for j, job in enumerate(night.jobs) if labels[job.name] == group]
        x, y = night.demands[mine] / unit, night.critical_paths[mine] / unit
        axes.scatter(x, y, s=22, color=colour, alpha=0.8, label=label(group))
    axes.axhline(night.deadline / unit, label="deadline", **DEADLINE)
    if night.demands.size and night.demands.max() > 20 * night.demands.min() > 0:
        axes.set_xscale("log")
    total = night.demands.sum() / night.capacity()
    whole = "the night" if night.nights == 1 else f"{night.nights} nights"
    asked = f"{len(night.jobs)} jobs ask for {total / night.nights:.0%} of {whole}"
    axes.set_title(f"{label(night.name)}: {asked}")
    words = (f", processor {word}", f", {word}") if word else ("", "")
    decorate(axes, x=f"demand{words[0]}", y=f"critical path{words[1]}", legend="beside")
    return figure


def results(documents: Documents, night: Instance | None = None) -> Figure:
    """Draw schedules if all results have one, otherwise the shares of the capacity."""
    if all(isinstance(document.solution, Scheduled) for document in documents):
        return schedule(documents, night)
    return draw_shares(documents, night)


def draw_shares(documents: Documents, night: Instance | None = None) -> Figure:
    """Draw each group's share of the capacity of all nights in each result, and its demand."""
    by_grouping = _groups(documents)
    look = colours(style.keys(documents))
    lines = [*map(len, by_grouping.values())]
    size = (8, 1.2 + 0.2 * len(look) + (0.25 + 0.15 * len(look)) * sum(lines))
    figure, grid = style.panels(size, len(lines), height_ratios=lines)
    capacity = _capacity(documents[0].solution)
    for axes, (by, groups) in zip(grid[:, 0], by_grouping.items(), strict=True):
        if night is not None and by in night.groups:
            asked = [night.demands[night.groups[by][g]].sum() / capacity for g in groups]
            axes.barh(range(len(groups)), asked, 0.9, color=PALE, label="asked for")
        for k, (document, (name, colour)) in enumerate(zip(documents, look.items(), strict=True)):
            at = np.arange(len(groups)) + (k - (len(look) - 1) / 2) * 0.8 / len(look)
            widths = [_share(document, by, group) for group in groups]
            axes.barh(at, widths, 0.8 / len(look), color=colour, label=label(name))
        _mark_bounds(axes, by, groups, documents, night)
        axes.set_yticks(range(len(groups)), [label(group) for group in groups])
        axes.invert_yaxis()
        axes.set_title(label(by), loc="left", fontsize=10)
        decorate(axes, shares="x", legend="beside")
    grid[-1, 0].set_xlabel("share of the capacity")
    one = len(documents) == 1
    first = documents[0]
    style.set_title(figure, style.title(first, "reward") if one else label(first.instance))
    return figure


def _groups(
    documents: Documents,
    *,
    most_groups: int = 40,  # of a grouping: those with the largest shares
) -> dict[str, list[str]]:
    """Return the groups to draw of each grouping: at most those with the largest shares."""
    most: dict[str, dict[str, float]] = {}
    for document in documents:
        for by, groups in group_shares(document).items():
            of = most.setdefault(by, {})
            of |= {group: max(share, of.get(group, 0.0)) for group, share in groups.items()}
    by_job = {}
    for by, of in most.items():
        largest = set(sorted(of, key=of.__getitem__)[-most_groups:])
        by_job[by] = [group for group in of if group in largest]
    return {by: groups for by, groups in by_job.items() if groups} or {"": [ALL]}


def _share(document: Any, by: str, group: str) -> float:
    if by:
        return group_shares(document).get(by, {}).get(group, 0.0)
    used = fsum(one.demand for one in document.solution.nights)
    return used / _capacity(document.solution)


def _capacity(solution: Any) -> float:
    return len(solution.nights) * float(solution.capacity)


def _mark_bounds(
    axes: Axes, by: str, groups: Sequence[str], documents: Documents, night: Instance | None
) -> None:
    """Mark the caps and floors of groups."""
    rules = [rule for document in documents for rule in document.constraints]
    caps, floors = share_bounds([*rules, *(night.constraints if night else ())], by, groups)
    for bounds, what, colour in ((caps, "at most", RED), (floors, "at least", GREEN)):
        for at, group in enumerate(groups):
            if group in bounds:
                ends = ([bounds[group]] * 2, [at - 0.45, at + 0.45])
                axes.plot(*ends, color=colour, linewidth=2, label=what)


def schedule(documents: Documents, night: Instance | None = None) -> Figure:
    """Draw schedules below each other, with each task as a bar on its processor."""
    figure, grid = style.panels((9, 1 + 3.2 * len(documents)), len(documents))
    longest = max((document.solution.makespan for document in documents), default=1.0)
    deadline = None if night is None else night.deadline
    unit, word = style.time_unit(longest if deadline is None else deadline)
    for axes, document, who in zip(grid[:, 0], documents, style.names(documents), strict=True):
        _gantt(axes, document, night, unit)
        axes.set_xlim(0, 1.02 * max(longest, deadline or 0.0, 1e-9) / unit)
        decorate(
            axes,
            style.title(document, "reward", who),
            f"time, {word}" if word else "time",
            "processor",
        )
        if night is None:
            continue
        axes.axvline(night.deadline / unit, **DEADLINE)
        if night.start is not None:
            style.label_clock_times(axes, dates_of(night.start, night.unit), unit)
    return figure


def _gantt(
    axes: Axes,
    document: Any,
    night: Instance | None,
    unit: float,
    *,
    edged: int = 2_000,  # tasks up to which each has an edge
) -> None:
    """Draw every task as a bar on its processor, or as pixels if there are very many."""
    on_each = [(task, on) for task in document.solution.tasks for on in task.on]
    labels = {task.job: task.job for task, _ in on_each} if night is None else _labels(night)
    colour = colours(dict.fromkeys(labels.values()))
    start, end = (np.array([getattr(t, of) for t, _ in on_each]) / unit for of in ("start", "end"))
    row = np.array([on for _, on in on_each], dtype=float)
    x, y = np.stack([start, end, end, start], axis=1), row[:, None] + [-0.5, -0.5, 0.5, 0.5]
    corners: Any = np.stack([x, y], axis=-1)
    many = len(on_each) > edged
    bars = PolyCollection(
        corners,
        facecolors=[colour[labels[task.job]] for task, _ in on_each],
        edgecolors="none" if many else "white",
        linewidths=0 if many else 0.3,
        antialiased=not many,
        rasterized=many,
    )
    axes.add_collection(bars)
    axes.set_ylim(max(row.max(initial=0.0), 0.5) + 0.5, -0.5)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    if len(colour) <= len(COLOURS):
        for group, its in colour.items():
            axes.bar(0, 0, color=its, label=label(group))
        decorate(axes, legend="beside")


def _labels(night: Instance) -> Mapping[str, str]:
    """Return each job's group in the first grouping with few groups, or its name."""
    for by, groups in night.groups.items():
        if len(groups) <= len(COLOURS):
            return {job.name: job.groups.get(by, "none") for job in night.jobs}
    return {job.name: "jobs" if len(night.jobs) > len(COLOURS) else job.name for job in night.jobs}


def carried_out(
    report: CarriedOut,
    *,
    most: int = 40,  # jobs that are drawn
) -> Figure:
    """Draw the planned processors of each job above its line, and the real ones below."""
    night, jobs = report.night, report.jobs[:most]
    figure, axes = style.single_panel((9, 1.4 + 0.55 * max(1, len(jobs))))
    spans = [*report.planned.values(), *report.real.values()]
    last = max([night.deadline, *(end for _, end in spans)])
    unit, word = style.time_unit(last)
    for n, one in enumerate(jobs):
        job = night.jobs[night.index[one.job]]
        both = [
            [(a / unit, b / unit) for key, (a, b) in side.items() if key[0] == one.job]
            for side in (report.planned, report.real)
        ]
        high = max([1, *_changes(both[0])[1], *_changes(both[1])[1]])
        colour = BLUE if one.status == "done" else RED
        _fill(axes, both[0], n, -0.42 / high, PALE)
        _fill(axes, both[1], n, 0.42 / high, colour)
        due = (night.deadline if job.deadline is None else job.deadline) / unit
        axes.plot([due, due], [n - 0.45, n + 0.45], color="black", linewidth=1.5)
        axes.axhline(n, color="black", linewidth=0.5)
    for colour, words in ((PALE, "planned"), (BLUE, "real"), (RED, "real: late or not done")):
        if colour != RED or report.late:
            axes.bar(0, 0, color=colour, label=words)
    axes.plot([], [], color="black", linewidth=1.5, label="due")
    axes.set_yticks(range(len(jobs)), [label(one.job) for one in jobs])
    axes.set_ylim(len(jobs) - 0.4, -0.6)
    axes.set_xlim(0, 1.02 * last / unit)
    decorate(axes, x=f"time, {word}" if word else "time", legend="beside")
    if night.start is not None:
        style.label_clock_times(axes, dates_of(night.start, night.unit), unit)
    done = len(report.jobs) - len(report.late)
    axes.set_title(f"{label(night.name)}: {done} of {len(report.jobs)} jobs done on time")
    return figure


def _changes(spans: Iterable[Span]) -> tuple[list[float], list[int]]:
    """Return the times at which the number of tasks changes, and the new numbers."""
    changes = sorted([(start, 1) for start, _ in spans] + [(end, -1) for _, end in spans])
    return [time for time, _ in changes], [*accumulate(change for _, change in changes)]


def _fill(axes: Axes, spans: list[Span], line: int, scale: float, colour: str) -> None:
    """Fill the number of tasks over time, above or below a job's line."""
    times, counts = _changes(spans)
    heights = [line + scale * count for count in counts]
    axes.fill_between(times, line, heights, step="post", color=colour, linewidth=0)
