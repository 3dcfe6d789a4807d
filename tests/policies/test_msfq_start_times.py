"""Start times: a log played on from a moment is the log itself; intervals hold what they say."""

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from builders.cli import refused, run
from builders.effort import examples, tried
from builders.refusals import refusal
from hypothesis import strategies as st

import schedopt
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.logs import Floats, Jobs
from schedopt.policies.msfq.logs import start_times
from schedopt.policies.msfq.logs.registration import replay_log
from schedopt.policies.msfq.logs.start_times import MODELS, Snapshot, moments
from schedopt.policies.registry import registered
from schedopt.verbs.start_times import time_of

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
def test_with_the_run_times_that_were_the_starts_are_those_of_the_log(
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


def test_a_snapshot_does_not_depend_on_what_is_still_to_come() -> None:
    queue = log(200, 6, 3, load=1.2)
    starts = play(queue, "easy")
    (time,) = moments(queue, starts, float(starts.max()), 3)[1:2]
    at = Snapshot(queue, starts, time)
    jobs = queue.jobs
    known = at.ended
    other = jobs.run.copy()
    rest = np.setdiff1d(np.arange(len(jobs)), known)
    other[rest] = np.maximum(other[rest], time - starts[rest] + 1.0) + 7.0
    changed = queue.with_jobs(
        Jobs(jobs.submit, jobs.need, other, np.fmax(jobs.estimate, other), jobs.user)  # type: ignore[arg-type]
    )
    for name, model in MODELS.items():
        one = model(jobs, known)(at.unfinished, at.elapsed, 20, 1)
        estimated = Jobs(jobs.submit, jobs.need, other, jobs.estimate, jobs.user)
        two = model(estimated, known)(at.unfinished, at.elapsed, 20, 1)
        assert np.array_equal(one, two), name
        assert (one > at.elapsed).all(), name
    assert np.array_equal(Snapshot(changed, starts, time).waiting, at.waiting)


@pytest.mark.parametrize("level", [0.6, 0.9])
def test_intervals_hold_as_many_starts_as_said(
    level: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    for drawn in ("SCENARIOS", "PAST_SCENARIOS", "MOMENTS"):
        monkeypatch.setattr(start_times, drawn, examples(getattr(start_times, drawn)))
    queue = log(900, 8, 11, load=0.95)
    starts = play(queue, "easy")
    held, count = 0, 0
    for time in moments(queue, starts, float(starts.max()), 24)[12:]:
        told = schedopt.start_times(queue, time, level=level)
        real = starts[Snapshot(queue, starts, time).waiting]
        assert len(real) == len(told.rows)
        held += sum(row.earliest <= t <= row.latest for row, t in zip(told.rows, real, strict=True))
        count += len(real)
        assert all(time <= row.earliest <= row.median <= row.latest for row in told.rows)
    assert count > 50
    assert level - 0.2 < held / count


def test_on_the_command_line(tmp_path: Path) -> None:
    schedopt.dump(log(120, 4, 5, load=1.5), tmp_path / "log.json")
    file, told = tmp_path / "log.json", tmp_path / "starts.csv"
    rows = json.loads(run("start-times", file, "--at", "300", "--json").stdout)
    assert rows and set(rows[0]) == {"job", "earliest", "median", "latest", "requested"}
    run("start-times", file, "--at", "300", "--policy", "fcfs", "--level", "0.5", "-o", told)
    assert told.read_text().splitlines()[0] == "job,earliest,median,latest,requested"
    assert "0 wait" in run("start-times", file, "--at", "-1").stderr
    plain, start = schedopt.load(file), "2026-03-29T01:00[Europe/Berlin]"
    dated = msgspec.structs.replace(plain, start=start).with_jobs(plain.jobs)
    schedopt.dump(dated, tmp_path / "dated.json")
    for at in ("2026-03-29T01:05", "2026-03-29T00:05Z"):  # 300 s on
        again = run("start-times", tmp_path / "dated.json", "--at", at, "--json").stdout
        assert json.loads(again) == rows
    shown = run("start-times", tmp_path / "dated.json", "--at", "300").stdout
    assert "2026-03-29T01:" in shown and "e+" not in shown
    assert time_of("2026-03-29T03:00", dated) == 3600  # clocks are put forward at 2
    for words, said in (
        (["--at", "noon"], "found 'noon'; expected a number"),
        (["--at", "2026-03-29"], "it has no `start`"),
        (["--at", "3", "--policy", "esay"], "esay"),
        (["--at", "3", "--level", "90"], "between 0 and 1"),
        (["--at", "3", "--model", "none"], "expected a model"),
    ):
        assert said in refused("start-times", file, *words)


def test_classes_have_no_log() -> None:
    queue: Any = schedopt.example("one-or-all")
    assert "an instance of a log" in str(refusal(schedopt.start_times, queue, 1.0))
