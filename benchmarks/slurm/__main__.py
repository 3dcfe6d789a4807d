"""Carry out nights on a real Slurm: ``python -m benchmarks.slurm [short]``."""

from __future__ import annotations

import sys

from benchmarks.slurm import nights
from benchmarks.slurm.cluster import cluster, missing

HEAD = "| night | late | submissions | starting a task took | |\n| --- | --- | --- | --- | --- |"


def main(words: list[str]) -> int:
    if programs := missing():
        print(f"benchmarks.slurm: skipped: {', '.join(programs)} cannot be found", file=sys.stderr)
        return 0
    with cluster() as slurm:
        print(HEAD, flush=True)
        outcomes = []
        for outcome in every_night(slurm, words):
            outcomes.append(outcome)
            print(outcome.line(), flush=True)
    return int(any(outcome.late for outcome in outcomes))


def every_night(slurm, words):
    carry = nights.carry_out
    if "readme" in words or not words:
        yield carry(slurm, "README farm", nights.readme_farm(24.0), planning=30.0)
    if "everything" in words or not words:
        yield carry(slurm, "everything", nights.with_everything())
    if "drop" in words or not words:
        yield carry(slurm, "drop", nights.with_reservation())
    for seed in range(8):
        if f"random{seed}" in words or not words:
            yield carry(
                slurm, f"random {seed}", nights.random_night(seed), factor=nights.shorter(seed)
            )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
