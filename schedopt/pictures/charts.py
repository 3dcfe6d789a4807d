"""Charts of many results: performance profiles, what-ifs and reproductions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from schedopt.formats import count_of
from schedopt.pictures import style

if TYPE_CHECKING:  # which would load all that solves
    from schedopt.analysis.statistics import PerformanceProfile
    from schedopt.sweep.variations import Variation
    from schedopt.validation.reproduce.ledger import Entry


def profiles(
    curves: Sequence[PerformanceProfile],
    *,
    farthest: float = 4.0,  # the largest ratio that is drawn
) -> Figure:
    """Draw performance profiles: the share of instances within a factor of the best."""
    problems = list(dict.fromkeys(profile.problem for profile in curves))
    figure, grid = style.panels((9, 4.5 * len(problems)), len(problems))
    for axes, problem in zip(grid[:, 0], problems, strict=True):
        mine = [profile for profile in curves if profile.problem == problem]
        axes.set_title(f"{problem}: {count_of(mine[0].instances, 'instance')}")
        finite = {one.contender: [r for r in one.ratios if isfinite(r)] for one in mine}
        far = max((ratios[-1] for ratios in finite.values() if ratios), default=1.0)
        most = min(farthest, 1 + 1.1 * (far - 1)) if far > 1 else 2.0
        for name, (colour, dash) in style.lines(finite).items():
            ratios = [1.0, *finite[name]]
            shares = [i / mine[0].instances for i in range(len(ratios))]
            drawn: Any = {"color": colour, "linestyle": dash, "label": style.label(name)}
            axes.step(
                [*ratios, max(most, ratios[-1])], [*shares, shares[-1]], where="post", **drawn
            )
        axes.set(xlim=(1, most), ylim=(0, 1.02))
        style.decorate(axes, x="ratio to the best", y="share of instances", legend="beside")
    return figure


def variations(rows: Sequence[Variation]) -> Figure:
    """Draw the objective and the shares of groups against the place with the most values."""
    places = list(rows[0].values)
    along = max(places, key=lambda place: len({row.values[place] for row in rows}))
    others = [place for place in places if place != along]
    groupings = [] if others else list(dict.fromkeys(by for row in rows for by in row.shares))
    figure, grid = style.panels((8, 3.8 + 3 * len(groupings)), 1 + len(groupings), sharex=True)
    curves: dict[str, dict[str, list[tuple[object, float]]]] = {"": {}}
    for row in rows:
        name = ", ".join(f"{place} {row.values[place]}" for place in others)
        if row.objective is not None:
            curves[""].setdefault(name, []).append((row.values[along], row.objective))
        for by in groupings:
            for group, share in row.shares.get(by, {}).items():
                of = curves.setdefault(by, {}).setdefault(group, [])
                of.append((row.values[along], share))
    for axes, by in zip(grid[:, 0], ("", *groupings), strict=True):
        _curves(axes, curves.get(by, {}))
        style.decorate(axes, y=f"share by {by}" if by else "objective", shares="y" if by else "")
    grid[-1, 0].set_xlabel(style.label(along))
    if all(isinstance(row.values[along], int) for row in rows):
        grid[-1, 0].xaxis.get_major_locator().set_params(integer=True)
    style.set_title(figure, style.label(rows[0].instance))
    return figure


def _curves(
    axes: Axes,
    curves: Mapping[str, Sequence[tuple[object, float]]],
    *,
    most: int = 8,  # curves of a panel: the first ones
) -> None:
    kept = dict(list(curves.items())[:most])
    for name, colour in style.colours(kept).items():
        points = kept[name]
        numeric = all(isinstance(x, int | float) for x, _ in points)
        ordered = sorted(points, key=lambda point: float(str(point[0]))) if numeric else points
        x: list[Any] = [x if numeric else str(x) for x, _ in ordered]
        y = [value for _, value in ordered]
        axes.plot(x, y, marker="o", markersize=3, color=colour, label=style.label(name))
    style.decorate(axes, legend="beside" if len(kept) > 1 else "")


def curves(points: Mapping[str, Any], entry: Entry) -> Figure:
    """Draw the curves of a reproduction; predicted curves are dashed."""
    figure, axes = style.single_panel((9, 5))
    look = style.colours(dict.fromkeys(name.split(",")[0] for name in points))
    for name, (x, y) in points.items():
        colour = look[name.split(",")[0]]
        axes.plot(x, y, color=colour, linestyle="--" if "predicted" in name else "-", label=name)
    axes.set_ylim(bottom=0)
    style.decorate(axes, f"{entry.title}\n{entry.source}", *entry.axes, legend="beside")
    return figure
