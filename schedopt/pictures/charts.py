"""Charts of many results: performance profiles, what-ifs and reproductions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from schedopt.formats import counted
from schedopt.pictures.style import colours, label, lines, panels, set_title, single_panel

if TYPE_CHECKING:  # which would load all that solves
    from schedopt.analysis.profiles import Profile
    from schedopt.sweep.variations import Variation
    from schedopt.validation.reproduce.ledger import Outcome


FARTHEST = 4.0  # ratios beyond this are not drawn


def profiles(found: Sequence[Profile]) -> Figure:
    """Draw for each contender the share of instances on which it is within a factor of the best."""
    problems = list(dict.fromkeys(profile.problem for profile in found))
    figure, grid = panels((9, 4.5 * len(problems)), len(problems))
    for axes, problem in zip(grid[:, 0], problems, strict=True):
        mine = [profile for profile in found if profile.problem == problem]
        axes.set_title(f"{problem}: {counted(mine[0].instances, 'instance')}")
        if mine[0].instances == 1:
            _alone(axes, mine)
            continue
        ratios = {one.contender: [r for r in one.ratios if isfinite(r)] for one in mine}
        far = max((of[-1] for of in ratios.values() if of), default=1.0)
        most = min(FARTHEST, 1 + 1.1 * (far - 1)) if far > 1 else 2.0
        look = lines(ratios)
        for name, of in ratios.items():
            colour, dash = look[name]
            shares = [i / mine[0].instances for i in range(len(of) + 1)]
            axes.step(
                [1.0, *of, max([most, *of])],
                [*shares, shares[-1]],
                where="post",
                color=colour,
                linestyle=dash,
                label=label(name),
            )
        axes.set_xlim(1, most)
        axes.set_ylim(0, 1.02)
        axes.set_xlabel("ratio to the best")
        axes.set_ylabel("share of instances")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return figure


def _alone(axes: Axes, found: Sequence[Profile]) -> None:
    """Draw how far contenders are above the best on one instance, which has no profile."""
    scored = [one for one in reversed(found) if one.ratios and isfinite(one.ratios[0])]
    above = [100 * (one.ratios[0] - 1) for one in scored]
    axes.barh([label(one.contender) for one in scored], above)
    axes.set_xlim(0, 1.05 * max([*above, 1.0]))
    axes.set_xlabel("above the best, in %")


MOST = 8  # curves in a panel; of more, the first


def variations(rows: Sequence[Variation]) -> Figure:
    """Draw the objective, and each grouping's shares, against the place with most values."""
    places = list(rows[0].values)
    along = max(places, key=lambda place: len({row.values[place] for row in rows}))
    others = [place for place in places if place != along]
    groupings = list(dict.fromkeys(by for row in rows for by in row.shares))
    count = 1 + (len(groupings) if not others else 0)
    figure, grid = panels((8, 0.8 + 3 * count), count, sharex=True)
    axes = grid[:, 0]
    lines: dict[str, list[tuple[object, float]]] = {}
    for row in rows:
        name = ", ".join(f"{place} {row.values[place]}" for place in others)
        if row.objective is not None:
            lines.setdefault(name, []).append((row.values[along], row.objective))
    _lines(axes[0], lines, "objective")
    for panel, by in zip(axes[1:], groupings, strict=False):
        shares: dict[str, list[tuple[object, float]]] = {}
        for row in rows:
            for group, share in row.shares.get(by, {}).items():
                shares.setdefault(group, []).append((row.values[along], share))
        _lines(panel, shares, f"share by {by}")
        panel.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes[-1].set_xlabel(label(along))
    if all(isinstance(row.values[along], int) for row in rows):
        axes[-1].xaxis.get_major_locator().set_params(integer=True)
    set_title(figure, label(rows[0].instance))
    return figure


def _lines(axes: Axes, lines: Mapping[str, Sequence[tuple[object, float]]], what: str) -> None:
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


def curves(outcome: Outcome, title: str) -> Figure:
    """Draw an outcome's curves; predicted ones are dashed in the colour of the actual ones."""
    figure, axes = single_panel((9, 5))
    look = colours(dict.fromkeys(name.split(",")[0] for name in outcome.curves))
    for name, (x, y) in outcome.curves.items():
        colour = look[name.split(",")[0]]
        axes.plot(x, y, color=colour, linestyle="--" if "predicted" in name else "-", label=name)
    axes.set_xlabel(outcome.xlabel)
    axes.set_ylabel(outcome.ylabel)
    axes.set_ylim(bottom=0)
    axes.set_title(title, fontsize=10)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return figure
