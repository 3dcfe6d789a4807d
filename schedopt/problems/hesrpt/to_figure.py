"""Pictures of hesrpt: jobs and their speedups, and shares over time."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from schedopt.instances.hesrpt import Instance
from schedopt.pictures.style import COLOURS, colours, decorate, label, panels, single_panel, title
from schedopt.pictures.style import names as called


def jobs(instance: Instance) -> Figure:
    """Draw the sizes of the jobs in increasing order, in the colours of their speedups."""
    figure, axes = single_panel((8, 4))
    order = np.argsort(instance.sizes, kind="stable")
    kinds = [COLOURS[k % len(COLOURS)] for k in instance.kinds[order]]
    axes.bar(np.arange(1, len(order) + 1), instance.sizes[order], color=kinds)
    if instance.sizes.max() > 100 * instance.sizes.min():
        axes.set_yscale("log")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    words = f"{label(instance.name)}: {len(order)} jobs, {instance.servers:,} servers"
    decorate(axes, words, "jobs, the smallest first (colours: speedups)", "size")
    return figure


def results(documents: Sequence[Any], instance: Instance | None = None) -> Figure:
    """Draw the shares of each result over time, and the number of incomplete jobs."""
    size, share = (9, 2.6 * len(documents) + 0.6), {"sharex": True, "width_ratios": [3, 2]}
    figure, rows = panels(size, len(documents), 2, **share)
    names = list(documents[0].solution.order)
    if instance is not None:
        names = [job.name for job in instance.jobs]
    colour = colours(names)
    for document, name, (left, right) in zip(documents, called(documents), rows, strict=True):
        _shares(left, document.solution, names, colour)
        _incomplete(right, document.solution)
        left.set_title(title(document, "flow time", name), fontsize=10, loc="left")
    last = max(end for of in documents for end in of.solution.completion.values())
    rows[0][0].set_xlim(0, 1.02 * last)  # of all panels
    rows[-1][0].set_xlabel("time")
    rows[-1][1].set_xlabel("time")
    if len(names) <= len(COLOURS):
        handles, labels = rows[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right upper", fontsize=8, frameon=False)
    return figure


def _shares(axes: Axes, solution: Any, names: list[str], colour: dict[str, str]) -> None:
    """Draw stacked shares."""
    epochs = solution.epochs
    axes.set_ylim(0, 1)
    decorate(axes, y="share of the servers", shares="y")
    if not epochs:
        axes.annotate("too many jobs to draw", (0.5, 0.5), xycoords="axes fraction", ha="center")
        return
    edges = [epoch.start for epoch in epochs] + [epochs[-1].end]
    base = np.zeros(len(edges))
    for name in names:
        heights = np.array([epoch.share.get(name, 0.0) for epoch in epochs])
        top = base + np.append(heights, heights[-1])
        axes.fill_between(
            edges, base, top, step="post", color=colour[name], linewidth=0, label=label(name, 16)
        )
        base = top


def _incomplete(axes: Axes, solution: Any) -> None:
    """Draw the number of incomplete jobs over time."""
    ends = np.sort(np.array(list(solution.completion.values())))
    left = np.arange(len(ends), -1, -1)
    axes.step(np.concatenate([[0.0], ends]), left, where="post", color="black")
    axes.set(ylim=(0, len(ends) * 1.05), ylabel="jobs to complete")
