"""Pictures of problems that have none of their own, and of results that have nothing to draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from schedopt.pictures.style import BLUE, decorate, keys, label, single_panel

if TYPE_CHECKING:
    from schedopt.instances.protocol import AnyInstance
    from schedopt.solvers.result import Result


def sizes(instance: AnyInstance) -> Figure:
    """Draw how many jobs an instance has, and how many each of its groups."""
    counts = {"all jobs": float(len(instance.index))}
    for by, groups in instance.groups.items():
        counts |= {f"{by}: {group}": float(len(jobs)) for group, jobs in groups.items()}
    return bars(instance.name, counts, "jobs")


def objectives(results: Sequence[Result], what: str = "objective") -> Figure:
    """Draw the objective of each result."""
    found = {
        name: result.objective
        for name, result in zip(keys(results), results, strict=True)
        if result.objective is not None
    }
    return bars(results[0].instance, found, what)


def bars(title: str, values: Mapping[str, float], what: str) -> Figure:
    """Draw values by name as horizontal bars, the first on top."""
    figure, axes = single_panel((8, 1.4 + 0.4 * len(values)))
    places = range(len(values))
    axes.barh(places, list(values.values()), color=BLUE)
    axes.set_yticks(places, [label(name) for name in values])
    axes.invert_yaxis()
    decorate(axes, label(title), what)
    return figure
