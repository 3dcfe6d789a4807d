"""Carry out nights on a real Slurm: ``python -m benchmarks.slurm [short | NIGHT...]``.

Prints a row for each night. The exit status is 1 if a planned job was late.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks.slurm import nights
from benchmarks.slurm.cluster import Cluster, StartError, cluster, missing
from benchmarks.slurm.nights import Outcome, carry_out

HEAD = "| night | late | submissions | starting a task took | |\n| --- | --- | --- | --- | --- |"
KEPT = Path("build/slurm")  # folder for plan, records and picture of each night
SHORT = ("random 0", "random 1")  # nights of a minute, for continuous integration


def every_night() -> dict[str, Callable[[Cluster, str], Outcome]]:
    """Return a function for each night, by name, that carries it out."""
    found: dict[str, Callable[[Cluster, str], Outcome]] = {
        "README farm, shorter tasks": lambda slurm, name: carry_out(
            slurm, name, nights.readme_farm(40.0), planning=60.0, factor=nights.shorter(9)
        ),
        "capacity": lambda slurm, name: carry_out(slurm, name, nights.with_fewer_processors()),
        "queued": nights.carry_out_queued,
        "failure": nights.carry_out_with_failure,
    }
    for seed in range(4):
        found[f"random {seed}"] = lambda slurm, name, seed=seed: carry_out(
            slurm, name, nights.random_night(seed), factor=nights.shorter(seed)
        )
    return found


def main(words: list[str]) -> int:
    """Carry out the named nights, the short ones, or all."""
    if programs := missing():
        print(f"benchmarks.slurm: skipped, not installed: {', '.join(programs)}", file=sys.stderr)
        return 0
    if words == ["short"]:
        try:
            return carry_out_nights(SHORT)
        except StartError as error:
            print(f"benchmarks.slurm: skipped, Slurm does not start: {error}", file=sys.stderr)
            return 0
    return carry_out_nights(words or [*every_night()])


def carry_out_nights(names: Iterable[str]) -> int:
    """Carry out nights and print a row for each; return 1 if a job was late."""
    late = 0
    with cluster() as slurm:
        print(f"{slurm.run('sinfo', '--version').strip()}\n\n{HEAD}", flush=True)
        for name in names:
            outcome = every_night()[name](slurm, name)
            print(outcome.line(), flush=True)
            outcome.keep(KEPT)
            late += len(outcome.late)
    return int(late > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
