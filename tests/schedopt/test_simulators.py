"""The comparison with other simulators, with a small simulator of the tests in their place."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.simulators import slurm
from benchmarks.simulators.__main__ import cases, checked, compare
from benchmarks.simulators.peers import (
    ADAPTERS,
    Installed,
    Peer,
    Scheduler,
)
from benchmarks.simulators.workloads import (
    first_wrong,
    known_starts,
    workloads,
)

FIFO = """
import sys
sys.path.insert(0, {adapters!r})
from protocol import play, serve

def simulate(workload):
    jobs = workload["jobs"]
    if workload["scheduler"] == "broken" and len(jobs) > 5:
        raise ValueError("too many jobs")
    free, waiting = [workload["servers"]], []

    def decide(now, ended, come):
        free[0] += sum(jobs[row]["need"] for row in ended)
        waiting.extend(come)
        started = []
        while waiting and jobs[waiting[0]]["need"] <= free[0]:
            started.append(waiting.pop(0))
            free[0] -= jobs[started[-1]]["need"]
        return started

    return play(workload, decide)

serve(simulate)
"""
SMALL = [one for one in workloads() if len(one.jobs) <= 8]


@pytest.fixture
def fifo(tmp_path: Path) -> Installed:
    """A simulator that starts jobs in order of arrival, and never fills."""
    script = tmp_path / "fifo.py"
    script.write_text(FIFO.format(adapters=str(ADAPTERS)))
    schedulers = (Scheduler("fifo", "fcfs", ("given",)), Scheduler("fifo", "easy"))
    peer = Peer("tiny", "https://example.org/tiny", "1", "none", schedulers)
    return Installed(peer, [sys.executable, str(script)], tmp_path)


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "saf"])
def test_known_starts_agree_with_the_policy(policy: str) -> None:
    for one in SMALL:
        assert first_wrong(one, known_starts(one, policy), policy) is None, one.name


def test_compare_fifo_agrees_with_fcfs(fifo: Installed) -> None:
    every = list(workloads())
    found = compare(fifo, fifo.peer.schedulers[0], "given", every)
    assert found.agreeing == every
    assert found.cell() == "34 of 34"


def test_compare_fifo_with_easy_shows_the_smallest_difference(fifo: Installed) -> None:
    scheduler = fifo.peer.schedulers[1]
    found = compare(fifo, scheduler, "given", SMALL)
    assert "13-one-processor" in {one.name for one in found.agreeing}
    assert len(found.wrong) >= 8
    assert all(wrong.found > wrong.expected for _, wrong in found.wrong)
    lines = cases(fifo, found)
    assert lines
    assert "under easy" in lines[0]


def test_compare_counts_failures_of_the_simulator(fifo: Installed) -> None:
    peer = replace(fifo.peer, schedulers=(Scheduler("broken", "fcfs", ("given",)),))
    few, more = (next(one for one in SMALL if len(one.jobs) == count) for count in (5, 8))
    rows, below = checked(Installed(peer, fifo.command, fifo.folder), [few, more])
    assert "| 1 of 2; 1 fail |" in rows[0]
    assert below == ["- tiny broken, fails on 1: ValueError: too many jobs"]


def test_compare_slurm_starts_within_half_a_minute() -> None:
    workload = SMALL[0]
    known = known_starts(workload, "easy")
    unit = slurm.step(workload)
    late = {row: start * 60 / unit + 25 for row, start in enumerate(known)}
    agrees, first = slurm.compared(workload, late)
    assert agrees["easy"]
    assert first == ""
    assert not agrees["fcfs"]
    agrees, first = slurm.compared(workload, {**late, 4: late[4] + 6})
    assert not agrees["easy"]
    assert first.startswith("job 4 starts at minute ")
    del late[2]
    assert "job 2 starts at minute never" in slurm.compared(workload, late)[1]
