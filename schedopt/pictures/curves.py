"""Curves of a reproduction in one picture."""

from __future__ import annotations

from matplotlib.figure import Figure

from schedopt.pictures.style import colours
from schedopt.validation.reproduce.ledger import Outcome


def curves(outcome: Outcome, title: str) -> Figure:
    """Draw an outcome's curves; predicted ones are dashed in the colour of the actual ones."""
    figure = Figure(figsize=(9, 5), layout="constrained")
    axes = figure.subplots()
    look = colours(dict.fromkeys(label.split(",")[0] for label in outcome.curves))
    for label, (x, y) in outcome.curves.items():
        colour = look[label.split(",")[0]]
        axes.plot(x, y, color=colour, linestyle="--" if "predicted" in label else "-", label=label)
    axes.set_xlabel(outcome.xlabel)
    axes.set_ylabel(outcome.ylabel)
    axes.set_ylim(bottom=0)
    axes.set_title(title, fontsize=10)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return figure
