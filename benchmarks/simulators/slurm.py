"""A real Slurm with backfilling on small workloads, whose step of time is a minute.

Slurm plans in whole minutes. Each workload has its own partition of nodes with one processor, so
that all workloads run at the same time. Every node is a slurmd on this machine, and jobs sleep.
Needs Debian's packages slurmctld, slurmd, slurm-client and munge.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from math import gcd

from benchmarks.simulators.workloads import Workload, known_starts
from benchmarks.slurm import cluster

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "munged")
MINUTE = 60.0
COUNT = 20  # number of workloads, the shortest ones
PATIENCE = 300.0  # seconds until all nodes are up
TOLERANCE = 30.0  # seconds, half of the smallest step
LAG = 2.0  # approximate seconds between the end of a job and the next start
POLICIES = ("easy", "conservative", "fcfs")
CONF = """
ClusterName=checked
SlurmdSpoolDir={folder}/spool/%n
SlurmdPidFile={folder}/spool/%n.pid
SlurmdLogFile={folder}/spool/%n.log
SchedulerParameters=bf_interval=1,bf_window=43200,sched_interval=1,sched_min_interval=0
SelectType=select/linear
AccountingStorageType=accounting_storage/none
"""


def step(workload: Workload) -> int:
    """Return the greatest common divisor of run times and estimates, which becomes a minute."""
    return reduce(gcd, (time for job in workload.jobs for time in (job.run, job.planned)))


def minutes(workload: Workload) -> float:
    """Return the length of a workload under `easy` in minutes."""
    starts = known_starts(workload, "easy")
    ends = (start + job.run for start, job in zip(starts, workload.jobs, strict=True))
    return max(ends) / step(workload)


def chosen(asked: Sequence[Workload]) -> list[Workload]:
    """Return the machines of the shortest workloads."""
    lengths: dict[str, float] = {}
    for one in asked:
        lengths[one.whole] = max(minutes(one), lengths.get(one.whole, 0.0))
    shortest = sorted(lengths, key=lambda name: lengths[name])[:COUNT]
    return [one for one in asked if one.whole in shortest]


@contextmanager
def running(parts: Sequence[Workload]) -> Iterator[cluster.Cluster]:
    """Run a Slurm with a partition for each workload; it is stopped at the end."""
    partitions = [
        [f"w{number}n{node}" for node in range(workload.servers)]
        for number, workload in enumerate(parts)
    ]
    nodes = [node for partition in partitions for node in partition]

    def files(values: dict[str, object]) -> dict[str, str]:
        lines = [
            f"NodeName={node} NodeHostname={values['host']} NodeAddr=127.0.0.1 Port={port} CPUs=1 "
            "State=UNKNOWN"
            for node, port in zip(nodes, cluster.free_ports(len(nodes)), strict=True)
        ]
        lines += [
            f"PartitionName=w{number} Nodes={','.join(own)} MaxTime=INFINITE State=UP"
            for number, own in enumerate(partitions)
        ]
        conf = (cluster.SHARED_CONF + CONF).lstrip().format(**values)
        return {"slurm.conf": "\n".join([conf, *lines, ""])}

    def start(slurm: cluster.Cluster) -> None:
        cluster.start_controller(slurm)
        for node in nodes:
            slurm.start("slurmd", "-D", "-N", node)
        state = ("sinfo", "--noheader", "--Node", "--format=%T")
        idle = ["idle"] * len(nodes)
        slurm.wait_for("node", lambda: slurm.run(*state).split() == idle, PATIENCE)

    with cluster.running(len(nodes), files, start, SLURM_TIME_FORMAT="%s") as slurm:
        yield slurm


def play(parts: Sequence[Workload]) -> list[dict[int, float]]:
    """Return the starts of the jobs of each workload under Slurm, in seconds."""
    order = sorted(
        (job.submit * MINUTE / step(workload), number, row)
        for number, workload in enumerate(parts)
        for row, job in enumerate(workload.jobs)
    )
    longest = max(map(minutes, parts))
    with running(parts) as slurm:
        (slurm.folder / "job.sh").write_text('#!/bin/sh\nexec sleep "$1"\n')
        begun = time.time()
        for due, number, row in order:
            time.sleep(max(0.0, begun + due - time.time()))
            job, unit = parts[number].jobs[row], step(parts[number])
            slurm.run(
                "sbatch", "--parsable", f"--partition=w{number}", f"--job-name=w{number}-{row}",
                f"--nodes={job.need}", f"--time={job.planned // unit}", "--output=/dev/null",
                "job.sh", f"{job.run // unit * MINUTE - LAG:g}",
            )  # fmt: skip
        end = begun + (2 * longest + 5) * MINUTE
        while slurm.run("squeue", "--noheader") and time.time() < end:
            time.sleep(5)
        return _starts(slurm, begun, len(parts))


def _starts(slurm: cluster.Cluster, begun: float, count: int) -> list[dict[int, float]]:
    """Return the starts of the jobs that have started."""
    found: list[dict[int, float]] = [{} for _ in range(count)]
    for line in slurm.run(
        "squeue", "--noheader", "--states=completed,timeout,running", "--format=%j|%S"
    ).splitlines():
        name, start = line.split("|")
        number, row = name.removeprefix("w").split("-")
        found[int(number)][int(row)] = float(start) - begun
    return found


def compared(workload: Workload, found: Mapping[int, float]) -> tuple[dict[str, bool], str]:
    """Return which policies agree with all starts, and the first difference to `easy` in words."""
    agrees, first = {}, ""
    for policy in POLICIES:
        known = known_starts(workload, policy)
        due = [start * MINUTE / step(workload) for start in known]
        wrong = [
            (min(start, found.get(row, start + 1e9)), row, start)
            for row, start in enumerate(due)
            if abs(found.get(row, 1e9) - start) > TOLERANCE
        ]
        agrees[policy] = not wrong
        if wrong and policy == "easy":
            _, row, start = min(wrong)
            began = f"{found[row] / MINUTE:.1f}" if row in found else "never"
            first = f"job {row} starts at minute {began}, `easy` has {start / MINUTE:.1f}"
    return agrees, first


def main(asked: Sequence[Workload]) -> None:
    """Run the shortest workloads on a real Slurm, and print a row for each."""
    if programs := cluster.missing(PROGRAMS):
        print(f"- Slurm is not compared: not installed: {', '.join(programs)}")
        return
    parts = chosen(asked)
    found = play(parts)
    print(f"| workload | {' | '.join(f'`{policy}`' for policy in POLICIES)} | first difference |")
    print("| --- " * (len(POLICIES) + 2) + "|")
    totals = dict.fromkeys(POLICIES, 0)
    for workload, starts in zip(parts, found, strict=True):
        agrees, first = compared(workload, starts)
        cells = " | ".join("agrees" if agrees[policy] else "" for policy in POLICIES)
        print(f"| `{workload.name}` | {cells} | {first} |", flush=True)
        for policy in POLICIES:
            totals[policy] += agrees[policy]
    counts = ", ".join(f"{count} `{policy}`" for policy, count in totals.items())
    print(f"\nOf {len(parts)} machines, all starts agree within {TOLERANCE:g} s: {counts}.")
