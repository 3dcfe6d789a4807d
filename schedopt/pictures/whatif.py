"""Curves of a what-if: the optimum, and shares, against the value at a place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from schedopt.pictures.style import colours, label

if TYPE_CHECKING:  # which would load all that solves
    from schedopt.sweep.varied import Variation

MOST = 8  # curves in a panel; of more, the first


def curves(rows: Sequence[Variation]) -> Figure:
    """Draw the objective, and each grouping's shares, against the place with most values."""
    places = list(rows[0].values)
    along = max(places, key=lambda place: len({row.values[place] for row in rows}))
    others = [place for place in places if place != along]
    groupings = list(dict.fromkeys(by for row in rows for by in row.shares))
    panels = 1 + (len(groupings) if not others else 0)
    figure = Figure(figsize=(8, 0.8 + 3 * panels), layout="constrained")
    axes = figure.subplots(panels, squeeze=False, sharex=True)[:, 0]
    lines: dict[str, list[tuple[object, float]]] = {}
    for row in rows:
        name = ", ".join(f"{place} {row.values[place]}" for place in others)
        if row.objective is not None:
            lines.setdefault(name, []).append((row.values[along], row.objective))
    _draw(axes[0], lines, "objective")
    for panel, by in zip(axes[1:], groupings, strict=False):
        shares: dict[str, list[tuple[object, float]]] = {}
        for row in rows:
            for group, share in row.shares.get(by, {}).items():
                shares.setdefault(group, []).append((row.values[along], share))
        _draw(panel, shares, f"share by {by}")
        panel.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes[-1].set_xlabel(label(along))
    if all(isinstance(row.values[along], int) for row in rows):
        axes[-1].xaxis.get_major_locator().set_params(integer=True)
    figure.suptitle(label(rows[0].instance), fontsize=10)
    return figure


def _draw(axes: Axes, lines: Mapping[str, Sequence[tuple[object, float]]], what: str) -> None:
    kept = dict(list(lines.items())[:MOST])
    look = colours(dict.fromkeys(kept))
    for name, points in kept.items():
        numeric = all(isinstance(x, int | float) for x, _ in points)
        ordered = sorted(points, key=lambda point: float(str(point[0]))) if numeric else points
        x: list[Any] = [point[0] if numeric else str(point[0]) for point in ordered]
        y = [point[1] for point in ordered]
        axes.plot(x, y, marker="o", markersize=3, color=look[name], label=label(name))
    axes.set_ylabel(what)
    if len(kept) > 1:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8)
