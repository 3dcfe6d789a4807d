"""Replays of workflows under several schedulers, which are asked as Snakemake asks them.

Run in an environment that has Snakemake and the plug-in (`make plugin-test` makes one), as
``python -m benchmarks.replays FOLDER 40 13 FILE``: so many WfCommons instances in FOLDER, and
workflows that are made up. FILE gets a line of JSON for each: when each scheduler ends it.

What the instances do not say is made up: memory of a task is drawn by its kind, cores are what it
kept busy, temporary space is what it writes. The machine has 8 cores, or those of the widest
task, and so much memory and space that three quarters would be in use if all cores were.
"""

import gzip
import heapq
import json
import logging
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

CORES, SCARCE = 8, 0.75
FEWEST = 15  # tasks of the smallest workflow that is run
ERROR = 0.5
"""Standard deviation of the logarithm of what is stated, where runtimes are not known exactly."""


class File(str):
    """A file, temporary if a job of the workflow makes it."""

    __slots__ = ("temp",)
    temp: bool

    def is_flagged(self, flag: str) -> bool:
        """Tell what Snakemake asks."""
        return flag == "temp" and self.temp


class Job:
    """What a scheduler asks of a job, and how long it really takes."""

    priority = 0

    def __init__(self, name: str, seconds: float, uses: dict[str, int]) -> None:
        self.name, self.seconds, self.scheduler_resources = name, seconds, uses
        self.input: list[File] = []
        self.parents: list[Job] = []


class Workflow:
    """Jobs, parents before children; also what Snakemake shows of its graph."""

    def __init__(self, name: str, jobs: list[Job], sizes: dict[File, int]) -> None:
        self.name, self.jobs, self.sizes = name, jobs, sizes
        self.done: set[Job] = set()
        wide = max(job.scheduler_resources["_cores"] for job in jobs)
        self.room = {"_cores": max(CORES, wide)}
        busy = sum(job.seconds * job.scheduler_resources["_cores"] for job in jobs)
        for name_ in ("mem_mb", "disk_mb"):
            used = sum(job.seconds * job.scheduler_resources[name_] for job in jobs)
            most = max(job.scheduler_resources[name_] for job in jobs)
            mean = used / max(busy, 1e-9) * self.room["_cores"]
            self.room[name_] = max(most, ceil(SCARCE * mean))

    def needrun_jobs(self) -> Sequence[Job]:
        """Return all jobs."""
        return self.jobs

    def job_dependencies(self, job: Job) -> Sequence[Job]:
        """Return a job's parents."""
        return job.parents

    def finished(self, job: Job) -> bool:
        """Tell whether a job has ended."""
        return job in self.done

    def state(self, error: float, seed: int = 0) -> None:
        """State runtimes, in minutes; with an error these are off by a factor."""
        rng = np.random.default_rng([seed, zlib.crc32(self.name.encode())])
        for job in self.jobs:
            factor = float(np.exp(error * rng.standard_normal())) if error else 1.0
            job.scheduler_resources["runtime"] = job.seconds / 60 * factor

    def least(self) -> float:
        """Return a time before which no schedule ends: the longest path, or work over room."""
        ends: dict[Job, float] = {}
        for job in self.jobs:
            ends[job] = job.seconds + max((ends[parent] for parent in job.parents), default=0.0)
        work = [
            sum(job.seconds * job.scheduler_resources[name] for job in self.jobs) / amount
            for name, amount in self.room.items()
            if amount
        ]
        return max(*ends.values(), *work)


def replay(flow: Workflow, scheduler: Any) -> tuple[float, int]:
    """Run a workflow; return when it ends, and how often the scheduler was asked."""
    flow.done = set()
    waits = {job: len(job.parents) for job in flow.jobs}
    children: dict[Job, list[Job]] = {job: [] for job in flow.jobs}
    for job in flow.jobs:
        for parent in job.parents:
            children[parent].append(job)
    ready = [job for job in flow.jobs if not waits[job]]
    free, running, clock, asked = dict(flow.room), [], 0.0, 0
    left = dict.fromkeys(flow.jobs)
    while left:
        chosen = []
        if ready:
            asked += 1
            chosen = scheduler.select_jobs(ready, list(left), free, flow.sizes)
            if chosen is None:  # as Snakemake does
                chosen = greedy_of(flow).select_jobs(ready, list(left), free, flow.sizes)
        for job in chosen:
            free = {name: left_ - job.scheduler_resources[name] for name, left_ in free.items()}
            heapq.heappush(running, (clock + job.seconds, flow.jobs.index(job), job))
        taken = set(chosen)
        ready = [job for job in ready if job not in taken]
        if not running or min(free.values()) < 0:
            raise RuntimeError("nothing starts, or more than fits")
        clock = running[0][0]
        while running and running[0][0] <= clock:
            _, _, job = heapq.heappop(running)
            flow.done.add(job)
            del left[job]
            for name in free:
                free[name] += job.scheduler_resources[name]
            for child in children[job]:
                waits[child] -= 1
                if not waits[child]:
                    ready.append(child)
    return clock, asked


class ByRank:
    """List scheduling: the longest way to the end first, of what fits (HEFT's upward rank)."""

    def __init__(self, flow: Workflow) -> None:
        self.rank: dict[Any, float] = {}
        for job in reversed(flow.jobs):
            own = job.scheduler_resources["runtime"] + self.rank.get(job, 0.0)
            self.rank[job] = own
            for parent in job.parents:
                self.rank[parent] = max(self.rank.get(parent, 0.0), own)

    def select_jobs(self, ready: Any, _left: Any, free: Any, _sizes: Any) -> list[Any]:
        """Take what fits, in order of rank."""
        room, chosen = dict(free), []
        for job in sorted(ready, key=self.rank.__getitem__, reverse=True):
            if all(job.scheduler_resources[name] <= room[name] for name in room):
                chosen.append(job)
                for name in room:
                    room[name] -= job.scheduler_resources[name]
        return chosen


def wfcommons(file: Path) -> Workflow:
    """Read an instance of WfCommons, format 1.5."""
    told = json.loads(gzip.decompress(file.read_bytes()))["workflow"]
    sizes = {file["id"]: int(file["sizeInBytes"]) for file in told["specification"]["files"]}
    tasks = {task["id"]: task for task in told["specification"]["tasks"]}
    ran = {task["id"]: task for task in told["execution"]["tasks"]}
    jobs: dict[str, Job] = {}
    made = {file for task in tasks.values() for file in task.get("outputFiles", [])}
    for name in _sorted(tasks):
        task, run = tasks[name], ran[name]
        cores = min(max(ceil(run.get("avgCPU", 100) / 100), 1), 8)
        memory = run.get("memoryInBytes")
        kind = str(task["name"]).rstrip("0123456789_")
        rng = np.random.default_rng(zlib.crc32(kind.encode()))
        drawn = int(rng.choice([500, 1_000, 2_000, 4_000, 8_000, 16_000]))
        outputs = sum(sizes.get(file, 0) for file in task.get("outputFiles", []))
        uses = {
            "_cores": cores,
            "mem_mb": max(ceil(memory / 1e6), 1) if memory else drawn,
            "disk_mb": ceil(outputs / 1e6),
        }
        jobs[name] = job = Job(name, max(float(run["runtimeInSeconds"]), 0.01), uses)
        job.parents = [jobs[parent] for parent in task.get("parents", [])]
        job.input = [_file(file, file in made) for file in task.get("inputFiles", [])]
    return Workflow(file.name.split(".")[0], list(jobs.values()), _known(jobs.values(), sizes))


def _file(name: str, temp: bool) -> File:
    file = File(name)
    file.temp = temp
    return file


def _known(jobs: Any, sizes: dict[str, int]) -> dict[File, int]:
    return {file: sizes.get(file, 0) for job in jobs for file in job.input}


def _sorted(tasks: dict[str, Any]) -> Iterator[str]:
    """Yield parents before children."""
    waits = {name: len(task.get("parents", [])) for name, task in tasks.items()}
    free = [name for name, count in waits.items() if not count]
    for name in free:
        yield name
        for child in tasks[name].get("children", []):
            waits[child] -= 1
            if not waits[child]:
                free.append(child)


def made_up(seed: int) -> Workflow:
    """Return a workflow as Snakemake has them: a chain of rules for each sample, then summaries.

    Samples differ in size; a rule has cores and memory of its own, and a time in proportion to the
    sample, by a lognormal factor. Some rules are run for each of some parts of a sample, or of all.
    """
    rng = np.random.default_rng([17, seed])
    samples, depth = int(rng.integers(6, 40)), int(rng.integers(3, 8))
    size = rng.lognormal(0, 0.8, samples)
    jobs: list[Job] = []
    last: list[list[Job]] = [[] for _ in range(samples)]
    sizes: dict[str, int] = {}

    def job(rule: str, seconds: float, uses: dict[str, int], parents: list[Job]) -> Job:
        one = Job(f"{rule}-{len(jobs)}", max(seconds, 1.0), dict(uses))
        one.parents = parents
        one.input = [_file(parent.name, True) for parent in parents]
        sizes[one.name] = uses["disk_mb"] * 10**6
        jobs.append(one)
        return one

    for level in range(depth):
        uses = {
            "_cores": int(rng.choice([1, 1, 1, 2, 4, 8])),
            "mem_mb": int(rng.choice([500, 1_000, 2_000, 4_000, 8_000, 16_000])),
            "disk_mb": int(rng.choice([1, 100, 1_000, 5_000])),
        }
        mean = rng.lognormal(4.5, 1.2)
        parts = int(rng.choice([1, 1, 1, 3, 5]))
        together = rng.random() < 0.15
        if together:
            every = [parent for parents in last for parent in parents]
            one = job(f"all{level}", mean * samples / 3, uses, every)
            last = [[one] for _ in range(samples)]
            continue
        for s in range(samples):
            last[s] = [
                job(f"rule{level}", mean * size[s] * rng.lognormal(0, 0.3), uses, last[s])
                for _ in range(parts)
            ]
    job("total", 10.0, {"_cores": 1, "mem_mb": 500, "disk_mb": 1}, [p for ps in last for p in ps])
    return Workflow(f"made up {seed}", jobs, _known(jobs, sizes))


def greedy_of(flow: Workflow) -> Any:
    """Return Snakemake's greedy scheduler."""
    from snakemake.scheduling import greedy

    return greedy.Scheduler(flow, greedy.SchedulerSettings(), logging.getLogger("greedy"))


def schedulers(flow: Workflow) -> dict[str, Callable[[], Any]]:
    """Return who is asked, by name."""
    import snakemake_scheduler_plugin_schedopt as ours
    from snakemake.scheduling import milp

    def own(*, lookahead: bool) -> Any:
        settings = ours.SchedulerSettings(lookahead=lookahead)
        return ours.Scheduler(flow, settings, logging.getLogger("ours"))

    return {
        "greedy": lambda: greedy_of(flow),
        "milp": lambda: milp.Scheduler(flow, milp.SchedulerSettings(), logging.getLogger("milp")),
        "rank": lambda: ByRank(flow),
        "schedopt": lambda: own(lookahead=False),
        "lookahead": lambda: own(lookahead=True),
    }


def main(folder: Path, count: int, more: int, kept: Path) -> None:
    """Replay WfCommons instances, then workflows that are made up, but for those that are done."""
    real = [wfcommons(file) for file in sorted(folder.glob("*.json.gz"))]
    real = [flow for flow in real if len(flow.jobs) >= FEWEST][:count]
    lines = kept.read_text().splitlines() if kept.exists() else []
    done = {json.loads(line)["name"] for line in lines}
    for kind, flows in (("WfCommons", real), ("made up", map(made_up, range(more)))):
        for flow in flows:
            if flow.name in done:
                continue
            line: dict[str, Any] = {"kind": kind, "name": flow.name, "jobs": len(flow.jobs)}
            line["least"] = flow.least()
            for error in (0.0, ERROR):
                flow.state(error)
                for name, make in schedulers(flow).items():
                    if not error or name in ("rank", "lookahead"):  # the others do not read them
                        line[f"{name} {error:g}"] = replay(flow, make())[0]
            with kept.open("a") as out:
                out.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
