"""Pictures of msfq: what loads a queue, the threshold curve, the optimal policy, class by class."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from schedopt.pictures.style import BLUE, ORANGE, RED, label

WINDOW = 40
"""Waiting jobs of each class that the picture of a policy shows."""


def jobs(queue: Any) -> Figure:
    """Draw each class's part of the arrivals and of the load."""
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    at = np.arange(len(queue.classes))
    axes.bar(at - 0.2, queue.weights("mean"), 0.4, color=BLUE, label="of the jobs")
    axes.bar(at + 0.2, queue.weights("weighted"), 0.4, color=ORANGE, label="of the load")
    axes.set_xticks(at, [str(job.need) for job in queue.classes], rotation=60 * (len(at) > 10))
    axes.set_xlabel("servers that a job needs")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_title(
        f"{label(queue.name)}: {queue.servers} servers, load {queue.load:.3g}", fontsize=10
    )
    axes.legend(frameon=False)
    return figure


def selection(document: Any, queue: Any | None = None) -> Figure:
    """Draw a result: the curve over thresholds, a policy's table, or response times by class."""
    solution = document.solution
    if hasattr(solution, "curve"):
        return _curve(document)
    return _table(document) if hasattr(solution, "at_empty") else _classes(document)


def _title(document: Any) -> str:
    who = document.policy or document.formulation
    return f"{label(document.instance)}: {who}, {document.objective:,.6g}"


def _curve(document: Any) -> Figure:
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    solution = document.solution
    curve = np.array([np.nan if v is None else v for v in solution.curve])
    axes.plot(np.arange(curve.size), curve, color=BLUE, marker="." if curve.size < 80 else "")
    l = solution.threshold
    axes.plot([l], [curve[l]], "o", color=RED, label=f"best: l = {l}")
    if np.nanmax(curve) > 4 * np.nanmin(curve):
        axes.set_yscale("log")
    axes.set_xlabel("threshold l")
    axes.set_ylabel("response time")
    axes.set_title(f"{_title(document)} ({solution.method}, {solution.variant})", fontsize=10)
    axes.legend(frameon=False)
    return figure


def _table(document: Any) -> Figure:
    """Draw what to do at empty servers, and when to stop admitting small jobs."""
    solution = document.solution
    few = min(4, len(solution.admit))
    shown = [("empty servers", solution.at_empty, ".SL")]
    picked = np.unique(np.linspace(0, len(solution.admit) - 1, few).astype(int))
    shown += [(f"{c + 1} small in service", solution.admit[c], "-S") for c in picked]
    figure = Figure(figsize=(3.1 * len(shown), 3.6), layout="constrained")
    for axes, (what, rows, letters) in zip(
        figure.subplots(1, len(shown), squeeze=False)[0], shown, strict=True
    ):
        table = np.array([[letters.index(x) for x in row[:WINDOW]] for row in rows[:WINDOW]])
        colours = ["#EEEEEE", BLUE, RED][: len(letters)]
        axes.imshow(
            table, origin="lower", cmap=ListedColormap(colours), vmin=0, vmax=len(letters) - 1
        )
        axes.set_title(what, fontsize=9)
        axes.set_xlabel("small jobs waiting")
        axes.set_ylabel("large jobs waiting")
    figure.suptitle(f"{_title(document)}: blue starts a small job, red a large one", fontsize=10)
    return figure


def _classes(document: Any) -> Figure:
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    seen = [c for c in document.solution.classes if c.mean_response_time is not None]
    at = np.arange(len(seen))
    axes.bar(at, [c.mean_response_time for c in seen], color=BLUE, label="mean")
    errors = [c.confidence or 0.0 for c in seen]
    axes.errorbar(at, [c.mean_response_time for c in seen], errors, fmt="none", color="black")
    tails = [(c.percentiles or {}).get("99") for c in seen]
    known = [tail for tail in tails if tail is not None]
    if len(known) == len(tails):
        axes.plot(at, known, "_", markersize=14, color=RED, label="99% are faster")
    axes.set_yscale("log")
    axes.set_xticks(at, [str(c.need) for c in seen], rotation=60 * (len(at) > 10))
    axes.set_xlabel("servers that a job needs")
    axes.set_ylabel("response time")
    axes.set_title(_title(document), fontsize=10)
    axes.legend(frameon=False)
    return figure
