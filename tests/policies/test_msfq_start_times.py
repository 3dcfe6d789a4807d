"""Starts: intervals hold what they say, and starts of others are checked against a policy."""

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from builders.cli import refused, run
from builders.effort import examples, tried
from builders.msfq import queue_of, random_jobs, random_parts, with_releases
from hypothesis import strategies as st

import schedopt
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.logs import Floats, Jobs
from schedopt.instances.tables import as_csv
from schedopt.instances.times import Dates
from schedopt.policies.msfq.logs import start_check, start_times
from schedopt.policies.msfq.logs.registration import LOG_POLICIES, replay_log
from schedopt.policies.msfq.logs.start_times import Snapshot, moments
from schedopt.policies.registry import registered
from schedopt.verbs.starts import time_of

registered("msfq")


def log(jobs: int, servers: int, seed: int, *, load: float = 1.0) -> Instance:
    draw = np.random.default_rng(seed)
    need = draw.integers(1, servers + 1, jobs)
    user = draw.integers(0, 4, jobs)
    run = np.ceil(draw.exponential(20.0 * (1 + user)))
    gap = draw.exponential(float((need * run).mean()) / servers / load, jobs)
    submit = np.floor(np.cumsum(gap))
    asked = np.ceil(run * draw.choice([1.0, 1.5, 4.0], jobs))
    made = Jobs.of(submit, need, run, asked, user=[f"u{who}" for who in user.tolist()])
    return Instance(name="log", servers=servers, log="log.csv").with_jobs(made)


def play(queue: Instance, policy: str) -> Floats:
    return replay_log(queue, policy, "given" if queue.jobs.estimated else "exact")


@tried(
    60,
    st.sampled_from(["fcfs", "easy", "easy-sjbf", "first-fit", "sjf", "saf"]),
    st.integers(0, 10**6),
    st.integers(1, 8),
    st.floats(0, 1),
)
def test_snapshot_with_true_run_times_gives_the_starts_of_the_log(
    policy: str, seed: int, servers: int, part: float
) -> None:
    queue = log(30, servers, seed, load=3.0)
    jobs, starts = queue.jobs, play(queue, policy)
    last = float(jobs.submit[-1])  # later arrivals would change what a policy does
    at = Snapshot(queue, starts, np.floor(last + part * (float(starts.max()) - last)))
    if not len(at.waiting):
        return
    onward = play(at.remaining_log(jobs.run[at.unfinished], estimated=True), policy)
    assert np.array_equal(onward[-len(at.waiting) :], starts[at.waiting])


def test_start_times_intervals_cover_their_level() -> None:
    level = 0.8
    params = start_times.PredictionParams(
        scenarios=examples(200), past_scenarios=examples(40), moments=examples(40)
    )
    queue = log(900, 8, 11, load=0.95)
    starts = play(queue, "easy")
    held, count = 0, 0
    for time in moments(queue, starts, float(starts.max()), 24)[12:]:
        at = Snapshot(queue, starts, time)
        found = start_times.start_times(
            at, lambda log: play(log, "easy"), level=level, params=params
        )
        real = starts[at.waiting]
        ordered = np.array([np.full(len(real), time), found.earliest, found.median, found.latest])
        assert (np.diff(ordered, axis=0) >= 0).all()
        held += int(((found.earliest <= real) & (real <= found.latest)).sum())
        count += len(real)
    assert count > 50
    assert level - 0.2 < held / count


def test_start_times_on_the_command_line(tmp_path: Path) -> None:
    file, told = tmp_path / "log.json", tmp_path / "starts.csv"
    plain, start = log(120, 4, 5, load=1.5), "2026-03-29T01:00[Europe/Berlin]"
    dated = msgspec.structs.replace(plain, start=start).with_jobs(plain.jobs)
    schedopt.dump(dated, file)
    rows = json.loads(run("start-times", file, "--at", "300", "--json").stdout)
    assert rows and set(rows[0]) == {"job", "earliest", "median", "latest", "requested"}
    asked = ("--at", "2026-03-29T01:05", "--json", "--job", rows[1]["job"])  # 300 s on
    assert json.loads(run("start-times", file, *asked).stdout) == rows[1:2]
    run("start-times", file, "--at", "300", "--policy", "fcfs", "--level", "0.5", "-o", told)
    assert told.read_text().splitlines()[0] == "job,earliest,median,latest,requested"
    assert "0 jobs wait" in run("start-times", file, "--at", int(plain.jobs.submit[0])).stderr
    assert "2026-03-29T01:" in run("start-times", file, "--at", "300").stdout
    assert time_of("2026-03-29T03:00", Dates.of(start)) == 3600  # clocks are put forward at 2
    for words, said in (
        (["--at", "noon"], "--at: found 'noon'; expected now, a number"),
        (["--at", "300", "--job", "x"], "--job: found 'x'; expected a job that waits (one of '"),
        (["--at", "3", "--level", "90"], "between 0 and 1"),
    ):
        assert said in refused("start-times", file, *words)


NOW = """JobID|User|Account|Partition|Submit|Start|ElapsedRaw|AllocCPUS|ReqCPUS|Timelimit|State
1|ada|phys|batch|2026-11-28T08:00:00|2026-11-28T08:00:00|3600|8|8|04:00:00|RUNNING
2|ben|phys|batch|2026-11-28T08:30:00|Unknown|0|0|8|02:00:00|PENDING
3|cleo|chem|batch|2026-11-28T08:45:00|Unknown|0|0|4|01:00:00|PENDING
"""


def test_start_times_of_an_export_without_a_past_have_no_intervals(tmp_path: Path) -> None:
    export = table(tmp_path / "sacct.txt", NOW)
    asked = ("start-times", export, "--at", "now", "--servers", "8")
    rows = json.loads(run(*asked, "--json").stdout)
    assert {row["earliest"] for row in rows} == {row["latest"] for row in rows} == {None}
    assert [(row["job"], row["requested"]) for row in rows] == [
        ("2", "2026-11-28T12:00"),  # job 1 ends then by its limit, and job 2 at 14:00
        ("3", "2026-11-28T14:00"),
    ]
    shown = run(*asked, "--job", "3")
    assert "2026-11-28T14:00" in shown.stdout and "earliest" not in shown.stdout
    assert (
        "2 jobs wait at 2026-11-28T09:00; no intervals, which need 100 earlier starts"
        in shown.stderr
    )
    for words, said in (
        (("2026-11-28T09:01",), "to 2026-11-28T09:00:00, when it was written"),
        (("now", "--job", "1"), "--job: found '1'; expected a job that waits (one of '2', '3')"),
    ):
        assert said in refused("start-times", export, "--servers", "8", "--at", *words)
    assert "--servers" in refused("start-times", export, "--at", "now")


JOBS = Jobs.of([0, 0, 1, 2, 2], [2, 3, 1, 4, 1], [10, 4, 8, 3, 20], [10, 4, 10, 3, 20])
RIGHT = {  # four servers, worked out by hand
    "fcfs": [0, 10, 10, 18, 21],
    "easy": [0, 10, 1, 29, 9],
    "conservative": [0, 10, 1, 14, 17],
    "saf": [12, 0, 1, 9, 12],
}
SAID = [  # policy, starts by job that are not its own, and what is said of the first in time
    ("easy", {1: 12}, "job 1 starts at 12, and should at 10 under easy: at 10 it needs 3 of 4"),
    ("easy", {4: 10}, "at 9 it needs 1 of 4 processors, and 2 are free; it ends by 29, after the"),
    ("easy", {2: 9}, "at 1 it needs 1 of 4 processors, and 2 are free; it ends by 11, after the "),
    ("easy", {4: 2}, "at 2 job 1 has a reservation at 10, and this one would end at 22: it needs"),
    ("saf", {0: 4}, "at 4 job 3 is before it in line and does not fit: it needs 4 of 4 proc"),
    ("easy", {4: 0}, "at 0 it is submitted at 2"),
    ("easy", {4: 5}, "at 5 no job is released, ends, or is due at 5"),
    ("conservative", {3: 20}, "at 14 its reservation is due"),
    ("conservative", {4: 9}, "at 9 its reservation is at 17, the earliest that delays none"),
]


@pytest.fixture
def small_log(tmp_path: Path) -> Path:
    """A log with names, beside the file of its instance."""
    schedopt.dump(queue_of(JOBS, 4), tmp_path / "log.json")
    return tmp_path / "log.json"


def table(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize(("policy", "wrong", "said"), SAID)
def test_check_starts_explains_a_wrong_start(
    policy: str, wrong: dict[int, float], said: str, small_log: Path
) -> None:
    right = dict(enumerate(RIGHT[policy]))
    starts = small_log.with_name("starts.csv")
    table(starts, as_csv(("job", "start"), right.items()))
    assert "all 5 jobs start" in run("check-starts", small_log, starts, "--policy", policy).stdout
    table(starts, as_csv(("job", "start"), (right | wrong).items()))
    asked = ("check-starts", small_log, starts, "--policy", policy)
    assert said in run(*asked, status=1).stdout
    found = json.loads(run(*asked, "--json", status=1).stdout)
    assert found["expected"] == right[int(found["job"])]


@pytest.mark.parametrize(
    ("tolerance", "said"),
    [
        ("60s", "all 5 jobs start as they should"),
        ("0", "job 2 starts at 3, and should at 1 under easy"),
    ],
)
def test_check_starts_within_a_tolerance(tolerance: str, said: str, small_log: Path) -> None:
    starts = table(small_log.with_name("starts.csv"), "job,start\n0,0\n1,12\n2,3\n3,29\n4,69\n")
    asked = ("check-starts", small_log, starts, "--tolerance", tolerance)
    assert said in run(*asked, status=0 if "all" in said else 1).stdout


def bad(starts: str, words: tuple[str, ...] = ()) -> tuple[str, tuple[str, ...]]:
    return f"job,start\n{starts}", words


BAD = [
    (
        *bad("0,0\n1,10\n2,1\n3,29"),
        "column 'job'",
        "found 4, without job '4'; expected a start of each",
    ),
    (
        *bad("0,0\n1,10\n2,1\n3,29\n5,9"),
        "line 6, column 'job'",
        "found '5'; expected a job's name, or its row from 0 to 4",
    ),
    ("job,begin\n0,0\n", (), "line 1", "a column 'easy' of starts"),
    (*bad("0,0", ("--policy", "fast")), "", "a policy that replays logs"),
    (*bad("0,0", ("--tolerance", "soon")), "--tolerance", "a time such as 60s or 2m"),
]


@pytest.mark.parametrize(("text", "words", "place", "said"), BAD)
def test_check_starts_refuses_bad_tables(
    text: str, words: tuple[str, ...], place: str, said: str, small_log: Path
) -> None:
    starts = table(small_log.with_name("starts.csv"), text)
    told = refused("check-starts", small_log, starts, *words)
    assert said in told
    assert place in told


@tried(
    60,
    seed=st.integers(0, 2**32 - 1),
    name=st.sampled_from(sorted(LOG_POLICIES)),
    several=st.booleans(),
    releases=st.booleans(),
)
def test_check_starts_finds_one_wrong_start(
    seed: int, name: str, several: bool, releases: bool
) -> None:
    queue: Instance = random_parts(seed, 25) if several else queue_of(*random_jobs(seed, 25))
    queue = with_releases(queue, seed) if releases else queue
    starts, draw = replay_log(queue, name, "given"), np.random.default_rng(seed)
    own: dict[str, Any] = {}
    assert start_check.first_wrong_start(queue, name, starts, "given", own) is None
    job, change = int(draw.integers(len(starts))), float(draw.choice([-1, 1, 0.5, 7, -0.25]))
    starts[job] += change
    found = start_check.first_wrong_start(queue, name, starts, "given", own)
    assert found is not None
    assert found.job == str(job)
    assert found.found - found.expected == pytest.approx(change)
    assert found.why
