"""What a reproduction found in one picture: its curves, or else its claims as a table."""

from __future__ import annotations

from textwrap import fill

from matplotlib.figure import Figure

from schedopt.pictures.style import colours
from schedopt.validation.reproduce.ledger import Outcome

COLOURS = {True: "#d9f0d3", False: "#f9d5c9", None: "#e6e6e6"}
WORDS = {True: "holds", False: "differs", None: "cannot be checked"}
WIDTHS = {"says": 44, "paper": 24, "ours": 44}


def claims(outcome: Outcome, title: str) -> Figure:
    """Draw what the paper says beside what is found, coloured by the verdict."""
    rows = [
        [fill(getattr(claim, key), width) for key, width in WIDTHS.items()] + [WORDS[verdict]]
        for claim in outcome.claims
        for verdict in (None if claim.holds is None else bool(claim.holds),)
    ]
    heights = [1 + max(cell.count("\n") for cell in row) for row in rows]
    figure = Figure(figsize=(12, 1.4 + 0.24 * sum(heights) + 0.1 * len(rows)), layout="constrained")
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set_title(title, fontsize=10)
    table = axes.table(
        cellText=rows,
        colLabels=["claim", "paper", "here", "verdict"],
        colWidths=[0.35, 0.18, 0.35, 0.12],
        cellLoc="left",
        loc="upper center",
    )
    table.auto_set_font_size(False)
    table.set_fontsize(8)
    total = sum(heights) + 0.2 * len(rows) + 1.2
    for (row, _), cell in table.get_celld().items():
        cell.set_height((heights[row - 1] + 0.2 if row else 1.2) / total * 0.99)
        cell.set_linewidth(0.3)
        if row:
            holds = outcome.claims[row - 1].holds
            cell.set_facecolor(COLOURS[None if holds is None else bool(holds)])
    return figure


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
