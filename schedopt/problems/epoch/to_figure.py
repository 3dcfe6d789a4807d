"""Pictures of epoch: the jobs of an instance, and schedules as the paper draws them.

Nodes run across and the quantum runs upwards, as in Figures 2 to 8.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle as Patch

from schedopt.instances.epoch import Instance
from schedopt.pictures.style import BLUE, colours, decorate, label, panels, single_panel
from schedopt.pictures.style import names as called

Bar = tuple[str, float, float, float, float]
"""A job's name, its first node and number of nodes, its start and its duration."""


def jobs(instance: Instance) -> Figure:
    """Draw each job's minimum in decreasing order, and the load."""
    figure, axes = single_panel((8, 4))
    minima = instance.minima[instance.descending]
    axes.bar(range(1, len(minima) + 1), minima, color=BLUE)
    axes.axhline(instance.nodes, color="black", linestyle="--", label="nodes")
    load = minima.sum() / instance.nodes
    words = f"{len(minima)} jobs ask for {load:.0%} of {instance.nodes} nodes"
    axes.set_title(f"{label(instance.name)}: {words}")
    decorate(axes, x="jobs, the largest first", y="minimum, nodes", legend="inside")
    return figure


def results(documents: Sequence[Any], instance: Instance | None = None) -> Figure:
    """Draw schedules beside each other: one box for each job, with the width of its nodes."""
    columns = min(3, len(documents))
    rows = ceil(len(documents) / columns)
    figure, boxes = panels((5 * columns, 4 * rows), rows, columns)
    grid = boxes.ravel()
    minimum = {} if instance is None else {job.name: job.minimum for job in instance.jobs}
    names = list(minimum) or sorted({bar[0] for d in documents for bar in _bars(d.solution)})
    colour = colours(names)
    for axes, document, name in zip(grid, documents, called(documents), strict=False):
        nodes = _boxes(axes, document.solution, colour, minimum)
        proven = ", proven optimal" if document.proven else ""
        each = f"{document.objective / nodes:.2f} per node{proven}"
        what = f"{document.objective:g} reallocations, {each}"
        decorate(axes, f"{label(document.instance)}: {label(name)}\n{what}", "nodes", "quantum")
    for axes in grid[len(documents) :]:
        axes.set_visible(False)
    return figure


def filling(document: Any, counts: Sequence[int]) -> Figure:
    """Draw a schedule of BUDDY after each number of jobs in ``counts``."""
    figure, (row,) = panels((3.2 * len(counts), 3.4), 1, len(counts))
    everyone = list(document.solution.rectangles)
    colour = colours(everyone)
    for axes, count in zip(row, counts, strict=True):
        _boxes(axes, document.solution, colour, {}, everyone[:count])
        decorate(axes, f"{count} of {len(everyone)} jobs", "nodes", "quantum")
    return figure


def _boxes(
    axes: Axes,
    solution: Any,
    colour: Mapping[str, str],
    minimum: Mapping[str, int],
    some: Sequence[str] | None = None,
    *,
    named: int = 64,  # jobs up to which names are readable
) -> int:
    """Draw all boxes, or those of some jobs, each with a line as long as the job's minimum."""
    nodes = _nodes(solution)
    axes.set(xlim=(0, nodes), ylim=(0, 1))
    for name, first, width, start, height in _bars(solution):
        if some is not None and name not in some:
            continue
        box = Patch((first, start), width, height, facecolor=colour[name], edgecolor="white")
        axes.add_patch(box)
        if name in minimum:
            level = start + 0.15 * height
            axes.plot([first, first + min(minimum[name], width)], [level, level], color="black")
        if len(colour) <= named:
            middle = (first + width / 2, start + height / 2)
            axes.annotate(label(name, 8), middle, ha="center", va="center", fontsize=7)
    return nodes


def _nodes(solution: Any) -> int:
    """Return N, the total nodes of an epoch, or of the rectangles at a time."""
    if hasattr(solution, "rectangles"):
        pieces = solution.rectangles.values()
        total: float = sum(p.nodes * (p.end - p.start) for p in pieces)
        return round(total)
    return int(sum(solution.epochs[0].nodes.values()))


def _bars(solution: Any) -> Iterator[Bar]:
    """Yield the boxes: one for each job, or several if its nodes are not contiguous."""
    if hasattr(solution, "rectangles"):
        yield from _pieces(solution.rectangles, _nodes(solution))
        return
    start = 0.0
    for epoch in solution.epochs:
        first = 0
        for name, nodes in epoch.nodes.items():
            yield name, first, nodes, start, epoch.duration
            first += nodes
        start += epoch.duration


def _pieces(rectangles: dict[str, Any], nodes: int) -> Iterator[Bar]:
    """Yield the boxes of rectangles; if the nodes are not given, the first free ones."""
    free_from = [0.0] * nodes
    for name, piece in sorted(rectangles.items(), key=lambda item: item[1].start):
        start, height = piece.start, piece.end - piece.start
        if piece.first is not None:
            yield name, piece.first, piece.nodes, start, height
            continue
        mine = [n for n in range(nodes) if free_from[n] <= start + 1e-9][: piece.nodes]
        for n in mine:
            free_from[n] = piece.end
        for first in (n for n in mine if n - 1 not in mine):
            after = next(n for n in range(first, nodes + 1) if n not in mine)
            yield name, first, after - first, start, height
