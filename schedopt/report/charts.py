"""The interactive charts of a report, as plotly reads them; their colours are the page's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import log10
from typing import Any

import numpy as np

from schedopt.analysis.profiles import Profile
from schedopt.analysis.summary import Standing
from schedopt.formats import percent
from schedopt.pictures.style import lines
from schedopt.sweep.rows import Row

Chart = dict[str, Any]

DASHES = {"solid": "solid", "dashed": "dash", "dotted": "dot", "dashdot": "dashdot"}
"""What plotly calls the dashes."""

MANY = 400
"""Rows of a policy from which on the chart shows quantiles in place of every point."""

FAR = 3
"""The ratio beyond which a profile's axis is logarithmic."""

STEPS = 500
"""Steps of a profile that are drawn at the most."""

WIDE = 2.0
"""The gap beyond which gaps stand on a logarithmic axis, as multiples of the reference."""


def profile(profiles: Sequence[Profile]) -> Chart:
    """Return performance profiles: how near the best a policy is, and on how many instances."""
    found = {profile.contender: profile.steps() for profile in profiles}
    look = lines(found)
    far = max((ratios[-1] for ratios, _ in found.values()), default=1.0)
    end = 1 + 1.05 * (far - 1) if far > 1 else 1.1
    traces = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": text(policy),
            "meta": policy,  # as it is, for the page's legend
            "x": [*_thin(ratios), end],
            "y": [*_thin(shares), shares[-1]],
            "line": {
                "shape": "hv",
                "width": 2,
                "color": look[policy][0],
                "dash": DASHES[look[policy][1]],
            },
            "hovertemplate": "within a factor of %{x:.4~g} on %{y:.1%}<extra>%{fullData.name}"
            "</extra>",
        }
        for policy, (ratios, shares) in found.items()
    ]
    scale = "log" if end > FAR else "linear"
    room = [0, log10(end)] if scale == "log" else [1, end]
    return {
        "data": traces,
        "layout": {
            "xaxis": {"title": {"text": "ratio to the best"}, "type": scale, "range": room},
            "yaxis": {
                "title": {"text": "share of instances"},
                "tickformat": ".0%",
                "range": [-0.02, 1.03],
            },
            "hovermode": "closest",
        },
    }


def _thin(numbers: Sequence[float]) -> Sequence[float]:
    """Return so many of the numbers, evenly from first to last, as an eye can tell apart."""
    last = len(numbers) - 1
    return numbers if last < STEPS else [numbers[last * i // STEPS] for i in range(STEPS + 1)]


def gaps(rows: Sequence[Row], standings: Sequence[Standing]) -> Chart:
    """Return the distribution of each policy's gaps, the least median on top."""
    look = lines(standing.contender for standing in standings)
    known = [standing for standing in standings if standing.median is not None]
    order = sorted(known, key=lambda standing: (standing.median, standing.mean), reverse=True)
    wide = any((standing.worst or 0.0) > WIDE for standing in known)
    traces = []
    for standing in order:
        mine = [r for r in rows if r.policy == standing.contender and r.gap is not None]
        colour = look[standing.contender][0]
        traces.append(_few(mine, colour, wide) if len(mine) <= MANY else _many(mine, colour, wide))
    times = {"title": {"text": "times the reference"}, "type": "log", "hoverformat": ".4~g"}
    part = {"title": {"text": "gap to the reference"}, "tickformat": ".3~p", "hoverformat": ".3~p"}
    return {
        "data": traces,
        "layout": {
            "xaxis": times if wide else part | {"rangemode": "tozero"},
            "yaxis": {"automargin": True},
            "hovermode": "closest",
            "height": 110 + 34 * max(3, len(traces)),
        },
    }


def _few(rows: Sequence[Row], colour: str, wide: bool) -> Chart:
    """Return every gap as a point, over a box of their quartiles."""
    return {
        **_box(rows[0].policy, colour),
        "x": [_place(row.gap, wide) for row in rows],
        "text": [f"{text(_case(row))}<br>gap {percent(row.gap)}" for row in rows],
        "boxpoints": "all",
        "pointpos": 0,
        "jitter": 0.6,
        "marker": {"color": colour, "size": 6, "opacity": 0.75},
        "hovertemplate": "%{text}<extra>%{fullData.name}</extra>",
    }


def _many(rows: Sequence[Row], colour: str, wide: bool) -> Chart:
    """Return quantiles alone: the points would be too many to tell apart, or to send."""
    marks = {"lowerfence": 0.0, "q1": 0.25, "median": 0.5, "q3": 0.75, "upperfence": 1.0}
    found = np.quantile([_place(row.gap, wide) for row in rows], list(marks.values()))
    places = {mark: [float(value)] for mark, value in zip(marks, found, strict=True)}
    return _box(rows[0].policy, colour) | places


def _place(gap: float | None, wide: bool) -> float:
    return (gap or 0.0) + 1.0 if wide else gap or 0.0


def _box(policy: str, colour: str) -> Chart:
    return {
        "type": "box",
        "orientation": "h",
        "name": text(policy),
        "meta": policy,  # as it is, for the axis
        "y0": text(policy),
        "line": {"color": colour, "width": 1.5},
    }


def _case(row: Row, most: int = 60) -> str:
    name = row.instance if len(row.instance) <= most else f"{row.instance[: most - 1]}…"
    return f"{name}, seed {row.seed}" if row.seed else name


def text(name: str) -> str:
    """Return a name that plotly shows as it is: it reads some markup in all of its texts."""
    return escape(name, quote=False)


def charts(
    rows: Sequence[Row], standings: Sequence[Standing], profiles: Sequence[Profile]
) -> Mapping[str, Chart]:
    """Return the charts of one problem, by name; a row's policy is its contender."""
    return {"profile": profile(profiles), "gaps": gaps(rows, standings)}
