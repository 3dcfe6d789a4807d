"""The comparison with other simulators, with a small simulator of the tests in their place."""

import sys
from pathlib import Path

import pytest

from benchmarks.simulators import slurm
from benchmarks.simulators.__main__ import ADAPTERS, compare, workloads
from schedopt.policies.msfq.logs.registration import replay_log

FIFO = """
import sys
sys.path.insert(0, {folder!r})
import adapters

def fifo(workload, checkout):
    jobs = workload["jobs"]
    free, waiting = [workload["servers"]], []

    def decide(now, ended, come):
        free[0] += sum(jobs[row]["need"] for row in ended)
        waiting.extend(come)
        started = []
        while waiting and jobs[waiting[0]]["need"] <= free[0]:
            started.append(waiting.pop(0))
            free[0] -= jobs[started[-1]]["need"]
        return started

    return adapters.play(workload, decide)

adapters.ADAPTERS["fifo"] = fifo
adapters.main("fifo", "")
"""
EVERY = list(workloads())
SMALL = [one for one in EVERY if len(one.jobs) <= 8]


@pytest.fixture
def fifo(tmp_path: Path) -> list[str]:
    """The command of a simulator that starts jobs in order of arrival, and never fills."""
    script = tmp_path / "fifo.py"
    script.write_text(FIFO.format(folder=str(ADAPTERS.parent)))
    return [sys.executable, str(script)]


def test_compare_fifo_agrees_with_fcfs_alone(fifo: list[str]) -> None:
    assert compare(fifo, "fifo", "fcfs", EVERY) == ("34 of 34", "")
    agreeing, difference = compare(fifo, "fifo", "easy", SMALL)
    assert int(agreeing.split()[0]) < len(SMALL) and "under easy" in difference


def test_compare_slurm_starts_within_half_a_minute() -> None:
    queue = slurm.in_minutes(SMALL[0])
    late = dict(enumerate(replay_log(queue, "easy", "given") * 60 + 25))
    agrees, first = slurm.compared(queue, late)
    assert (agrees["easy"], agrees["fcfs"], first) == (True, False, "")
    del late[2]
    assert "job 2 starts at minute never" in slurm.compared(queue, late)[1]
