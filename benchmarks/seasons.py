"""Seasons: what deciding night by night costs, and what fairness costs, by its memory."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from math import fsum

from rich.table import Table

import schedopt
from benchmarks.timing import out
from instances.constraints import FairShare
from instances.dssp import Instance
from instances.fair_share import Each

SHARE = 0.3
"""What each team gets at most."""

MEMORIES: tuple[tuple[str, dict[str, float]], ...] = (
    ("window 1", {"window": 1}),
    ("window 7", {"window": 7}),
    ("window 30", {"window": 30}),
    ("half-life 1", {"half_life": 1}),
    ("half-life 7", {"half_life": 7}),
    ("half-life 30", {"half_life": 30}),
)


def measured(
    season: Instance, memory: dict[str, float], free: float, limit: float
) -> tuple[float, float, float, float]:
    """Return what fairness costs, what the bound leaves open of it, and what myopia costs.

    Parameters
    ----------
    season : Instance
        Without rules.
    memory : dict
        The window or the half-life.
    free : float
        The optimum without a rule.
    limit : float
        Seconds for the clairvoyant optimum.

    Returns
    -------
    fairness, open_, carried, alone : float
        Reward lost: to the rule, by the clairvoyant; what the bound leaves open of that; by
        carried shares beyond the clairvoyant; and by shares of each night alone.
    """
    rule = FairShare(name="fair", by="team", each=Each(at_most=SHARE), **memory)  # type: ignore[arg-type]
    best = schedopt.solve(season, constraints=[rule], time_limit=limit)
    bound, found = float(best.bound or 0), float(best.objective or 0)
    worths = []
    for name in ("nightly-carried", "nightly"):
        result = schedopt.evaluate(season, name, constraints=[rule])
        worths.append(float(result.objective or 0))
    carried, alone = worths
    found = max(found, carried)  # a season that is not proven may be worse than its own policy
    return 1 - found / free, (bound - found) / free, 1 - carried / found, 1 - alone / found


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row for each length of season and each memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nights", type=int, nargs="*", default=[7, 14, 28])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=20.0)
    given = parser.parse_args(arguments)
    title = f"each of 5 teams at most {SHARE:.0%}; means of {given.seeds} seasons; % of the reward"
    heads = ("nights", "memory", "fairness", "open", "myopia", "each night alone")
    table = Table(*heads, title=title, title_justify="left")
    for nights in given.nights:
        options = {"nights": nights}
        seasons = [
            schedopt.generate("dssp", "season", seed=seed, options=options)
            for seed in range(1, given.seeds + 1)
        ]
        free = [schedopt.solve(season, time_limit=given.limit) for season in seasons]
        greedy = [schedopt.evaluate(season, ["nightly", "nightly-greedy"]) for season in seasons]
        for k, name in enumerate(("no rule: optimum nightly", "no rule: greedy nightly")):
            lost = [
                1 - float(policies[k].objective or 0) / float(result.objective or 1)
                for policies, result in zip(greedy, free, strict=True)
            ]
            open_ = _mean([result.gap or 0.0 for result in free])
            table.add_row(str(nights), name, "", f"{open_:.2%}", f"{_mean(lost):.2%}", "")
        for name, memory in MEMORIES:
            rows = [
                measured(season, memory, float(result.objective or 1), given.limit)
                for season, result in zip(seasons, free, strict=True)
            ]
            cells = [f"{_mean(column):.2%}" for column in zip(*rows, strict=True)]
            table.add_row(str(nights), name, *cells)
    out.print(table)


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)


if __name__ == "__main__":
    main()
