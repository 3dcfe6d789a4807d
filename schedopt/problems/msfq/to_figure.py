"""Pictures of msfq: what loads a queue, the threshold curve, and the optimal policy."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from schedopt.formats import count_of
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.answers import OptimalTable, Thresholded
from schedopt.pictures import style
from schedopt.pictures.style import (
    BLUE,
    ORANGE,
    PALE,
    RED,
    colours,
    decorate,
    keys,
    label,
    objectives,
    panels,
    title,
)
from schedopt.solvers.result import Result

OBJECTIVE = "mean response time"

UNITS = ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"))


def jobs(queue: Instance) -> Figure:
    """Draw the share of each class in arrivals and load; for a log, its load and needs."""
    if queue.log is not None:
        return _log(queue)
    figure, axes = style.single_panel((8, 4.5))
    at = np.arange(len(queue.classes))
    axes.bar(at - 0.2, queue.weights("mean"), 0.4, color=BLUE, label="of the jobs")
    axes.bar(at + 0.2, queue.weights("weighted"), 0.4, color=ORANGE, label="of the load")
    axes.set_xticks(at, [str(job.need) for job in queue.classes], rotation=60 * (len(at) > 10))
    words = f"{label(queue.name)}: {queue.servers} servers, load {queue.load:.3g}"
    decorate(axes, words, "servers that a job needs", shares="y", legend="inside")
    return figure


def results(documents: Sequence[Result[Any]], queue: Instance | None = None) -> Figure:
    """Draw results: curves over thresholds, a policy's table, or objectives."""
    solutions = [document.solution for document in documents]
    if all(isinstance(solution, Thresholded) for solution in solutions):
        return _curves(documents)
    if len(documents) == 1 and isinstance(solutions[0], OptimalTable):
        return _table(documents[0], solutions[0])
    return objectives(documents, OBJECTIVE)


def _curves(documents: Sequence[Result[Thresholded]]) -> Figure:
    """Draw the objective over thresholds, and mark the best one."""
    figure, axes = style.single_panel((8, 4.5))
    lowest, highest = np.inf, 0.0
    for document, (name, colour) in zip(documents, colours(keys(documents)).items(), strict=True):
        solution = document.solution
        if solution is None:
            continue
        curve = np.array([np.nan if v is None else v for v in solution.curve])
        lowest, highest = min(lowest, np.nanmin(curve)), max(highest, np.nanmax(curve))
        l, marker = solution.threshold, "." if curve.size < 80 else ""
        how = f"{label(name)} ({solution.method}), best: l = {l}"
        axes.plot(np.arange(curve.size), curve, color=colour, marker=marker, label=how)
        axes.plot([l], [curve[l]], "o", color=RED)
    if highest > 4 * lowest:
        axes.set_yscale("log")
    decorate(axes, _title(documents), "threshold l", "response time", legend="inside")
    return figure


def _table(
    document: Result[OptimalTable],
    solution: OptimalTable,
    *,
    window: int = 40,  # waiting jobs of each class that are shown
) -> Figure:
    """Draw what to do at empty servers, and when to stop admitting small jobs."""
    few = min(4, len(solution.admit))
    shown = [("empty servers", solution.at_empty, ".SL")]
    picked = np.unique(np.linspace(0, len(solution.admit) - 1, few).astype(int))
    shown += [(f"{c + 1} small in service", solution.admit[c], "-S") for c in picked]
    figure, (across,) = panels((3.1 * len(shown), 3.6), 1, len(shown))
    for axes, (what, rows, letters) in zip(across, shown, strict=True):
        table = np.array([[letters.index(x) for x in row[:window]] for row in rows[:window]])
        shades = [PALE, BLUE, RED][: len(letters)]
        axes.imshow(
            table, origin="lower", cmap=ListedColormap(shades), vmin=0, vmax=len(letters) - 1
        )
        decorate(axes, what, "small jobs waiting", "large jobs waiting")
    figure.suptitle(f"{_title([document])}: blue starts a small job, red a large one", fontsize=10)
    return figure


def _title(documents: Sequence[Result[Any]]) -> str:
    if len(documents) == 1:
        return title(documents[0], OBJECTIVE)
    return f"{label(documents[0].instance)}: {OBJECTIVE}"


# Logs.


def _log(queue: Instance, steps: int = 120) -> Figure:
    """Draw the work that comes in each step, as a share of what the servers could do in it."""
    jobs = queue.jobs
    figure, axes = style.single_panel((9, 4))
    unit, word = next((pair for pair in UNITS if jobs.span >= 3 * pair[0]), (1.0, "seconds"))
    edges = np.linspace(jobs.submit[0], jobs.submit[-1] + (not jobs.span), steps + 1)
    work, _ = np.histogram(jobs.submit, edges, weights=jobs.need * jobs.run)
    share = work / (queue.servers * np.diff(edges))
    axes.stairs(share, (edges - edges[0]) / unit, fill=True, color=BLUE)
    axes.axhline(1.0, color=RED, linewidth=1)
    axes.set_ylim(0, min(float(share.max()) * 1.05, 6 * max(queue.load, 0.5)))
    many = count_of(len(jobs), "job")
    words = f"{label(queue.name)}: {many} on {queue.servers:,} servers, load {queue.load:.3g}"
    what = "arriving work, as a share of the capacity"
    decorate(axes, words, f"{word} since the first submit", what, shares="y")
    return figure
