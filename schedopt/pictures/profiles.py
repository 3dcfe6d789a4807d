"""Performance profiles of a bench, one panel a problem."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from schedopt.analysis.profiles import Profile
from schedopt.formats import counted
from schedopt.pictures.style import label, lines

MOST = 4.0
"""Ratios beyond this are not drawn: whoever is that far behind is not close on any of them."""


def profiles(found: Sequence[Profile]) -> Figure:
    """Draw for each contender the share of instances on which it is within a factor of the best."""
    problems = list(dict.fromkeys(profile.problem for profile in found))
    figure = Figure(figsize=(9, 4.5 * len(problems)), layout="constrained")
    panels = figure.subplots(len(problems), 1, squeeze=False)[:, 0]
    for axes, problem in zip(panels, problems, strict=True):
        mine = [profile for profile in found if profile.problem == problem]
        steps = {profile.contender: profile.steps() for profile in mine}
        far = max(ratios[-1] for ratios, _ in steps.values())
        most = min(MOST, 1 + 1.1 * (far - 1)) if far > 1 else 2.0
        look = lines(steps)
        for name, (ratios, shares) in steps.items():
            colour, dash = look[name]
            drawn = {"color": colour, "linestyle": dash}
            end = max(most, ratios[-1])
            axes.step([*ratios, end], [*shares, shares[-1]], where="post", **drawn)
            axes.plot([], [], label=label(name), **drawn)
        axes.set_xlim(1, most)
        axes.set_ylim(0, 1.02)
        axes.set_xlabel(f"ratio to the best, by {mine[0].measure}")
        axes.set_ylabel("share of instances")
        axes.set_title(f"{problem}: {counted(mine[0].instances, 'instance')}")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return figure
