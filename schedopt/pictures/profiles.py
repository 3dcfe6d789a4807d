"""Performance profiles of a bench, one panel a problem."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from matplotlib.figure import Figure

from schedopt.analysis.summary import Profile
from schedopt.problems.dssp.drawing import COLOURS

MOST = 4.0
"""Factors beyond this are not drawn: whoever is that far behind is not close on any of them."""
STYLES = ("-", "--", ":", "-.")


def profiles(found: Sequence[Profile]) -> Figure:
    """Draw for each contender the share of instances on which it is within a factor of the best."""
    problems = list(dict.fromkeys(profile.problem for profile in found))
    figure = Figure(figsize=(9, 4.5 * len(problems)), layout="constrained")
    panels = figure.subplots(len(problems), 1, squeeze=False)[:, 0]
    for axes, problem in zip(panels, problems, strict=True):
        mine = [profile for profile in found if profile.problem == problem]
        ends = [r for profile in mine for r in profile.ratios if isfinite(r)]
        most = min(MOST, 1 + 1.1 * (max(ends, default=1.0) - 1)) if max(ends, default=1) > 1 else 2
        for position, profile in enumerate(mine):
            # Lines that lie on each other are told apart by their dashes.
            colour = COLOURS[position % len(COLOURS)]
            style = STYLES[position % len(STYLES)]
            x, y = _steps(profile, most)
            axes.step(x, y, where="post", color=colour, linestyle=style)
            axes.plot([], [], color=colour, linestyle=style, label=_short(profile.contender))
        axes.set_xlim(1, most)
        axes.set_ylim(0, 1.02)
        axes.set_xlabel(f"times worse than the best, by {mine[0].measure}")
        axes.set_ylabel("share of instances")
        axes.set_title(f"{problem}: {mine[0].instances} instances")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return figure


def _steps(profile: Profile, most: float) -> tuple[list[float], list[float]]:
    """Return where the share grows, and to what, from 1 to the end of the picture."""
    x = [1.0, *(ratio for ratio in profile.ratios if 1.0 < ratio <= most), most]
    return x, [profile.at(value) for value in x]


def _short(name: str) -> str:
    """Return a name as matplotlib shows it as it is: a dollar begins no mathematics."""
    name = name.replace("$", r"\$")
    return name if len(name) <= 40 else f"{name[:39]}…"
