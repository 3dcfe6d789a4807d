"""The page of a log: waits, usage and the queue, in hours, beside numbers found by plain loops."""

from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from builders.cli import run
from builders.msfq import queue_of, random_jobs, with_releases

import schedopt
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.logs import Labels
from schedopt.problems.msfq.to_page import (
    bench_sections,
    mean_held,
    usage_table,
)
from schedopt.verbs.bench import bench

START = "2026-10-24T12:00+02:00[Europe/Berlin]"  # clocks are put back the night after
HOUR = 3600.0


def a_log() -> Instance:
    """Return a log of 200 jobs over two days, of three accounts, with recorded starts."""
    drawn, _ = random_jobs(5, 200, 8)
    count = len(drawn)
    codes = np.arange(count, dtype=np.int32) % 4 - 1
    jobs = replace(
        drawn,
        submit=np.floor(drawn.submit * 172_800 / drawn.submit.max()),
        run=np.ceil(drawn.run * 900),
        estimate=None,
        user=None,
        group=Labels(codes, ("fx", "light", "comp")),
    )
    queue = queue_of(jobs, 8)
    starts = schedopt.evaluate(queue, "fcfs").solution.starts
    dated = msgspec.structs.replace(queue, start=START)
    return dated.with_jobs(replace(jobs, start=starts + 60.0))


def test_usage_table_sums_by_account() -> None:
    queue = a_log()
    jobs, starts = queue.jobs, queue.jobs.start
    names = [*jobs.group.names, "unknown"]
    table = usage_table(jobs, {"recorded": starts})
    found = {row[0]: row[1:] for row in table.rows}
    total = sum(n * r for n, r in zip(jobs.need.tolist(), jobs.run.tolist(), strict=True))
    assert set(found) == set(names)
    for name in names:
        rows = [i for i in range(len(jobs)) if names[jobs.group.codes[i]] == name]
        used = sum(jobs.need[i] * jobs.run[i] for i in rows)
        wait = sum(starts[i] - jobs.submit[i] for i in rows) / len(rows)
        expected = (len(rows), used / HOUR, used / total, wait / HOUR)
        assert found[name] == pytest.approx(expected)
    used = [row[2] for row in table.rows]
    assert used == sorted(used, reverse=True)
    assert usage_table(replace(jobs, group=None), {"recorded": starts}) is None


@pytest.mark.parametrize("seed", range(2))
def test_mean_held_is_the_mean_queue_length(seed: int) -> None:
    queue = with_releases(queue_of(*random_jobs(seed)), seed)
    starts = schedopt.evaluate(queue, "easy").solution.starts
    edges = np.linspace(0.0, float(starts.max()) + 1.0, 8)
    found = mean_held(queue.jobs.released, starts, np.ones(len(starts)), edges)
    for low, high, mean in zip(edges, edges[1:], found, strict=False):
        inside = [
            max(0.0, min(high, start) - max(low, come))
            for come, start in zip(queue.jobs.released, starts, strict=True)
        ]
        assert mean == pytest.approx(sum(inside) / (high - low))


def test_page_of_a_log_has_waits_and_gaps(tmp_path: Path) -> None:
    file, page = tmp_path / "log.json", tmp_path / "page.html"
    schedopt.dump(a_log(), file)
    run("bench", file, "--policy", "recorded,easy,saf", "--report", page)
    text = page.read_text()
    for words in ("waits, usage and the queue", "waits in hours", "usage and waits by account"):
        assert words in text
    rows = bench([file], policies=["recorded", "easy"])
    (part,) = bench_sections(str(file), rows)
    assert [row[0] for row in part.tables[0].rows] == ["easy", "recorded"]
    for row in rows:
        assert row.gap == pytest.approx(row.objective / row.reference_bound - 1)
        assert f"no schedule is below {row.reference_bound:,.6g}" in text
    said = run("solve", file, "--report", page).stdout
    result = schedopt.solve(file)
    gap = f"{result.objective / result.bound - 1:.2%} over the bound"
    assert gap in " ".join(said.split()) and gap in page.read_text()
