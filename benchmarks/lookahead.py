"""Looking ahead: when workflows end under each scheduler, over what a lower bound says.

``python -m benchmarks.lookahead FOLDER``, with WfCommons instances in FOLDER, in the environment of
`make plugin-test`; what is done is kept in build/replays.jsonl, and the run goes on there.
Intervals are of the mean logarithm over workflows: 95%, by Student's t.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.ready_jobs import PLUGIN
from benchmarks.tables import Measured, measurement, row, run

KEPT = Path("build/replays.jsonl")
REAL, MADE_UP = 40, 20
AGAINST = ("greedy 0", "milp 0", "schedopt 0", "rank 0", "rank 0.5", "lookahead 0", "lookahead 0.5")
TOLD = {
    "greedy": "Snakemake's greedy",
    "milp": "Snakemake's MILP",
    "schedopt": "schedopt",
    "rank": "the longest way first (HEFT's rank)",
    "lookahead": "schedopt, looking ahead",
}


def _replayed(folder: str) -> list[dict[str, Any]]:
    """Return what has been replayed, all of it."""
    if not KEPT.exists() or len(KEPT.read_text().splitlines()) < REAL + MADE_UP:
        KEPT.parent.mkdir(exist_ok=True)
        words = (str(PLUGIN), "-m", "benchmarks.replays", folder, str(REAL), str(MADE_UP))
        with KEPT.open("w") as lines:
            subprocess.run(words, stdout=lines, check=True)  # noqa: S603
    return [json.loads(line) for line in KEPT.read_text().splitlines()]


def _mean(ratios: Any) -> tuple[float, str]:
    """Return the geometric mean of some ratios, with an interval."""
    from scipy.stats import t

    logs = np.log(ratios)
    half = t.ppf(0.975, len(logs) - 1) * logs.std(ddof=1) / len(logs) ** 0.5
    low, high = np.exp([logs.mean() - half, logs.mean() + half])
    return float(np.exp(logs.mean())), f"{low:.3f} to {high:.3f}"


@measurement
def lookahead() -> Measured:
    """Replay workflows, and compare when they end."""
    every = _replayed(sys.argv.pop() if len(sys.argv) > 1 else "")
    for kind in ("WfCommons", "made up"):
        flows = [line for line in every if line["kind"] == kind]
        jobs = sum(line["jobs"] for line in flows)
        yield f"{len(flows)} workflows, {kind}, {jobs:,} jobs: when they end, geometric means"
        ends = {name: np.array([line[name] for line in flows]) for name in AGAINST}
        for name, seen in ends.items():
            who, _, error = name.partition(" ")
            off = f", runtimes off by {float(error):g}" if float(error) else ""
            above, _ = _mean(seen / [line["least"] for line in flows])
            ratio, interval = _mean(seen / ends["schedopt 0"])
            yield row(
                TOLD[who] + off,
                above,
                "of the lower bound",
                of_schedopt=f"{ratio:.3f}",
                interval=interval,
                earlier=int((seen < ends["schedopt 0"] * (1 - 1e-9)).sum()),
                later=int((seen > ends["schedopt 0"] * (1 + 1e-9)).sum()),
            )


if __name__ == "__main__":
    run(lookahead)
