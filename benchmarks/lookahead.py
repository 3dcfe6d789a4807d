"""Looking ahead: when workflows end under each scheduler, over what a lower bound says.

``python -m benchmarks.lookahead FOLDER``, with WfCommons instances in FOLDER, in the environment of
`make plugin-test`; what is done is kept in build/replays.jsonl, and the run goes on there.
Means are geometric, over workflows; beside them, how much earlier who looks ahead ends, with an
interval of 95% by Student's t on logarithms. Runtimes that are off are so by a lognormal factor.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.ready_jobs import PLUGIN
from benchmarks.tables import PACKAGES, Measured, measurement, out, row
from benchmarks.timing import machine

KEPT = Path("build/replays.jsonl")
REAL, MADE_UP = 40, 13
NEAR = 1 - 1e-9
TOLD = {
    "greedy 0": "Snakemake's greedy",
    "milp 0": "Snakemake's MILP",
    "schedopt 0": "schedopt",
    "rank 0": "the longest way first (HEFT's rank)",
    "rank 0.5": "the same, runtimes off",
    "lookahead 0": "schedopt, looking ahead",
    "lookahead 0.5": "the same, runtimes off",
}
AHEAD = {"looking ahead": "lookahead 0", "runtimes off": "lookahead 0.5"}


def _replayed(folder: str) -> list[dict[str, Any]]:
    if not KEPT.exists() or len(KEPT.read_text().splitlines()) < REAL + MADE_UP:
        KEPT.parent.mkdir(exist_ok=True)
        numbers = str(REAL), str(MADE_UP)
        words = (str(PLUGIN), "-m", "benchmarks.replays", folder, *numbers, str(KEPT))
        subprocess.run(words, check=True)  # noqa: S603
    return [json.loads(line) for line in KEPT.read_text().splitlines()]


def _mean(ratios: Any) -> tuple[float, str]:
    """Return the geometric mean of some ratios, with an interval."""
    from scipy.stats import t

    logs = np.log(ratios)
    half = t.ppf(0.975, len(logs) - 1) * logs.std(ddof=1) / len(logs) ** 0.5
    low, high = np.exp([logs.mean() - half, logs.mean() + half])
    return float(np.exp(logs.mean())), f"{low:.3f} to {high:.3f}"


@measurement
def lookahead(folder: str) -> Measured:
    """Replay workflows, and compare when they end."""
    every = _replayed(folder)
    for kind in ("WfCommons", "made up"):
        flows = [line for line in every if line["kind"] == kind]
        jobs = sum(line["jobs"] for line in flows)
        yield f"{len(flows)} workflows, {kind}, {jobs:,} jobs: when they end, over the lower bound"
        for name, told in TOLD.items():
            ends = np.array([line[name] for line in flows])
            above, _ = _mean(ends / [line["least"] for line in flows])
            beside: dict[str, Any] = {}
            for heading, ahead in AHEAD.items():
                if not name.startswith("lookahead"):
                    ours = np.array([line[ahead] for line in flows])
                    ratio, interval = _mean(ours / ends)
                    beside[heading] = f"{ratio:.3f} ({interval})"
                    beside[f"{heading}: earlier, later"] = (
                        f"{(ours < ends * NEAR).sum()}, {(ends < ours * NEAR).sum()}"
                    )
            yield row(told, above, **beside)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("give a folder of WfCommons instances")
    out.print(machine(*PACKAGES), highlight=False)
    lookahead(sys.argv[1])
