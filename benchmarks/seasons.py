"""Seasons: what deciding night by night costs, and what fairness costs, by its memory.

``python -m benchmarks.seasons [--log FILE ...] [--file FILE]``: each season is a line of a file
(build/seasons.jsonl), written as it is done; run again, it goes on where it stopped, and prints the
table of what is there. Seasons of logs have a night of six hours for what each day brings, and
users in place of teams.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from math import fsum
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from rich.table import Table

from benchmarks.timing import machine, out

SHARE = 0.3
"""What each team or user gets at most."""
NIGHTS = (7, 14, 28)
NIGHT = 6 * 3600.0
"""Seconds that a night of a log has."""
PATIENCE = 2
"""Nights that a job of a log can wait; so long can those of `generate dssp --generator season`."""
MEMORIES: tuple[tuple[str, dict[str, int]], ...] = (
    ("window 1", {"window": 1}),
    ("half-life 1", {"half_life": 1}),
    ("window 7", {"window": 7}),
    ("half-life 7", {"half_life": 7}),
    ("half-life 30", {"half_life": 30}),
    ("window 30", {"window": 30}),
)
"""The strictest first: what keeps one of them mostly keeps the next, which starts from it."""
FREE = "no rule"
SHOWN = (FREE, "window 1", "window 7", "window 30", "half-life 1", "half-life 7", "half-life 30")


class Cell(NamedTuple):
    """A season: where it is from (``synthetic``, or a log), how many nights, and its seed."""

    source: str
    nights: int
    seed: int

    def make(self) -> Any:
        """Return the season, without rules."""
        from schedopt.instances.dssp import swf
        from schedopt.verbs.generate import generate

        if self.source == "synthetic":
            return generate("dssp", "season", seed=self.seed, options={"nights": self.nights})
        return swf.convert(self.source, deadline=NIGHT, nights=self.nights, patience=PATIENCE)


def measured(cell: Cell, limit: float) -> dict[str, Any]:
    """Return what a season brings, by memory: the clairvoyant's best and bound, and the policies'.

    Parameters
    ----------
    cell : Cell
    limit : float
        Seconds for each clairvoyant optimum, of one thread.
    """
    import schedopt
    from schedopt.formulations.dssp import Season
    from schedopt.instances.constraints import FairShare
    from schedopt.instances.fair_share import Each
    from schedopt.solvers.dssp.selection.binary import engine
    from schedopt.solvers.result import Limits

    warnings.simplefilter("ignore")
    season = cell.make()
    by = "team" if "team" in season.groups else "user"
    rows: dict[str, dict[str, Any]] = {}
    found: list[Any] = []
    alone: float | None = None
    for name, memory in (*MEMORIES, (FREE, None)):
        rules = []
        if memory is not None:
            rule: dict[str, Any] = {"by": by, "each": Each(at_most=SHARE), **memory}
            rules.append(FairShare(name="fair", **rule))
        row: dict[str, Any] = {}
        if memory is None:
            for key, policy in (("greedy", "nightly-greedy"), ("alone", "nightly")):
                run = schedopt.evaluate(season, policy)
                row[key] = run.objective
                found.append(run.solution)
        else:
            if alone is None:  # shares of each night alone: the same whatever is remembered
                alone = schedopt.evaluate(season, "nightly", constraints=rules).objective
            carried = schedopt.evaluate(season, "nightly-carried", constraints=rules)
            found.append(carried.solution)
            row |= {"carried": carried.objective, "alone": alone}
        model = Season(season).add(*rules)
        best = engine.solve(model, Limits(time_limit=limit, threads=1), hints=found)
        found.append(best.solution)
        row |= {"best": best.objective, "bound": best.bound, "seconds": best.seconds.solve}
        rows[name] = row
    return {**cell._asdict(), "limit": limit, "jobs": len(season.jobs), "rows": tightened(rows)}


def tightened(rows: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return rows with the bounds that others imply.

    What is worth more than no rule allows is worth too much with one; and what keeps the share in
    every 7 nights keeps it in all of 7, 14 or 28, and in every 7 what keeps it on every night.
    """
    for name in ("window 30", "window 7", "window 1", *(name for name, _ in MEMORIES)):
        less = {"window 7": "window 30", "window 1": "window 7"}.get(name, FREE)
        rows[name]["bound"] = min(rows[name]["bound"], rows[less]["bound"])
    return rows


def lifted(rows: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return rows whose best without a rule is at least what any other season is worth."""
    worths = [row[key] for row in rows.values() for key in ("best", "alone", "greedy", "carried")
              if row.get(key) is not None]  # fmt: skip
    return rows | {FREE: rows[FREE] | {"best": max(worths)}}


def interval(low: float, high: float) -> str:
    """Return a percentage, or from where to where it is where that is not known."""
    first, last = (f"{100 * max(end, 0.0):.1f}" for end in (low, high))
    return f"{first}%" if first == last else f"{first} to {last}%"


def line(rows: Sequence[dict[str, Any]], name: str) -> list[str]:
    """Return the cells of a memory: means over seasons."""
    here = [(row[name], row[FREE]) for row in (lifted(row["rows"]) for row in rows)]
    proven = sum(one["bound"] <= one["best"] * (1 + 1e-9) for one, _ in here)
    fairness, myopia, alone = "", "", ""
    if name == FREE:
        alone = interval(*_between(here, "alone"))
        myopia = interval(*_between(here, "greedy"))
    else:
        low = _mean([max(0.0, 1 - one["bound"] / free["best"]) for one, free in here])
        high = _mean([1 - one["best"] / free["bound"] for one, free in here])
        fairness = interval(low, high)
        myopia, alone = interval(*_between(here, "carried")), interval(*_between(here, "alone"))
    gap = max(one["bound"] / one["best"] - 1 for one, _ in here)
    return [fairness, myopia, alone, f"{proven} of {len(here)}", f"{max(gap, 0):.2%}"]


def _between(here: Sequence[tuple[dict[str, Any], Any]], policy: str) -> tuple[float, float]:
    """Return from where to where it is what a policy loses, of the clairvoyant's optimum."""
    low = _mean([1 - one[policy] / one["best"] for one, _ in here])
    return low, _mean([1 - one[policy] / one["bound"] for one, _ in here])


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)


def told(done: Sequence[dict[str, Any]]) -> None:
    """Print a table for each source: a row for each length of season and each memory."""
    heads = ("nights", "memory", "fairness", "myopia", "each night alone", "proven", "worst gap")
    for source in dict.fromkeys(row["source"] for row in done):
        here = [row for row in done if row["source"] == source]
        limit = max(row["limit"] for row in here)
        what = "5 teams" if source == "synthetic" else "users"
        title = f"{Path(source).name}: each of its {what} at most {SHARE:.0%}; % of the reward; "
        table = Table(*heads, title=f"{title}{limit:g} s at most", title_justify="left")
        for nights in sorted({row["nights"] for row in here}):
            rows = [row for row in here if row["nights"] == nights]
            for name in SHOWN:
                label = f"{nights} ({len(rows)})" if len(rows) > 1 else str(nights)
                table.add_row(label, name, *line(rows, name))
        out.print(table)
    out.print(
        "fairness: what the clairvoyant loses to the rule; myopia: what nightly-carried loses "
        "beyond that\n(no rule: nightly-greedy); each night alone: what nightly loses, whose "
        "shares remember nothing"
    )


def todo(logs: Sequence[str], seeds: int) -> Iterator[Cell]:
    """Yield seasons, one of every length in turn, so that means are of equally many at any time."""
    for seed in range(1, seeds + 1):
        for nights in NIGHTS:
            yield Cell("synthetic", nights, seed)
            if seed == 1:
                yield from (Cell(log, nights, 0) for log in logs)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is left, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=12.0, help="seconds for each optimum")
    parser.add_argument("--log", action="append", default=[], help="a log (.swf, .swf.gz)")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--file", type=Path, default=Path("build/seasons.jsonl"))
    given = parser.parse_args(arguments)
    given.file.parent.mkdir(parents=True, exist_ok=True)
    lines = given.file.read_text().splitlines() if given.file.exists() else []
    done = [json.loads(text) for text in lines if text.endswith("}")]
    seen = {(row["source"], row["nights"], row["seed"]) for row in done}
    left = [cell for cell in todo(given.log, given.seeds) if cell not in seen]
    out.print(machine("highspy"), highlight=False)
    spawn = get_context("spawn")
    with ProcessPoolExecutor(given.jobs, mp_context=spawn) as pool, given.file.open("a") as log:
        for made in as_completed([pool.submit(measured, cell, given.limit) for cell in left]):
            row = made.result()
            done.append(row)
            log.write(json.dumps(row) + "\n")
            log.flush()
            out.print(f"{Path(row['source']).name}, {row['nights']} nights, {row['seed']}: done")
    told(done)


if __name__ == "__main__":
    main()
