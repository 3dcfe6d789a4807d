"""Do solvers agree? Random fair-share nights by HiGHS, by others that are here, and from a file.

``python -m benchmarks.engines [COUNT [SOLVER ...]]``: each of so many nights (500), with a cap and
a floor that bind, contradict each other or do neither, is solved by HiGHS and by each other solver
(SCIP, where it is installed), and is written as .mps, which HiGHS then reads and solves alone. Exit
1 where two termination statuses or two optima differ.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import highspy

import schedopt
from benchmarks.rivals import highs
from benchmarks.tables import Measured, all_of, measurement, out
from benchmarks.timing import machine, spent
from schedopt.solvers.mip.named import SOLVERS

JOBS = 25
TEAMS = ("fx", "light", "anim")
FILE = "HiGHS alone, from .mps"
NEAR = 1e-9
"""What the optimum of HiGHS alone may differ by, which is in floating point."""


def fair_night(seed: int, jobs: int = JOBS) -> schedopt.dssp.Instance:
    """Draw jobs of three teams under a cap and a floor."""
    random = Random(seed)  # noqa: S311
    cap = schedopt.FairShare(
        by="team", at_most={random.choice(TEAMS): random.randrange(1, 9) / 10}, name="cap"
    )
    floor = schedopt.FairShare(
        by="team", at_least={random.choice(TEAMS): random.randrange(5) / 10}, name="floor"
    )
    return schedopt.dssp.Instance(
        name=f"fair-{seed}",
        processors=random.randrange(1, 5),
        deadline=10.0,
        constraints=(cap, floor),
        jobs=tuple(
            schedopt.dssp.Job(
                name=f"j{j}",
                reward=random.randrange(30),
                demand=random.randrange(1, 80) / random.choice([1, 2, 10]),
                critical_path=1.0,
                groups={"team": TEAMS[j] if j < len(TEAMS) else random.choice(TEAMS)},
            )
            for j in range(jobs)
        ),
    )


Answer = tuple[str, float | None]
"""How it ended, and the optimum."""


def solved(night: schedopt.dssp.Instance, solver: str) -> Answer:
    """Return what a solver says."""
    result = schedopt.solve(night, solver=solver, threads=1, time_limit=60)
    if result.violations:
        return f"violations: {result.violations}", result.objective
    return result.termination, result.objective


def read_alone(night: schedopt.dssp.Instance, folder: Path) -> Answer:
    """Return what HiGHS says of the written model."""
    path = folder / "night.mps"
    schedopt.write(night, path)
    engine = highs(threads=1)
    engine.readModel(str(path))
    engine.run()
    if engine.getModelStatus() == highspy.HighsModelStatus.kInfeasible:
        return "infeasible", None
    ended = "optimal" if engine.getModelStatus() == highspy.HighsModelStatus.kOptimal else "other"
    return ended, float(engine.getInfo().objective_function_value)


def same(one: Answer, other: Answer) -> bool:
    """Tell whether two answers are one."""
    if one[0] != other[0] or (one[1] is None) != (other[1] is None):
        return False
    if one[1] is None or other[1] is None:
        return True
    return abs(one[1] - other[1]) <= NEAR * max(1.0, abs(one[1]))


@measurement
def engines(count: int, others: Sequence[str]) -> Measured:
    """Print how often each agreed with HiGHS, and with what."""
    ends: dict[str, Counter[str]] = {name: Counter() for name in (*others, FILE)}
    seconds: Counter[str] = Counter()
    quarrels = []
    with TemporaryDirectory() as folder:
        for seed in range(count):
            night = fair_night(seed)
            took, expected = spent(partial(solved, night, "highs"))
            seconds["highs"] += took
            for name, told in ends.items():
                work = partial(solved, night, name)
                if name == FILE:
                    work = partial(read_alone, night, Path(folder))
                took, answer = spent(work)
                seconds[name] += took
                told[expected[0] if same(expected, answer) else "disagreed"] += 1
                if not same(expected, answer):
                    quarrels.append(f"seed {seed}: highs {expected}, {name} {answer}")
    yield f"{JOBS} jobs, a cap and a floor, beside HiGHS ({seconds['highs']:.1f} s)"
    for name, told in ends.items():
        heads = {"same optimum": "optimal", "both infeasible": "infeasible"}
        beside = {head: told[ended] for head, ended in heads.items()}
        agreed = sum(beside.values())
        yield all_of(name, agreed, count, **beside, CPU_s=seconds[name])
    for quarrel in quarrels:
        out.print(quarrel, markup=False)


def main() -> None:
    """Compare those that are here; exit 1 where two differ."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    others = sys.argv[2:] or ["scip"]
    here = [name for name in others if SOLVERS[name].available]
    for name in set(others) - set(here):
        out.print(f"{name} is not here")
    out.print(machine("highspy"), highlight=False)
    sys.exit(0 if all(row.met for row in engines(count, here)) else 1)


if __name__ == "__main__":
    main()
