"""Do two methods agree? Random instances of every kind of side constraint, solved twice each.

``python -m benchmarks.agree [COUNT [FILE [KIND]]]``: so many instances in all, of all kinds or of
those that begin so, in parts that are written to a file (build/agree.jsonl) as they are done; run
again, it goes on where it stopped, and says how much was there. Other parts of the file are not
counted. Exit 1 if any two methods disagree.

Every other selection goes through HiGHS first, however small it is; those of 60 to 200 jobs are
solved by SCIP, too. Other formulations are drawn and solved as the contract suite does. Bounds of
optimal policies are held below what policies get.
"""

import os
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from benchmarks import agreeing
from benchmarks.tables import Measured, kept, measurement, out, resumed, row
from schedopt.instances.decimals import as_written
from schedopt.instances.msfq import Instance, JobClass

TESTS = str(Path(__file__).parent.parent / "tests")
PART = 50  # instances between two lines of the file
CONTRACT = {
    "epoch/partition": 50,
    "epoch/rectangles": 50,
    "hesrpt/allocation": 50,
    "msfq/threshold": 10,
    "dssp/schedule": 50,
    "dssp/season": 50,
}
"""What tests/contract draws, solved as its suite does: by the table, and as declared."""
MANY, CLASSES = "60 to 200 jobs", "bounds of policies"
RARE = {**CONTRACT, MANY: 50, CLASSES: 50}
"""Kinds that take long: one part of theirs to so many of another."""
NEAR = 1e-6  # what optima in floating point may differ by
SECONDS, FEW_SECONDS = 60.0, 10.0
"""What either method may take, the second for many jobs; what is not proven then is withheld."""
WORDS = ("agreed", "infeasible", "withheld", "disagreed")
JUDGED = ("judged/schedule", "judged/selection", "judged/season")
KINDS = ("none", *agreeing.RULES, "windows", *JUDGED, *RARE)
BLIND = (
    "adaptive-quickswap",
    "fcfs",
    "first-fit",
    "msf",
    "msfq",
    "nmsr",
    "static-quickswap",
    "two-threshold",
)
"""Compiled policies, none of which knows how long jobs run."""


def verdict(kind: str, seed: int) -> str:
    """Answer an instance by two methods; return one of `WORDS`, or how they disagree."""
    from schedopt import solve
    from schedopt.problems import problem
    from schedopt.solvers.result import Limits

    if kind == CLASSES:
        return _bounded(seed)
    if kind in JUDGED:
        said: str = _tested("judge.verdicts").judged(kind.partition("/")[2], seed)
        return said
    if kind in CONTRACT:
        first, second = (
            solve(drawn(kind, seed), threads=1, time_limit=SECONDS, solver=name)
            for name in (None, "model")
        )
        return _compared(first, second)
    if kind == MANY:
        night = agreeing.many(seed)
        first, second = (
            solve(night, solver=name, threads=1, time_limit=FEW_SECONDS) for name in (None, "scip")
        )
        return _compared(first, second)
    night = agreeing.selection(kind, seed)
    first = solve(night, threads=1, time_limit=SECONDS, solver="highs" if seed % 2 else None)
    record, limits = problem("dssp"), Limits(time_limit=SECONDS, threads=1)
    confirmed = record.confirm(record.formulation()(night), first, limits)
    if confirmed is None:
        return "withheld"
    worth = {job.name: as_written(job.reward) for job in night.jobs}
    return _compared(first, confirmed, worth)


def drawn(kind: str, seed: int) -> Any:
    """Draw a formulation as the contract suite does."""
    draws = _tested(f"contract.{kind.partition('/')[0]}").FORMULATIONS
    return draws[kind](Random(seed))  # noqa: S311


def _tested(module: str) -> Any:
    """Import a module of the tests."""
    if TESTS not in sys.path:
        sys.path.insert(0, TESTS)
    return import_module(module)


def _compared(one: Any, other: Any, worth: dict[str, Fraction] | None = None) -> str:
    """Compare two results: no solution may beat the other's bound, and proven optima are equal.

    `worth` is what each job earns exactly, where optima are to be the same without a tolerance.
    """
    if one.violations or other.violations:
        return f"violations: {one.violations or other.violations}"
    if one.termination == other.termination == "infeasible":
        return "infeasible"
    for first, second in ((one, other), (other, one)):
        if first.termination == "infeasible" and second.solution is not None:
            return f"{first.solver} says infeasible, {second.solver} has {second.objective}"
        if first.bound is not None and second.objective is not None:
            beyond = second.objective - first.bound
            beyond = -beyond if one.sense == "minimize" else beyond
            if beyond > NEAR * max(1.0, abs(first.bound)):
                return f"{second.solver} has {second.objective}, {first.solver} bound {first.bound}"
    if not (one.proven and other.proven):
        return "withheld"
    return "agreed" if _same(one, other, worth) else f"{one.objective} {other.objective}"


def _same(one: Any, other: Any, worth: dict[str, Fraction] | None) -> bool:
    """Tell whether two optima are the same."""
    if worth:
        values = (sum(map(worth.__getitem__, each.solution.selected)) for each in (one, other))
        return next(values) == next(values)
    scale = max(abs(one.objective), abs(other.objective))
    return bool(abs(one.objective - other.objective) <= NEAR * scale)


def _bounded(seed: int) -> str:
    """Hold the bound of a one-or-all queue below what policies are simulated to get."""
    from schedopt import evaluate, solve

    draw = np.random.default_rng(seed)
    servers, load = int(draw.integers(2, 9)), float(draw.uniform(0.2, 0.8))
    parts = draw.dirichlet(np.ones(2)) * load * servers
    classes = tuple(
        JobClass(need=need, service_rate=1.0, arrival_rate=max(1e-3, part / need))
        for need, part in zip((1, servers), parts.tolist(), strict=True)
    )
    queue = Instance(name=f"classes-{seed}", servers=servers, classes=classes)
    result = solve(queue, formulation="optimal-policy", threads=1, time_limit=FEW_SECONDS / 20)
    if result.bound is None:
        return "withheld"
    for found in evaluate(queue, BLIND, options={"arrivals": 200_000}, seed=seed):
        if found.objective is None or not isinstance(found.confidence, float):
            continue  # too short a run to say anything
        if found.objective + 3 * found.confidence < result.bound * (1 - NEAR):
            return f"{found.policy} gets {found.objective}, below the bound {result.bound}"
    return "agreed"


def part(kind: str, start: int, count: int = PART) -> dict[str, Any]:
    """Count the verdicts on some instances of a kind; disagreements come with their seeds."""
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    quarrels = []
    for seed in range(start, start + count):
        try:
            said = verdict(kind, seed)
        except Exception as error:  # noqa: BLE001  whatever it is, it is the finding
            said = f"{type(error).__name__}: {error}"
        known = said in WORDS[:-1]
        counts[said if known else WORDS[-1]] += 1
        quarrels += [] if known else [[seed, said[:300]]]
    return {"kind": kind, "start": start, "count": count, **counts, "quarrels": quarrels}


def todo(total: int, begins: str = "") -> Iterator[tuple[str, int]]:
    """Yield parts, one of each kind in turn, of the kinds that begin so."""
    made, turn = 0, 0
    while made < total:
        for kind in (kind for kind in KINDS if kind.startswith(begins)):
            if turn % RARE.get(kind, 1) == 0:
                yield kind, turn // RARE.get(kind, 1) * PART
                made += PART
        turn += 1


@measurement
def agreed(done: Sequence[dict[str, Any]]) -> Measured:
    """Print the counts by kind."""
    yield "two methods"
    for kind in (*KINDS, "all"):
        parts = [part for part in done if kind in (part["kind"], "all")]
        counts = {word: sum(part.get(word, 0) for part in parts) for word in WORDS}
        if parts:
            yield row(kind, sum(part["count"] for part in parts), "instances", **counts)


def told(done: Sequence[dict[str, Any]]) -> int:
    """Print the counts and the disagreements; return how many of these there were."""
    every = agreed(done)[-1]
    for one in done:
        for seed, said in one["quarrels"]:
            out.print(f"{one['kind']} {seed}: {said}", markup=False)
    return int(str(every.beside[WORDS[-1]]))


def _part(of: tuple[str, int]) -> dict[str, Any]:
    return part(*of)


def main() -> None:
    """Run what is left, and print what came of it."""
    total = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    file = Path(sys.argv[2] if len(sys.argv) > 2 else "build/agree.jsonl")
    key = lambda one: (one["kind"], one["start"])  # noqa: E731
    jobs = os.cpu_count() or 1
    begins = sys.argv[3] if len(sys.argv) > 3 else ""
    if not any(kind.startswith(begins) for kind in KINDS):
        sys.exit(f"found {begins!r}; expected the beginning of one of {', '.join(KINDS)}")
    asked = [*todo(total, begins)]
    held = len({key(one) for one in kept(file, dict[str, Any])}.intersection(asked))
    if held:
        out.print(f"{held} of {len(asked)} parts were in {file}: remove it to solve them again")
    done = resumed(file, dict[str, Any], key, asked, _part, jobs=jobs)
    sys.exit(1 if told([done[one] for one in asked]) else 0)


if __name__ == "__main__":
    main()
