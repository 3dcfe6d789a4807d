"""Pictures of a log: its load over time and its needs; and what policies made of it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from schedopt.formats import counted, number
from schedopt.instances.msfq import Bracketed, Instance, Replayed
from schedopt.instances.msfq.logs import Floats, Jobs
from schedopt.pictures.style import (
    BLUE,
    GREY,
    ORANGE,
    RED,
    decorate,
    keys,
    label,
    lines,
    panels,
    title,
)
from schedopt.solvers.result import Result

CELLS = 120  # steps in time of a picture
UNITS = ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"))


def log(queue: Instance) -> Figure:
    """Draw a log's load over time, and what its jobs need."""
    jobs = queue.jobs
    figure, ((load,), (needs,)) = panels((9, 6.5), 2)
    _load(load, queue)
    _needs(needs, jobs)
    unit, word = unit_of(jobs.span)
    figure.suptitle(
        f"{label(queue.name)}: {counted(len(jobs), 'job')} on {queue.servers:,} servers, submitted "
        f"from {number(float(jobs.submit[0]))} to {number(float(jobs.submit[-1]))} "
        f"({number(round(jobs.span / unit, 1))} {word}), load {queue.load:.3g}",
        fontsize=10,
    )
    return figure


def unit_of(span: float) -> tuple[float, str]:
    """Return the unit in which a span is told, of times in seconds: its length and its name."""
    return next((pair for pair in UNITS if span >= 3 * pair[0]), (1.0, "seconds"))


def _load(axes: Axes, queue: Instance) -> None:
    """Draw the work that comes in each step, as a share of what the servers could do in it."""
    jobs = queue.jobs
    unit, word = unit_of(jobs.span)
    edges = np.linspace(jobs.submit[0], jobs.submit[-1] + (not jobs.span), CELLS + 1)
    work, _ = np.histogram(jobs.submit, edges, weights=jobs.need * jobs.run)
    share = work / (queue.servers * np.diff(edges))
    axes.stairs(share, (edges - edges[0]) / unit, fill=True, color=BLUE)
    axes.axhline(1.0, color=RED, linewidth=1)
    axes.set_ylim(0, min(float(share.max()) * 1.05, 6 * max(queue.load, 0.5)))
    what = "work that comes, as a share of what servers can do"
    decorate(axes, what, f"{word} since the first submit", shares="y")


def _needs(axes: Axes, jobs: Jobs) -> None:
    """Draw the share of jobs, and of work, by the power of two that needs are at most."""
    power = np.ceil(np.log2(jobs.need)).astype(np.int64)
    at = np.arange(int(power.max()) + 1)
    work = jobs.need * jobs.run
    axes.bar(at - 0.2, np.bincount(power) / len(jobs), 0.4, color=BLUE, label="of the jobs")
    axes.bar(
        at + 0.2, np.bincount(power, work) / work.sum(), 0.4, color=ORANGE, label="of the work"
    )
    names = [f"{2**p:,}" if p < 2 else f"≤ {2**p:,}" for p in at.tolist()]
    axes.set_xticks(at, names, rotation=60 * (len(at) > 8), fontsize=8)
    decorate(axes, "servers that a job needs", shares="y", legend="inside")


def replays(documents: Sequence[Result[Any]], queue: Instance | None) -> Figure | None:
    """Draw servers that are busy, and those that waiting jobs want; None without a log."""
    drawn = [d for d in documents if isinstance(d.solution, Replayed | Bracketed)]
    found = [d.solution.starts for d in drawn if d.solution]
    if queue is None or queue.log is None or not drawn:
        return None
    jobs = queue.jobs
    unit, word = unit_of(jobs.span)
    figure, ((busy,), (waiting,)) = panels((9, 5.5), 2, sharex=True)
    styles = lines(keys(drawn))
    for starts, (name, (colour, dash)) in zip(found, styles.items(), strict=True):
        edges = np.linspace(jobs.submit[0], (starts + jobs.run).max(), 4 * CELLS + 1)
        at = (edges[:-1] - edges[0]) / unit
        look = {"color": colour, "linestyle": dash, "linewidth": 1.0}
        busy.plot(at, _mean_held(starts, starts + jobs.run, jobs.need, edges), **look)
        waiting.plot(
            at, _mean_held(jobs.submit, starts, jobs.need, edges), label=label(name), **look
        )
    busy.axhline(queue.servers, color=GREY, linewidth=0.8)
    what = "mean response time" if queue.objective == "mean" else "response time by work"
    named = title(drawn[0], what) if len(drawn) == 1 else label(queue.name)
    decorate(busy, named, y="servers busy")
    since = f"{word} since the first submit"
    decorate(waiting, x=since, y="servers wanted by who waits", legend="inside")
    return figure


def _mean_held(begin: Floats, end: Floats, need: Any, edges: Floats) -> Floats:
    """Return the mean of the servers held in each step, each job holding its own for a while."""

    def area(times: Floats) -> Floats:
        """Return servers times time from ``times`` to each edge, over all jobs."""
        order = np.argsort(times)
        count = np.searchsorted(times[order], edges)
        held = np.concatenate([[0.0], np.cumsum(need[order])])
        moment = np.concatenate([[0.0], np.cumsum((need * times)[order])])
        found: Floats = edges * held[count] - moment[count]
        return found

    return np.diff(area(begin) - area(end)) / np.diff(edges)
