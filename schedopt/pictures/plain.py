"""Pictures of problems that have none of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from schedopt.pictures.style import BLUE, label

if TYPE_CHECKING:
    from instances.protocol import AnyInstance
    from solvers.result import Result


def sizes(instance: AnyInstance) -> Figure:
    """Draw how many jobs an instance has, and how many each of its groups."""
    counts = {"all jobs": len(instance.index)}
    for by, groups in instance.groups.items():
        counts |= {f"{by}: {group}": len(jobs) for group, jobs in groups.items()}
    return _bars(instance.name, counts, "jobs")


def objectives(results: Sequence[Result]) -> Figure:
    """Draw the objective of each result."""
    found = {
        str(result.policy or result.formulation): result.objective
        for result in results
        if result.objective is not None
    }
    return _bars(results[0].instance, found, "objective")


def _bars(title: str, values: dict[str, float] | dict[str, int], what: str) -> Figure:
    figure = Figure(figsize=(8, 1.4 + 0.4 * len(values)), layout="constrained")
    axes = figure.subplots()
    axes.barh([label(name) for name in values], list(values.values()), color=BLUE)
    axes.invert_yaxis()
    axes.set_xlabel(what)
    axes.set_title(label(title), fontsize=10)
    return figure
