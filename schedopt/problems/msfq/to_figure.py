"""Pictures of msfq: what loads a queue, the threshold curve, the optimal policy, class by class."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.answers import Answer, ClassTime, OptimalTable, Thresholded
from schedopt.pictures.plain import objectives
from schedopt.pictures.style import (
    BLUE,
    ORANGE,
    PALE,
    RED,
    colours,
    decorate,
    keys,
    label,
    panels,
    single_panel,
    title,
)
from schedopt.solvers.result import Result

OBJECTIVE = "mean response time"

WINDOW = 40  # waiting jobs of each class that the picture of a policy shows


def jobs(queue: Instance) -> Figure:
    """Draw each class's part of the arrivals and of the load; of a log, all that it says."""
    if queue.log is not None:
        from schedopt.problems.msfq import log_figure

        return log_figure.log(queue)
    figure, axes = single_panel((8, 4.5))
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
        from schedopt.problems.msfq import log_figure

        found = log_figure.replays(documents, queue)
        if found is not None:
            return found
    return objectives(documents, OBJECTIVE)


def _curves(documents: Sequence[Result[Thresholded]]) -> Figure:
    """Draw the objective over thresholds, and mark the best one."""
    figure, axes = single_panel((8, 4.5))
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


def _table(document: Result[OptimalTable], solution: OptimalTable) -> Figure:
    """Draw what to do at empty servers, and when to stop admitting small jobs."""
    few = min(4, len(solution.admit))
    shown = [("empty servers", solution.at_empty, ".SL")]
    picked = np.unique(np.linspace(0, len(solution.admit) - 1, few).astype(int))
    shown += [(f"{c + 1} small in service", solution.admit[c], "-S") for c in picked]
    figure, (across,) = panels((3.1 * len(shown), 3.6), 1, len(shown))
    for axes, (what, rows, letters) in zip(across, shown, strict=True):
        table = np.array([[letters.index(x) for x in row[:WINDOW]] for row in rows[:WINDOW]])
        shades = [PALE, BLUE, RED][: len(letters)]
        axes.imshow(
            table, origin="lower", cmap=ListedColormap(shades), vmin=0, vmax=len(letters) - 1
        )
        decorate(axes, what, "small jobs waiting", "large jobs waiting")
    figure.suptitle(f"{_title([document])}: blue starts a small job, red a large one", fontsize=10)
    return figure


def _classes(documents: Sequence[Result[Answer]]) -> Figure:
    """Draw the mean response time of each class, with its interval, and the 99th percentile."""
    figure, axes = single_panel((8, 4.5))
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
        known = [tail for tail in tails if tail is not None]
        if known and len(known) == len(tails):
            told = "99% are faster" if k == 0 else None
            axes.plot(at, known, "_", markersize=14 / len(look), color=RED, label=told)
    axes.set_yscale("log")
    axes.set_xticks(range(len(needs)), [str(n) for n in needs], rotation=60 * (len(needs) > 10))
    x, y = "servers that a job needs", "response time"
    decorate(axes, _title(documents), x, y, legend="inside")
    return figure


def _entries(document: Result[Answer]) -> Sequence[ClassTime]:
    found = document.solution.classes if document.solution else ()
    return [entry for entry in found if entry.mean_response_time is not None]


def _title(documents: Sequence[Result[Any]]) -> str:
    if len(documents) == 1:
        return title(documents[0], OBJECTIVE)
    return f"{label(documents[0].instance)}: {OBJECTIVE}"
