"""Which solver is best at what (``make solvers``): the same models in every solver that is here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.table import Table

import schedopt
from benchmarks.timing import agree, machine, out
from schedopt.solvers.door import engines
from schedopt.verbs.generate import generate

LIMIT = 20.0
"""Seconds that a solver gets for one model."""

Case = tuple[Any, tuple[Any, ...]]


def _season(seed: int) -> Case:
    """Draw 56 nights as one, each of twenty teams capped at nine tenths of what it would get."""
    options = {"nights": 56, "stages": False, "teams": 20}
    night = generate("dssp", seed=seed, options=options)
    shares = schedopt.solve(night).solution.shares["team"]
    caps = {team: 0.9 * share for team, share in shares.items()}
    return night, (schedopt.FairShare(by="team", at_most=caps),)


def _plain(seed: int) -> Case:
    return generate("dssp", "uncorrelated", seed=seed, options={"jobs": 10_000}), ()


def _strong(seed: int) -> Case:
    return generate("dssp", "strongly-correlated", seed=seed, options={"jobs": 1_000}), ()


def _logic(seed: int) -> Case:
    """Draw a night whose jobs exclude and accompany one another, with three budgets."""
    night = generate("dssp", "uncorrelated", seed=seed, options={"jobs": 400, "groups": 8})
    names = [job.name for job in night.jobs]
    rules: list[Any] = [
        schedopt.FairShare(by="team", at_most={"team-01": 0.05}),
        *(schedopt.Together(jobs=names[i : i + 2]) for i in range(0, 100, 2)),
        *(schedopt.Apart(jobs=names[i : i + 2]) for i in range(100, 200, 2)),
        *(
            schedopt.Resource(
                name=f"budget-{b}",
                use={name: float((7 * i + 13 * b) % 29) for i, name in enumerate(names)},
                capacity=2000.0,
            )
            for b in range(3)
        ),
    ]
    return night, tuple(rules)


CASES: dict[str, Callable[[int], Case]] = {
    "season, 2,388 jobs, 20 capped teams": _season,
    "plain knapsack, 10,000 jobs": _plain,
    "strongly correlated, 1,000 jobs": _strong,
    "400 jobs, pairs, budgets": _logic,
}


def main(seeds: tuple[int, ...] = (1, 2, 3)) -> None:
    """Print, for each kind of model, what each solver took and how far it came."""
    out.print(machine("highspy", "ortools", "pyomo"), highlight=False)
    names = [engine.name for engine in engines("dssp", "selection") if engine.available]
    table = Table(
        "model",
        "solver",
        "proven",
        "seconds",
        "largest gap",
        title=f"{len(seeds)} seeds each, {LIMIT:.0f} s at most; seconds of solving",
        title_justify="left",
    )
    for title, make in CASES.items():
        cases = [make(seed) for seed in seeds]
        optima: list[set[float]] = [set() for _ in cases]
        for name in names:
            try:
                runs = [
                    schedopt.solve(night, solver=name, constraints=rules, time_limit=LIMIT)
                    for night, rules in cases
                ]
            except schedopt.InputError:  # it does not take such models
                continue
            for found, run in zip(optima, runs, strict=True):
                if run.proven and run.objective is not None:
                    found.add(run.objective)
            seconds = sorted(run.seconds.solve for run in runs)
            gaps = [run.gap for run in runs]
            known = [gap for gap in gaps if gap is not None]
            table.add_row(
                title,
                name,
                f"{sum(run.proven for run in runs)} of {len(runs)}",
                f"{seconds[0]:.2f} to {seconds[-1]:.2f}",
                f"{max(known):.1e}" if len(known) == len(gaps) else "unknown",
            )
        for found in optima:
            agree(*found)
    out.print(table)


if __name__ == "__main__":
    main()
