"""Pictures of msfq: what loads a queue, the threshold curve, the optimal policy, class by class."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from schedopt.formats import count_of, number
from schedopt.instances.msfq import Bracketed, Instance, Replayed
from schedopt.instances.msfq.answers import Answer, ClassTime, OptimalTable, Thresholded
from schedopt.instances.msfq.logs import Jobs
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
from schedopt.problems.msfq.to_page import mean_held
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
    """Draw results: curves over thresholds, a policy's table, or response times by class."""
    solutions = [document.solution for document in documents]
    if all(isinstance(solution, Thresholded) for solution in solutions):
        return _curves(documents)
    if len(documents) == 1 and isinstance(solutions[0], OptimalTable):
        return _table(documents[0], solutions[0])
    if all(isinstance(solution, Answer) for solution in solutions):
        return _classes(documents)
    if queue is not None and queue.log is not None:
        replays = _replays(documents, queue)
        if replays is not None:
            return replays
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
        how = f"{label(name)} ({solution.method}, {solution.variant}), best: l = {l}"
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


def _classes(documents: Sequence[Result[Answer]]) -> Figure:
    """Draw the mean response time of each class, with its interval, and the 99th percentile."""
    figure, axes = style.single_panel((8, 4.5))
    look = colours(keys(documents))
    needs = dict.fromkeys(entry.need for d in documents for entry in _entries(d))
    place = {need: at for at, need in enumerate(needs)}
    one = len(documents) == 1
    for k, (document, (name, colour)) in enumerate(zip(documents, look.items(), strict=True)):
        seen = _entries(document)
        at = np.array([place[e.need] for e in seen]) + (k - (len(look) - 1) / 2) * 0.8 / len(look)
        means = np.array([entry.mean_response_time for entry in seen], dtype=float)
        errors = [entry.confidence or 0.0 for entry in seen]
        axes.bar(at, means, 0.8 / len(look), color=colour, label="mean" if one else label(name))
        axes.errorbar(at, means, errors, fmt="none", color="black", linewidth=1)
        tails = [(entry.percentiles or {}).get("99") for entry in seen]
        finite = [tail for tail in tails if tail is not None]
        if finite and len(finite) == len(tails):
            note = "99% are faster" if k == 0 else None
            axes.plot(at, finite, "_", markersize=14 / len(look), color=RED, label=note)
    axes.set_yscale("log")
    axes.set_xticks(range(len(needs)), [str(n) for n in needs], rotation=60 * (len(needs) > 10))
    x, y = "servers that a job needs", "response time"
    decorate(axes, _title(documents), x, y, legend="inside")
    return figure


def _entries(document: Result[Answer]) -> Sequence[ClassTime]:
    classes = document.solution.classes if document.solution else ()
    return [entry for entry in classes if entry.mean_response_time is not None]


def _title(documents: Sequence[Result[Any]]) -> str:
    if len(documents) == 1:
        return title(documents[0], OBJECTIVE)
    return f"{label(documents[0].instance)}: {OBJECTIVE}"


# Logs.


def _log(queue: Instance) -> Figure:
    """Draw the load of a log over time, and the needs of its jobs."""
    jobs = queue.jobs
    figure, ((load,), (needs,)) = panels((9, 6.5), 2)
    _load(load, queue)
    _needs(needs, jobs)
    unit, word = _unit_of(jobs.span)
    many = count_of(len(jobs), "job")
    figure.suptitle(
        f"{label(queue.name)}: {many} on {queue.servers:,} servers, submitted "
        f"from {number(float(jobs.submit[0]))} to {number(float(jobs.submit[-1]))} "
        f"({number(round(jobs.span / unit, 1))} {word}), load {queue.load:.3g}",
        fontsize=10,
    )
    return figure


def _unit_of(span: float) -> tuple[float, str]:
    """Return a unit of time for a span in seconds: its length and its name."""
    return next((pair for pair in UNITS if span >= 3 * pair[0]), (1.0, "seconds"))


def _load(axes: Axes, queue: Instance, steps: int = 120) -> None:
    """Draw the work that comes in each step, as a share of what the servers could do in it."""
    jobs = queue.jobs
    unit, word = _unit_of(jobs.span)
    edges = np.linspace(jobs.submit[0], jobs.submit[-1] + (not jobs.span), steps + 1)
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


def _replays(documents: Sequence[Result[Any]], queue: Instance, steps: int = 480) -> Figure | None:
    """Draw the busy servers and the servers that waiting jobs need; None without a replay."""
    drawn = [d for d in documents if isinstance(d.solution, Replayed | Bracketed)]
    replays = [d.solution.starts for d in drawn if d.solution]
    if not drawn:
        return None
    jobs = queue.jobs
    unit, word = _unit_of(jobs.span)
    figure, ((busy,), (waiting,)) = panels((9, 5.5), 2, sharex=True)
    styles = style.lines(keys(drawn))
    for starts, (name, (colour, dash)) in zip(replays, styles.items(), strict=True):
        edges = np.linspace(jobs.submit[0], (starts + jobs.run).max(), steps + 1)
        at = (edges[:-1] - edges[0]) / unit
        look = {"color": colour, "linestyle": dash, "linewidth": 1.0}
        busy.plot(at, mean_held(starts, starts + jobs.run, jobs.need, edges), **look)
        waiting.plot(
            at, mean_held(jobs.released, starts, jobs.need, edges), label=label(name), **look
        )
    busy.axhline(queue.servers, color=style.GREY, linewidth=0.8)
    what = "mean response time" if queue.objective == "mean" else "response time by work"
    named = title(drawn[0], what) if len(drawn) == 1 else label(queue.name)
    decorate(busy, named, y="servers busy")
    since = f"{word} since the first submit"
    decorate(waiting, x=since, y="servers wanted by who waits", legend="inside")
    return figure
