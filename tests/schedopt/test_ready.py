"""The verb ready, from tables and in Python, and what is kept between calls."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from builders.cli import process, refused, run, started
from builders.ready import KINDS, tying_jobs
from builders.refusals import refusal

import schedopt

CSV = "name,rule,priority,cores,mem_gb\na,x,3,4,10.25\nb,x,3,4,\nc,y,0,2,0.5\nd,y,9,1,99\n"
ASKED = ("--capacity", "cores=6,mem_gb=10.5", "--order", "priority,cores")


def test_ready_prints_the_jobs_that_start(tmp_path: Path) -> None:
    table = tmp_path / "jobs.csv"
    table.write_text(CSV)
    said = run("ready", table, *ASKED)
    assert said.stdout == "b\nc\n"
    assert "2 start: priority 3, cores 6; proven" in said.stderr
    found = json.loads(run("ready", table, *ASKED, "--json").stdout)
    assert (found["start"], found["objectives"], found["proven"]) == (["b", "c"], [3, 6], True)


def test_ready_reads_json_lines_and_loads_no_heavy_module() -> None:
    rows = ['{"name": "a", "priority": 1, "cores": 2}', "", '{"name": "b", "cores": 1}']
    told = started(
        "ready", "-", "--capacity", "cores=3", "--order", "priority,cores", input="\n".join(rows)
    )
    assert told.stdout == "a\nb\n"
    code = "import sys; import schedopt; schedopt.ready; print(*sys.modules)"
    names = process(sys.executable, "-c", code)
    heavy = {"numba", "ortools", "cvxpy", "scipy", "polars", "pyomo", "highspy"}
    assert heavy.isdisjoint(names.stdout.split())


def test_ready_takes_frames_columns_and_rows() -> None:
    import polars as pl

    columns = {"name": ["a", "b"], "p": [1, 2], "cores": [1.5, 1.6]}
    frame = pl.DataFrame(columns)
    for table in (frame, columns, frame.to_dicts(), frame.write_csv().encode()):
        assert schedopt.ready(table, {"cores": 3}, ["p"]).start == ("b",)
        assert schedopt.ready(table, {"cores": 3.1}, ["p"]).start == ("a", "b")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name,cores\na,1\n", "header: found name, cores; expected a column 'p'"),
        ("name,p,cores\na,1,-2\n", "job 'a', cores: found '-2'; expected a number >= 0"),
        ("name,p,cores\na,1,2\na,1,2\n", "column 'name': found 'a' twice; expected each name once"),
        ('{"name": "a", "p": 1,\n', "line 1"),
    ],
)
def test_ready_refuses_bad_input(tmp_path: Path, text: str, words: str) -> None:
    table = tmp_path / "jobs.csv"
    table.write_text(text)
    assert words in refused("ready", table, "--capacity", "cores=3", "--order", "p")


def test_ready_queue_answers_as_a_fresh_call() -> None:
    rng = np.random.default_rng(5)
    queue = schedopt.Ready({"cores": 12, "mem": 30.5}, ["priority", "cores"])
    jobs: dict[str, dict[str, object]] = {}
    for turn in range(12):
        for name in list(jobs)[: int(rng.integers(0, 4))]:
            queue.remove([name])
            del jobs[name]
        more = [
            {
                "name": f"{turn}-{i}",
                "priority": int(rng.integers(0, 4)),
                "cores": int(rng.integers(1, 5)),
                "mem": float(rng.integers(0, 100)) / 10,
            }
            for i in range(3)
        ]
        queue.add(more)
        jobs |= {str(job["name"]): job for job in more}
        fresh = schedopt.ready(list(jobs.values()), queue.capacity, queue.order)
        kept = queue.select()
        assert (kept.objectives, kept.proven) == (fresh.objectives, True)
        assert sum(jobs[name]["cores"] for name in kept.start) == kept.objectives[1]
        assert sum(jobs[name]["mem"] for name in kept.start) <= 30.5 + 1e-9
    assert len(queue) == len(jobs)
    assert "in the queue" in str(refusal(queue.remove, ["nobody"]))
    assert "not in the queue yet" in str(refusal(queue.add, [more[0]]))


def plain_greedy(goals: np.ndarray, uses: np.ndarray, room: np.ndarray) -> tuple[int, ...]:
    """Return what is reached by taking jobs by the objectives, and of equal ones the smallest."""
    left, reached = room.copy(), np.zeros(len(goals), dtype=int)
    for j in np.lexsort((uses[-1], *-goals[::-1])):
        if (uses[:, j] <= left).all():
            left, reached = left - uses[:, j], reached + goals[:, j]
    return tuple(reached.tolist())


@pytest.mark.parametrize("kind", KINDS)
def test_ready_proves_jobs_that_tie(kind: str) -> None:
    count = 5_000
    goals, uses, room = tying_jobs(kind, count, count)
    table = {"name": range(count), "priority": goals[0]}
    table |= {f"r{i}": use for i, use in enumerate(uses)}
    order = ["priority", *(f"r{i}" for i in range(len(goals) - 1))]
    free = {f"r{i}": amount for i, amount in enumerate(room.tolist())}
    found = schedopt.ready(table, free, order)
    assert found.proven
    used = uses[:, [int(name) for name in found.start]].sum(axis=1)
    assert (used <= room).all()
    least = plain_greedy(goals, uses, room)
    assert found.objectives >= least
    without_time = schedopt.ready(table, free, order, time_limit=0)
    assert least <= without_time.objectives <= found.objectives <= without_time.bounds
