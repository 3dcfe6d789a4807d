"""Do two methods agree? Random instances of every kind of side constraint, solved twice each.

``python -m benchmarks.agree [COUNT [FILE]]``: so many instances in all, in parts that are written
to a file (build/agree.jsonl) as they are done; run again, it goes on where it stopped, and says how
much was there. Other parts of the file are not counted. Exit 1 if any two methods disagree.

Every other selection goes through HiGHS first, however small it is. Of the kind ``solvers`` are
nights with a cap and a floor that bind, contradict each other or do neither: solved by HiGHS, by
SCIP where it is installed, and by HiGHS alone from a written .mps. Other formulations are drawn and
solved as the contract suite does; the kinds of `benchmarks.attacked` are held against SCIP, brute
force and policies.
"""

import os
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import agreeing, attacked
from benchmarks.tables import Measured, kept, measurement, out, resumed, row
from schedopt.instances.decimals import as_written

TESTS = str(Path(__file__).parent.parent / "tests")
PART = 50  # instances between two lines of the file
CONTRACT = {
    "epoch/partition": 50,
    "epoch/rectangles": 50,
    "hesrpt/allocation": 50,
    "msfq/threshold": 10,
    "dssp/schedule": 50,
    "dssp/season": 50,
    "msfq/window": 50,
}
"""What tests/contract draws, solved as its suite does: by the table, and as declared."""
RARE = {**CONTRACT, **dict.fromkeys(attacked.SORTS, 50)}
"""Kinds that take long: one part of theirs to so many of another."""
NEAR = 1e-6  # what optima in floating point may differ by
SECONDS = 60.0  # what either method may take; what is not proven by then is withheld
WORDS = ("agreed", "infeasible", "withheld", "disagreed")
KINDS = ("none", *agreeing.RULES, "windows", "solvers", *RARE)


def verdict(kind: str, seed: int) -> str:
    """Solve an instance by two methods; return one of `WORDS`, or how they disagree."""
    from schedopt import solve
    from schedopt.problems import problem, problem_of
    from schedopt.solvers.result import Limits

    if kind in CONTRACT:
        model: Any = drawn(kind, seed)
        instance = model.instance
        first, second = (
            solve(drawn(kind, seed), threads=1, time_limit=SECONDS, solver=name)
            for name in (None, "model")
        )
    else:
        instance = agreeing.selection(kind, seed)
        asked = "highs" if seed % 2 else None
        first = solve(instance, threads=1, time_limit=SECONDS, solver=asked)
        record = problem(problem_of(instance).name)
        model = record.formulation()(instance)
        confirmed = record.confirm(model, first, Limits(time_limit=SECONDS, threads=1))
        if confirmed is None:
            return "withheld"
        second = confirmed
    if first.violations or second.violations:
        return f"violations: {first.violations or second.violations}"
    if first.termination == second.termination == "infeasible":
        return "infeasible"
    if "infeasible" in (first.termination, second.termination):
        sure = first.proven or first.termination == "infeasible"
        also = second.proven or second.termination == "infeasible"
        return "one is infeasible" if sure and also else "withheld"
    if not first.proven or not second.proven:
        return "withheld"
    return "agreed" if _same(instance, first, second) else f"{first.objective} {second.objective}"


def drawn(kind: str, seed: int) -> Any:
    """Draw a formulation as the contract suite does."""
    from importlib import import_module

    if TESTS not in sys.path:
        sys.path.insert(0, TESTS)
    draws = import_module(f"contract.{kind.partition('/')[0]}").FORMULATIONS
    return draws[kind](Random(seed))  # noqa: S311


def by_solvers(seed: int) -> str:
    """Solve a night by several solvers, and from a file."""
    from schedopt import solve
    from schedopt.solvers.mip.named import SOLVERS

    night = agreeing.fair_night(seed)
    names = [name for name in ("highs", "scip") if SOLVERS[name].available]
    results = [solve(night, solver=name, threads=1, time_limit=SECONDS) for name in names]
    for name, result in zip(names, results, strict=True):
        if result.violations:
            return f"{name}, violations: {result.violations}"
    answers = [(result.termination, result.objective) for result in results]
    answers.append(_read_alone(night))
    ends = {ended for ended, _ in answers}
    values = [value for _, value in answers if value is not None]
    apart = max(values) - min(values) if values else 0.0
    if len(ends) > 1 or apart > 1e-9 * max([1.0, *map(abs, values)]):
        return f"{', '.join(names)}, HiGHS alone: {answers}"
    return {"optimal": "agreed", "infeasible": "infeasible"}.get(ends.pop(), "withheld")


def _read_alone(night: Any) -> tuple[str, float | None]:
    """Return what HiGHS says of the written model."""
    import highspy

    from benchmarks.rivals import highs
    from schedopt import write

    with TemporaryDirectory() as folder:
        path = Path(folder) / "night.mps"
        write(night, path)
        engine = highs(threads=1)
        engine.readModel(str(path))
        engine.run()
    if engine.getModelStatus() == highspy.HighsModelStatus.kInfeasible:
        return "infeasible", None
    ended = "optimal" if engine.getModelStatus() == highspy.HighsModelStatus.kOptimal else "other"
    return ended, float(engine.getInfo().objective_function_value)


def _same(instance: Any, first: Any, second: Any) -> bool:
    """Tell whether two optima are the same: of selections exactly."""
    if hasattr(first.solution, "selected"):
        reward = {job.name: as_written(job.reward) for job in instance.jobs}
        sums = [
            sum((reward[name] for name in found.solution.selected), Fraction(0))
            for found in (first, second)
        ]
        return sums[0] == sums[1]
    scale = max(abs(first.objective), abs(second.objective))
    return bool(abs(first.objective - second.objective) <= NEAR * scale)


def part(kind: str, start: int, count: int = PART) -> dict[str, Any]:
    """Count the verdicts on some instances of a kind; disagreements come with their seeds."""
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    quarrels = []
    for seed in range(start, start + count):
        try:
            if kind in attacked.SORTS:
                said = attacked.SORTS[kind](seed)
            else:
                said = by_solvers(seed) if kind == "solvers" else verdict(kind, seed)
        except Exception as error:  # noqa: BLE001  whatever it is, it is the finding
            said = f"{type(error).__name__}: {error}"
        known = said in WORDS[:-1]
        counts[said if known else WORDS[-1]] += 1
        quarrels += [] if known else [[seed, said[:300]]]
    return {"kind": kind, "start": start, "count": count, **counts, "quarrels": quarrels}


def todo(total: int) -> Iterator[tuple[str, int]]:
    """Yield parts, one of each kind in turn."""
    made, turn = 0, 0
    while made < total:
        for kind in KINDS:
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
    asked = [*todo(total)]
    held = len({key(one) for one in kept(file, dict[str, Any])}.intersection(asked))
    if held:
        out.print(f"{held} of {len(asked)} parts were in {file}: remove it to solve them again")
    done = resumed(file, dict[str, Any], key, asked, _part, jobs=jobs)
    sys.exit(1 if told([done[one] for one in asked]) else 0)


if __name__ == "__main__":
    main()
