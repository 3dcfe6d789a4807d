"""What there is to say about a season, and its picture: who got how much on which night."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import TYPE_CHECKING, Any

from schedopt.formats import counted
from schedopt.instances.dssp import Instance, SelectedNights
from schedopt.problems.dssp import showing
from schedopt.problems.shown import Lines, ShownTable, Tables
from schedopt.solvers.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 8
"""Groups of a grouping that are shown; of more, those with the largest shares."""


def lines(season: Instance, result: Result[SelectedNights]) -> Lines:
    """Yield how many jobs are run on how many nights."""
    found = result.solution
    if found is None:
        yield from showing.used_up(season, result)
        return
    used = sum(night.demand for night in found.nights) / found.capacity / len(found.nights)
    run, total = len(found.selected), len(season.jobs)
    nights = counted(len(found.nights), "night")
    yield "jobs", f"{run:,} of {total:,} run on {nights}; they fill {used:.1%} of the capacity"


def tables(season: Instance, result: Result[SelectedNights]) -> Tables:
    """Yield a table of the nights for each grouping: how full each is, and who has how much."""
    found = result.solution
    if found is None:
        return
    for by in season.groups or {"": {}}:
        groups = largest(found, by) if by else []
        rows = [
            (
                str(n),
                f"{len(night.selected):,}",
                f"{night.demand / found.capacity:.1%}",
                *(f"{night.shares[by][group]:.1%}" for group in groups),
            )
            for n, night in enumerate(found.nights, start=1)
        ]
        all_nights = [
            sum(night.shares[by][group] for night in found.nights) / len(rows) for group in groups
        ]
        demand = sum(night.demand for night in found.nights) / found.capacity / len(rows)
        rows.append(
            (
                "all",
                f"{len(found.selected):,}",
                f"{demand:.1%}",
                *(f"{share:.1%}" for share in all_nights),
            )
        )
        more = f" (the {MOST} largest)" if by and len(season.groups[by]) > MOST else ""
        heads = ("night", "jobs", "filled", *groups)
        yield ShownTable(title=f"{by}{more}" if by else "nights", heads=heads, rows=tuple(rows))


def shares(result: Result[SelectedNights]) -> dict[str, dict[str, float]]:
    """Return the share of each group of each grouping, of the capacity of all nights."""
    found = result.solution
    if found is None:
        return {}
    return {
        by: {
            group: fsum(night.shares[by][group] for night in found.nights) / len(found.nights)
            for group in groups
        }
        for by, groups in found.nights[0].shares.items()
    }


def largest(found: SelectedNights, by: str) -> list[str]:
    """Return the groups of a grouping that get most over all nights, in alphabetical order."""
    shares: dict[str, float] = {}
    for night in found.nights:
        for group, share in night.shares.get(by, {}).items():
            shares[group] = shares.get(group, 0.0) + share
    return sorted(sorted(shares, key=lambda group: -shares[group])[:MOST])


def draw(documents: Sequence[Result[SelectedNights]]) -> Figure:
    """Draw, for each result, the share of the capacity that each group has on each night."""
    by = next(iter(_solution(documents[0]).nights[0].shares), "")
    from matplotlib.figure import Figure

    from schedopt.pictures.style import colours, keys, label, title

    figure = Figure(figsize=(8, 1 + 2.2 * len(documents)), layout="constrained")
    rows = figure.subplots(len(documents), squeeze=False, sharex=True, sharey=True)[:, 0]
    named = {group for document in documents for group in largest(_solution(document), by)}
    look = colours(sorted(named) if by else ["all jobs"])
    for axes, document, name in zip(rows, documents, keys(documents), strict=True):
        found = _solution(document)
        at = list(range(1, len(found.nights) + 1))
        base = [0.0] * len(at)
        for group, colour in look.items():
            heights = [_share(night, by, group, found.capacity) for night in found.nights]
            axes.bar(at, heights, bottom=base, color=colour, label=label(group), width=0.8)
            base = [low + height for low, height in zip(base, heights, strict=True)]
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        axes.set_ylabel("share of the capacity")
        axes.set_title(label(name), loc="left", fontsize=10)
    rows[-1].set_xlabel("night")
    rows[-1].xaxis.get_major_locator().set_params(integer=True)
    rows[0].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8)
    first = documents[0]
    figure.suptitle(
        title(first, "reward") if len(documents) == 1 else label(first.instance), fontsize=10
    )
    return figure


def _solution(document: Result[SelectedNights]) -> SelectedNights:
    found = document.solution
    if found is None:
        raise ValueError("results without a solution are not drawn")
    return found


def _share(night: Any, by: str, group: str, capacity: float) -> float:
    share: float = night.shares[by].get(group, 0.0) if by else night.demand / capacity
    return share
