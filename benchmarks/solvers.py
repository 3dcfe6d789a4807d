"""Which solver is best at what (``make solvers``): the same models in every solver that is here."""

from collections.abc import Callable
from functools import partial
from typing import Any

import schedopt
from benchmarks.tables import Measured, measurement, row, run
from benchmarks.timing import agree
from schedopt.solvers.door import engines
from schedopt.verbs.generate import generate

LIMIT = 20.0  # seconds that a solver gets for one model
Case = tuple[Any, tuple[Any, ...]]


def _season(seed: int) -> Case:
    """Draw 56 nights as one, each of twenty teams capped at nine tenths of what it would get."""
    options = {"nights": 56, "stages": False, "teams": 20}
    night = generate("dssp", seed=seed, options=options)
    shares = schedopt.solve(night).solution.shares["team"]
    caps = {team: 0.9 * share for team, share in shares.items()}
    return night, (schedopt.FairShare(by="team", at_most=caps),)


def _drawn(family: str, jobs: int, seed: int) -> Case:
    return generate("dssp", family, seed=seed, options={"jobs": jobs}), ()


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
    "plain knapsack, 10,000 jobs": partial(_drawn, "uncorrelated", 10_000),
    "strongly correlated, 1,000 jobs": partial(_drawn, "strongly-correlated", 1_000),
    "400 jobs, pairs, budgets": _logic,
}
SEEDS = (1, 2, 3)


@measurement
def solvers() -> Measured:
    """Print, for each kind of model, what each solver took and how far it came."""
    yield f"{len(SEEDS)} seeds each, {LIMIT:.0f} s at most; seconds of solving"
    for title, make in CASES.items():
        cases = [make(seed) for seed in SEEDS]
        optima: list[set[float]] = [set() for _ in cases]
        for engine in engines("dssp", "selection"):
            if not engine.available:
                continue
            limits = {"solver": engine.name, "time_limit": LIMIT}
            try:
                runs = [
                    schedopt.solve(night, constraints=rules, **limits) for night, rules in cases
                ]
            except schedopt.InputError:  # it does not take such models
                continue
            for known, result in zip(optima, runs, strict=True):
                if result.proven and result.objective is not None:
                    known.add(result.objective)
            seconds = [result.seconds.solve for result in runs]
            gaps = [result.gap for result in runs if result.gap is not None]
            worst = f"{max(gaps):.1e}" if len(gaps) == len(runs) else "unknown"
            proven = f"{sum(result.proven for result in runs)} of {len(runs)}"
            beside = {"proven": proven, "quickest": min(seconds), "largest gap": worst}
            yield row(f"{title}: {engine.name}", max(seconds), "s", **beside)
        for known in optima:
            agree(*known)


if __name__ == "__main__":
    run(solvers, packages=("highspy", "ortools", "pyomo"))
