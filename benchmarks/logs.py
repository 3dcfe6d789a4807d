"""Gaps of policies to re-proved bounds on public logs (``make logs``).

Converts the logs in the folder of shared data, if they exist, and evaluates twelve policies on
each. Results are stored in build/logs.jsonl, so that an interrupted run is resumed. Writes the
table of docs/logs.md, and docs/logs.png.
"""

import csv
import gzip
import sys
from collections.abc import Iterator
from datetime import datetime
from itertools import groupby
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

import schedopt
from schedopt.sweep.rows import BenchRow

HERE = Path(__file__).parents[1]
DATA = HERE.parent / "shared" / "data"
BUILD, PAGE = HERE / "build", HERE / "docs" / "logs.md"
ON_PAGE = ("saf", "easy", "fcfs")
"""The policies in the table of the page; its picture has all of them."""
POLICIES = (
    "saf",
    "sjf",
    "f1",
    "wfp3",
    "first-fit",
    "msf",
    "easy-sjbf",
    "easy",
    "conservative",
    "adaptive-quickswap",
    "static-quickswap",
    "fcfs",
)
SWF = {"HPC2N": "hpc2n-2002-part", "NASA": "nasa-ipsc-1993"}
FEW = 100  # jobs up to which a virtual cluster is left out
HOST, LOAD = 8, 0.95
"""GPUs of a host of Philly, and the largest load that is assumed for a virtual cluster."""


def convert_logs() -> Iterator[Path]:
    """Yield an instance for each log that exists."""
    folder = BUILD / "logs"
    folder.mkdir(parents=True, exist_ok=True)
    for name, file in SWF.items():
        if (log := DATA / "swf" / f"{file}.swf.gz").exists():
            yield _kept(folder / f"{name}.json", log, {})
    philly = DATA / "gpu" / "philly.csv.gz"
    if not philly.exists():
        return
    with gzip.open(philly, "rt") as lines:
        rows = sorted(csv.DictReader(lines), key=lambda job: (job["cluster"], job["timestamp"]))
    titles = {"submit": "timestamp", "run": "duration", "need": "num_gpus"}
    for cluster, some in groupby(rows, key=lambda job: job["cluster"]):
        jobs = list(some)
        widest = max(int(job["num_gpus"]) for job in jobs)
        if len(jobs) <= FEW or widest == 1:  # jobs of one GPU each need no packing
            continue
        table = folder / f"{cluster}.csv"
        with table.open("w", newline="") as text:
            written = csv.DictWriter(text, rows[0].keys())
            written.writeheader()
            written.writerows(jobs)
        yield _kept(folder / f"{cluster}.json", table, titles | {"processors": _gpus(jobs, widest)})


def _gpus(jobs: list[dict[str, str]], widest: int) -> int:
    """Return the least number of GPUs in whole hosts for the widest job and a load of `LOAD`."""
    first, *_, last = (datetime.fromisoformat(job["timestamp"]) for job in jobs)
    work = sum(float(job["duration"]) * int(job["num_gpus"]) for job in jobs)
    busy = work / (last - first).total_seconds()
    return HOST * ceil(max(widest, busy / LOAD) / HOST)


def _kept(path: Path, log: Path, options: dict[str, Any]) -> Path:
    """Return the instance file of a log, which is converted at the first call."""
    if not path.exists():
        converted = schedopt.convert(log, name=path.stem, options={"as": "jobs", **options})
        schedopt.dump(converted, path)
    return path


def gap_of(one: BenchRow) -> str:
    """Return the gap of a row as text."""
    if one.gap is None:
        return "–"
    return f"{one.gap:.1%}" if one.gap < 10 else f"{one.gap + 1:,.0f} times"


def table(rows: list[BenchRow]) -> str:
    """Return the table of the page; the smallest gap of all policies is bold."""
    heads = ["log", "jobs", "servers", "load", "bound, s", "best of all settings", *ON_PAGE]
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    for file, some in groupby(rows, key=lambda one: one.file):
        mine = {one.policy: one for one in some}
        first, log = next(iter(mine.values())), schedopt.load(file)
        best = min(one.gap for one in mine.values() if one.gap is not None)
        bound = f"{first.reference_bound:,.4g}" if first.reference_bound else "–"
        any_policy = (first.reference or 0.0) / (first.reference_bound or 1.0) - 1.0
        cells = [first.instance, f"{len(log.jobs):,}", f"{log.servers:,}", f"{log.load:.2f}"]
        cells += [bound if first.bound_checked else f"{bound} (believed)", f"{any_policy:.1%}"]
        for name in ON_PAGE:
            gap = gap_of(mine[name])
            cells.append(f"**{gap}**" if mine[name].gap == best else gap)
        lines.append(cells)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def draw(rows: list[BenchRow]) -> None:
    """Draw the gap of each policy on each log as a colour map."""
    import matplotlib.pyplot as plt
    from matplotlib.colors import LogNorm

    gap = {(one.instance, one.policy): one.gap for one in rows}
    names = list(dict.fromkeys(one.instance for one in rows))
    cells = np.array([[gap.get((log, name)) or np.nan for name in POLICIES] for log in names])
    figure, axes = plt.subplots(figsize=(9.5, 0.42 * len(names) + 1.6), layout="constrained")
    image = axes.imshow(cells, norm=LogNorm(0.01, 10, clip=True), cmap="cividis_r", aspect="auto")
    axes.set_xticks(range(len(POLICIES)), POLICIES, rotation=35, ha="right")
    axes.set_yticks(range(len(names)), names)
    middle = {"ha": "center", "va": "center", "fontsize": 7}
    for (i, j), value in np.ndenumerate(cells):
        if np.isfinite(value):
            text = f"{value:.0%}" if value < 9.995 else f"{value + 1:,.0f}×"
            axes.text(j, i, text, color="white" if value > 0.6 else "black", **middle)
    figure.colorbar(image, label="over the bound", format=lambda v, _: f"{v:.0%}")
    figure.savefig(PAGE.with_suffix(".png"), dpi=90, pil_kwargs={"optimize": True})


def main() -> None:
    """Write the page and its picture."""
    paths = list(convert_logs())
    if not paths:
        sys.exit(f"no logs in {DATA}")
    rows = schedopt.bench(paths, policies=POLICIES, certificate=True, output=BUILD / "logs.jsonl")
    text = PAGE.read_text(encoding="utf-8")
    begin, end = text.index("| log | jobs"), text.index("\n\nWritten by")
    PAGE.write_text(text[:begin] + table(rows) + text[end:], encoding="utf-8")
    draw(rows)


if __name__ == "__main__":
    main()
