"""The price of deciding night by night, and of fairness by the length of its memory.

``python -m benchmarks.seasons [--log FILE ...] [--file FILE]``: each season is a line of a file
(build/seasons.jsonl), written as it is done; run again, it goes on where it stopped, and prints the
table of what is there. Seasons of logs have a night of six hours for what each day brings, and
users in place of teams.
"""

import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from math import fsum
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from benchmarks.tables import Measured, measurement, out, resumed, row
from benchmarks.timing import machine

SHARE = 0.3  # what each team or user gets at most
NIGHTS = (7, 14, 28)
NIGHT = 6 * 3600.0  # seconds that a night of a log has
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


def measured(limit: float, cell: Cell) -> dict[str, Any]:
    """Return a season's rewards by memory: the clairvoyant's best and bound, and the policies'."""
    import schedopt
    from schedopt.formulations.dssp import Season
    from schedopt.instances.constraints import FairShare
    from schedopt.instances.fair_share import Each
    from schedopt.solvers import door
    from schedopt.solvers.result import Limits

    warnings.simplefilter("ignore")
    season = cell.make()
    by = "team" if "team" in season.groups else "user"
    rows: dict[str, dict[str, Any]] = {}
    known: list[Any] = []
    alone: float | None = None
    for name, memory in (*MEMORIES, (FREE, None)):
        rules: list[Any] = []
        if memory is None:
            greedy, free = (schedopt.evaluate(season, p) for p in ("nightly-greedy", "nightly"))
            known += [greedy, free]
            costs = {"greedy": greedy.objective, "alone": free.objective}
        else:
            rule: dict[str, Any] = {"by": by, "each": Each(at_most=SHARE), **memory}
            rules.append(FairShare(name="fair", **rule))
            if alone is None:  # shares of each night alone: the same whatever is remembered
                alone = schedopt.evaluate(season, "nightly", constraints=rules).objective
            known.append(schedopt.evaluate(season, "nightly-carried", constraints=rules))
            costs = {"carried": known[-1].objective, "alone": alone}
        model, start = Season(season).add(*rules), _best(season, rules, known)
        best = door.solve(model, Limits(time_limit=limit, threads=1), start=lambda: start)  # noqa: B023
        known.append(best)
        costs |= {"best": best.objective, "bound": best.bound, "seconds": best.seconds.solve}
        rows[name] = costs
    return {**cell._asdict(), "limit": limit, "jobs": len(season.jobs), "rows": tightened(rows)}


def _best(season: Any, rules: list[Any], known: list[Any]) -> Any:
    """Return the best of the solutions that keep the rules."""
    from schedopt.validation.documents import check

    keep = [one for one in known if not check(season, one.document(), rules).violations]
    return max(keep, key=lambda one: one.objective).solution if keep else None


def tightened(rows: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return rows with the bounds that others imply.

    A bound without a rule holds with one. A season that keeps the share in every 7 nights keeps it
    over all of its 7, 14 or 28; and one that keeps it on every night keeps it in every 7.
    """
    for name in ("window 30", "window 7", "window 1", *(name for name, _ in MEMORIES)):
        less = {"window 7": "window 30", "window 1": "window 7"}.get(name, FREE)
        rows[name]["bound"] = min(rows[name]["bound"], rows[less]["bound"])
    return rows


def lifted(rows: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return rows whose best without a rule is raised to the best found under any rule."""
    worths = [
        row[key]
        for row in rows.values()
        for key in ("best", "alone", "greedy", "carried")
        if row.get(key) is not None
    ]
    return rows | {FREE: rows[FREE] | {"best": max(worths)}}


def interval(low: float, high: float) -> str:
    """Return a percentage, or its range where only bounds on it are known."""
    first, last = (f"{100 * max(end, 0.0):.1f}" for end in (low, high))
    return f"{first}%" if first == last else f"{first} to {last}%"


def summed_up(seasons: Sequence[dict[str, Any]], name: str) -> dict[str, object]:
    """Return what a memory costs: means over seasons."""
    here = [(rows[name], rows[FREE]) for rows in (lifted(season["rows"]) for season in seasons)]
    proven = sum(one["bound"] <= one["best"] * (1 + 1e-9) for one, _ in here)
    low = _mean([max(0.0, 1 - one["bound"] / free["best"]) for one, free in here])
    high = _mean([1 - one["best"] / free["bound"] for one, free in here])
    gap = max(one["bound"] / one["best"] - 1 for one, _ in here)
    return {
        "fairness": "" if name == FREE else interval(low, high),
        "myopia": interval(*_between(here, "greedy" if name == FREE else "carried")),
        "each night alone": interval(*_between(here, "alone")),
        "proven": f"{proven} of {len(here)}",
        "worst gap": f"{max(gap, 0):.2%}",
    }


def _between(here: Sequence[tuple[dict[str, Any], Any]], policy: str) -> tuple[float, float]:
    """Return bounds on the part of the clairvoyant's optimum that a policy loses."""
    low = _mean([1 - one[policy] / one["best"] for one, _ in here])
    return low, _mean([1 - one[policy] / one["bound"] for one, _ in here])


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)


@measurement
def seasons(done: Sequence[dict[str, Any]]) -> Measured:
    """Print a table for each source: a row for each length of season and each memory."""
    for source in dict.fromkeys(season["source"] for season in done):
        here = [season for season in done if season["source"] == source]
        limit = max(season["limit"] for season in here)
        what = "5 teams" if source == "synthetic" else "users"
        yield (
            f"{Path(source).name}: each of its {what} at most {SHARE:.0%}; % of the reward; "
            f"{limit:g} s at most"
        )
        for nights in sorted({season["nights"] for season in here}):
            same = [season for season in here if season["nights"] == nights]
            label = f"{nights} nights ({len(same)})" if len(same) > 1 else f"{nights} nights"
            for name in SHOWN:
                yield row(f"{label}, {name}", **summed_up(same, name))


def todo(logs: Sequence[str], seeds: int) -> Iterator[Cell]:
    """Yield seasons, one of every length in turn, so that means are of equally many at any time."""
    for seed in range(1, seeds + 1):
        for nights in NIGHTS:
            yield Cell("synthetic", nights, seed)
            if seed == 1:
                yield from (Cell(log, nights, 0) for log in logs)


def main(
    seeds: int = 5,
    limit: float = 12.0,
    log: Annotated[list[str] | None, typer.Option()] = None,
    jobs: int = 2,
    file: Path = Path("build/seasons.jsonl"),
) -> None:
    """Measure what is left with so many processes, and print the tables.

    The limit is the seconds for each optimum; logs are .swf or .swf.gz.
    """
    out.print(machine("highspy"), highlight=False)
    key = lambda season: Cell(season["source"], season["nights"], season["seed"])  # noqa: E731
    cells = todo(log or (), seeds)
    work = partial(measured, limit)
    done = resumed(file, dict[str, Any], key, cells, work, jobs=jobs)
    seasons(list(done.values()))
    out.print(
        "fairness: what the clairvoyant loses to the rule; myopia: what nightly-carried loses "
        "beyond that\n(no rule: nightly-greedy); each night alone: what nightly loses, whose "
        "shares remember nothing"
    )


if __name__ == "__main__":
    typer.run(main)
