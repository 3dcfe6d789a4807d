"""Picture of a night that was carried out: planned and real processors of each job."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from schedopt.instances.dssp.clock import dates_of
from schedopt.pictures import style
from schedopt.pictures.style import BLUE, PALE, RED, decorate, label
from schedopt.planning.carried_out import CarriedOut
from schedopt.planning.release import Span


def draw(
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
        high = max(_most(side) for side in both)
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


def _most(spans: list[Span]) -> int:
    return max([1, *_changes(spans)[1]])


def _fill(axes: Axes, spans: list[Span], line: int, scale: float, colour: str) -> None:
    """Fill the number of tasks over time, above or below a job's line."""
    times, counts = _changes(spans)
    heights = [line + scale * count for count in counts]
    axes.fill_between(times, line, heights, step="post", color=colour, linewidth=0)
