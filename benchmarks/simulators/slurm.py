"""A real Slurm with backfilling on small workloads, whose step of time is a minute.

Slurm plans in whole minutes. Each workload has its own partition of nodes with one processor, so
that all workloads run at the same time. Every node is a slurmd on this machine, and jobs sleep.
Needs Debian's packages slurmctld, slurmd, slurm-client and munge.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from benchmarks.slurm import cluster
from schedopt.instances.msfq import Instance
from schedopt.policies.msfq.logs.registration import replay_log

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


def in_minutes(queue: Instance) -> Instance:
    """Return a workload in whole minutes, the greatest common divisor of its times."""
    jobs = queue.jobs
    unit = np.gcd.reduce(np.concatenate([jobs.run, jobs.estimate]).astype(int))
    return queue.with_jobs(
        type(jobs).of(jobs.submit / unit, jobs.need, jobs.run / unit, jobs.estimate / unit)
    )


def minutes(queue: Instance) -> float:
    """Return the length of a workload under `easy`."""
    return float((replay_log(queue, "easy", "given") + queue.jobs.run).max())


def shortest(queues: Sequence[Instance]) -> list[Instance]:
    """Return the partitions of the shortest workloads, in minutes."""
    scaled = list(map(in_minutes, queues))
    lengths: dict[str, float] = {}
    for queue in scaled:
        whole = queue.name.partition("/")[0]
        lengths[whole] = max(minutes(queue), lengths.get(whole, 0.0))
    names = sorted(lengths, key=lambda name: lengths[name])[:COUNT]
    return [queue for queue in scaled if queue.name.partition("/")[0] in names]


@contextmanager
def running(parts: Sequence[Instance]) -> Iterator[cluster.Cluster]:
    """Run a Slurm with a partition for each workload; it is stopped at the end."""
    partitions = [
        [f"w{number}n{node}" for node in range(queue.servers)] for number, queue in enumerate(parts)
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

    with cluster.running(files, start, SLURM_TIME_FORMAT="%s") as slurm:
        yield slurm


def simulate(parts: Sequence[Instance]) -> list[dict[int, float]]:
    """Return the starts of the jobs of each workload under Slurm, in seconds."""
    order = sorted(
        (submit * MINUTE, number, row)
        for number, queue in enumerate(parts)
        for row, submit in enumerate(queue.jobs.submit.tolist())
    )
    starts: list[dict[int, float]] = [{} for _ in parts]
    with running(parts) as slurm:
        (slurm.folder / "job.sh").write_text('#!/bin/sh\nexec sleep "$1"\n')
        begun = time.time()
        for due, number, row in order:
            time.sleep(max(0.0, begun + due - time.time()))
            jobs = parts[number].jobs
            slurm.run(
                "sbatch", "--parsable", f"--partition=w{number}", f"--job-name=w{number}-{row}",
                f"--nodes={jobs.need[row]}", f"--time={jobs.estimate[row]:.0f}",
                "--output=/dev/null", "job.sh", f"{jobs.run[row] * MINUTE - LAG:g}",
            )  # fmt: skip
        end = begun + (2 * max(map(minutes, parts)) + 5) * MINUTE
        while slurm.run("squeue", "--noheader") and time.time() < end:
            time.sleep(5)
        states = "--states=completed,timeout,running"
        for line in slurm.run("squeue", "--noheader", states, "--format=%j|%S").splitlines():
            name, start = line.split("|")
            number, row = map(int, name.removeprefix("w").split("-"))
            starts[number][row] = float(start) - begun
    return starts


def compared(queue: Instance, found: Mapping[int, float]) -> tuple[dict[str, bool], str]:
    """Return which policies agree with all starts, and the first difference to `easy` in words."""
    starts: NDArray[np.float64] = np.array(
        [found.get(row, np.inf) for row in range(len(queue.jobs))]
    )
    agrees, first = {}, ""
    for policy in POLICIES:
        due = replay_log(queue, policy, "given") * MINUTE
        wrong = np.abs(starts - due) > TOLERANCE
        agrees[policy] = not wrong.any()
        if wrong.any() and policy == "easy":
            row = int(np.argmin(np.where(wrong, np.minimum(starts, due), np.inf)))
            began = f"{starts[row] / MINUTE:.1f}" if row in found else "never"
            first = f"job {row} starts at minute {began}, `easy` has {due[row] / MINUTE:.1f}"
    return agrees, first


def main(queues: Sequence[Instance]) -> None:
    """Run the shortest workloads on a real Slurm, and print a row for each."""
    if programs := cluster.missing(PROGRAMS):
        print(f"- Slurm is not compared: not installed: {', '.join(programs)}")
        return
    parts = shortest(queues)
    print(f"| workload | {' | '.join(f'`{policy}`' for policy in POLICIES)} | first difference |")
    print("| --- " * (len(POLICIES) + 2) + "|")
    totals = dict.fromkeys(POLICIES, 0)
    for queue, starts in zip(parts, simulate(parts), strict=True):
        agrees, first = compared(queue, starts)
        cells = " | ".join("agrees" if agrees[policy] else "" for policy in POLICIES)
        print(f"| `{queue.name}` | {cells} | {first} |", flush=True)
        for policy in POLICIES:
            totals[policy] += agrees[policy]
    counts = ", ".join(f"{count} `{policy}`" for policy, count in totals.items())
    print(f"\nOf {len(parts)} machines, all starts agree within {TOLERANCE:g} s: {counts}.")
