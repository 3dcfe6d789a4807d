"""Nights that are carried out on a real Slurm, and their outcomes.

Times are in seconds, and tasks run `sleep` for their planned length without overhead, times a
factor.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random

import schedopt
from benchmarks.slurm.cluster import Cluster
from schedopt.instances.constraints import Seats
from schedopt.instances.dssp import Instance, Job
from schedopt.planning.carried_out import CarriedOut
from schedopt.verbs import report_night as reporting
from schedopt.verbs.plan import NightPlan

RENDER = """#!/bin/sh
exec {python} {folder}/task.py "$1" "$2" "$SLURM_ARRAY_TASK_ID"
"""
TASK = """import json, os, sys, time
key = "/".join(sys.argv[1:])
seconds = json.load(open({lengths!r}))[key]
time.sleep(abs(seconds))
if seconds < 0 and not os.path.exists({folder!r} + "/mended"):
    sys.exit(1)
"""
LEAD = 5.0  # seconds between planning and the start of the night
PATIENCE = 30.0  # seconds to wait for tasks after the end of the night
TOLERANCE = 1.0  # seconds, since Slurm's records have whole seconds
Lengths = dict[str, float]  # seconds that each task sleeps; tasks with negative seconds fail


@dataclass
class Outcome:
    """The outcome of a night."""

    name: str
    plan: NightPlan
    report: CarriedOut
    submissions: int
    script_seconds: float
    folder: Path
    notes: list[str] = field(default_factory=list)

    @property
    def late(self) -> list[str]:
        """The jobs that complete later than the tolerance allows, or never."""
        return [one.job for one in self.report.jobs if one.late is None or one.late > TOLERANCE]

    def line(self) -> str:
        """Return the outcome as a row of a table."""
        mean, longest = self.report.overhead or (0.0, 0.0)
        cells = (
            self.name,
            f"{len(self.late)} of {len(self.report.jobs)}",
            f"{self.submissions} for {len(self.report.planned)} tasks",
            f"{mean:.1f} s, at most {longest:.1f} s",
            "; ".join([*self.notes, *([f"late: {', '.join(self.late)}"] if self.late else [])]),
        )
        return f"| {' | '.join(cells)} |"

    def keep(self, where: Path) -> None:
        """Copy plan, script and records of the night to a folder, and draw its picture."""
        folder = where / self.folder.name
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("plan.json", "night.sh", "sacct.txt", "failed.txt", "change.sh", "new.json"):
            if (self.folder / name).exists():
                shutil.copy(self.folder / name, folder)
        reporting.write(self.report, folder / "night.png")


def carry_out(
    slurm: Cluster,
    name: str,
    night: Instance,
    *,
    overhead: float = 2.0,
    planning: float = 4.0,
    factor: Callable[[], float] = lambda: 1.0,
    during: Callable[[Path, NightPlan], None] | None = None,
    fails: str = "",
) -> Outcome:
    """Plan a night, submit its script, wait for its end, and return the outcome.

    Parameters
    ----------
    slurm : Cluster
    name : str
    night : Instance
        Times are in seconds, without overhead. The start is replaced.
    overhead : float
        Seconds to start a task.
    planning : float
        Time limit of the plan in seconds.
    factor : callable
        Returns the actual run time of a task as a fraction of the planned one.
    during : callable, optional
        Called with the folder and the plan after the script was submitted.
    fails : str, optional
        The task that fails, such as ``name/1/2``.
    """
    from msgspec.structs import replace

    begin = datetime.now(UTC) + timedelta(seconds=planning + LEAD)
    start = begin.replace(microsecond=0).isoformat()
    whole = replace(night, start=start).with_overhead(overhead)
    plan = schedopt.plan(whole, time_limit=planning)
    folder = slurm.folder / name.replace(" ", "-")
    folder.mkdir()
    lengths = {
        f"{job.name}/{s}/{i}": length * factor()
        for job in night.jobs
        for s, stage in enumerate(job.stages or (), start=1)
        for i, length in enumerate(stage, start=1)
    }
    if fails:
        lengths[fails] = -lengths[fails]
    write_tasks(folder, lengths)
    began = time.perf_counter()
    plan.write(folder / "night.sh", "slurm")
    script_seconds = time.perf_counter() - began
    plan.write(folder / "plan.json")
    (folder / "account.sh").write_text(slurm.run("sh", "night.sh", cwd=folder))
    spare = (begin - datetime.now(UTC)).total_seconds()
    if during is not None:
        during(folder, plan)
    final = folder / ("plan.json" if during is None else "new.json")
    wait(slurm, begin.timestamp() + float(plan.instance.horizon))
    (folder / "sacct.txt").write_text(slurm.run("sh", "account.sh", cwd=folder))
    report = schedopt.report_night(final, folder / "sacct.txt")
    slurm.clear()
    text = (folder / "night.sh").read_text()
    if during is not None:
        text += (folder / "change.sh").read_text()
    notes = [] if spare > 0 else [f"submitted {-spare:.0f} s after the night's start"]
    return Outcome(name, plan, report, text.count("sbatch"), script_seconds, folder, notes)


def carry_out_with_failure(slurm: Cluster, name: str) -> Outcome:
    """Carry out a night in which a task fails and the rest is replanned."""
    return carry_out(
        slurm, name, failing_night(), during=partial(replan_after_failure, slurm), fails="sim/1/2"
    )


def replan_after_failure(slurm: Cluster, folder: Path, plan: NightPlan) -> None:
    """Wait for a failure and ten more seconds; replan, and change the queue."""
    account = partial(slurm.run, "sh", "account.sh", cwd=folder)
    slurm.wait_for("a failure", lambda: "|FAILED|" in account())
    time.sleep(10.0)
    (folder / "mended").touch()
    (folder / "failed.txt").write_text(account())
    command = (sys.executable, "-m", "schedopt", "replan", "plan.json", "--at", "now")
    files = ("--state", "failed.txt", "--output", "new.json", "--output", "change.sh")
    slurm.run(*command, *files, "--template", "slurm", "--time-limit", "3", cwd=folder)
    with (folder / "account.sh").open("a") as script:
        script.write(slurm.run("sh", "change.sh", cwd=folder))


def failing_night() -> Instance:
    """Return a night with enough time to replan after a failure."""
    jobs = (
        Job(name="sim", reward=9, stages=((15.0,) * 4, (12.0,))),
        Job(name="comp", reward=8, stages=((10.0, 10.0),), after=("sim",)),
        Job(name="wide", reward=7, stages=((20.0,),), processors=4),
        Job(name="frames", reward=5, stages=((8.0,) * 12,)),
        Job(name="titles", reward=6, stages=((9.0,) * 6, (5.0,)), release=40.0),
    )
    seats = Seats(name="houdini", capacity=3, use={"sim": 1})
    return Instance(
        name="failing", processors=6, deadline=110.0, end=110.0, jobs=jobs, constraints=(seats,)
    )


def carry_out_queued(slurm: Cluster, name: str) -> Outcome:
    """Carry out a night of held jobs that are already in the queue, with the template slurm-queued.

    Each job has one stage, which is one job array.
    """
    folder = slurm.folder / name
    folder.mkdir()
    lengths = {f"job {i}": 6.0 + i for i in range(6)}
    tasks = {f"{job}/1/{task}": t - 2.0 for job, t in lengths.items() for task in (1, 2, 3)}
    write_tasks(folder, tasks)
    rows = ["name,reward,tasks,id"]
    for n, (job, length) in enumerate(lengths.items()):
        sbatch = ("sbatch", "--parsable", "--hold", f"--job-name={job}:1", "--array=1-3")
        number = slurm.run(*sbatch, "--time=5", "./render.sh", job, "1", cwd=folder).strip()
        rows.append(f"{job},{9 - n},3x{length:g}s,{number}")
    (folder / "jobs.csv").write_text("\n".join([*rows, ""]))
    begin = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=LEAD + 5)
    until = (begin + timedelta(seconds=22)).isoformat()
    since = f"{datetime.now():%Y-%m-%dT%H:%M:%S}"
    plan = schedopt.plan(
        folder / "jobs.csv",
        processors=6,
        from_=begin.isoformat(),
        until=until,
        keep=("id",),
        time_limit=3,
    )
    began = time.perf_counter()
    plan.write(folder / "night.sh", "slurm-queued")
    seconds = time.perf_counter() - began
    slurm.run("sh", "night.sh", cwd=folder)
    time.sleep(max(0.0, begin.timestamp() + 22.0 - time.time()) + PATIENCE / 3)
    (folder / "sacct.txt").write_text(slurm.accounts(since))
    report = schedopt.report_night(plan, folder / "sacct.txt")
    held = slurm.queue().count("JobHeld")
    slurm.clear()
    notes = [f"{held} of {len(lengths)} jobs held"]
    return Outcome(name, plan, report, len(report.jobs), seconds, folder, notes)


def write_tasks(folder: Path, lengths: Lengths) -> None:
    """Write ``render.sh``, which sleeps for the length of a task."""
    (folder / "lengths.json").write_text(json.dumps(lengths))
    python = sys.executable
    task = TASK.format(lengths=str(folder / "lengths.json"), folder=str(folder))
    (folder / "task.py").write_text(task)
    (folder / "render.sh").write_text(RENDER.format(python=python, folder=folder))
    (folder / "render.sh").chmod(0o755)


def wait(slurm: Cluster, until: float) -> None:
    """Wait until the queue is empty, or until `PATIENCE` after the night's end."""
    while time.time() < until + PATIENCE and slurm.queue().strip():
        time.sleep(1.0)
    time.sleep(2.0)  # until the accounts are written


# --- nights -----------------------------------------------------------------------------------


def readme_farm(hour: float) -> Instance:
    """Return the night of the README's table, with ``hour`` seconds in place of an hour."""
    from msgspec.structs import replace

    hours = {"processors": 6, "from_": "2026-11-22T20:00+01:00", "until": "06:00"}
    night = schedopt.plan("example:farm.csv", **hours, seats={"houdini": 3}).instance
    part = hour / 3600
    jobs = tuple(
        replace(
            job,
            stages=tuple(tuple(part * t for t in stage) for stage in job.stages),
            release=part * job.release,
            deadline=None if job.deadline is None else part * job.deadline,
        )
        for job in night.jobs
    )
    return replace(night, jobs=jobs, deadline=10 * hour, end=10 * hour)


def with_fewer_processors() -> Instance:
    """Return a night in which processors leave for a while as tasks run."""
    jobs = (
        Job(name="before", reward=9, stages=((48.0,) * 12,), deadline=101.0),
        Job(name="across", reward=9, stages=((48.0,) * 3,), release=101.0),
        Job(name="within", reward=9, stages=((9.0,) * 6,), release=153.0),
        Job(name="after", reward=9, stages=((9.0,) * 6,), release=180.0),
    )
    drop = ((130.0, 3), (180.0, 6))
    return Instance(name="drop", processors=6, changes=drop, deadline=195.0, end=195.0, jobs=jobs)


def random_night(seed: int) -> Instance:
    """Return a random night of about a minute on six processors."""
    draw = Random(seed)
    jobs = tuple(
        Job(
            name=f"shot {i}",
            reward=draw.randint(1, 9),
            stages=tuple(
                (draw.choice((5.0, 8.0, 12.0)),) * draw.randint(1, 5)
                for _ in range(draw.randint(1, 2))
            ),
            processors=draw.choice((1, 1, 1, 2)),
            release=draw.choice((0.0, 0.0, 10.0)),
            deadline=draw.choice((None, None, 45.0)),
            after=("shot 0",) if i and draw.random() < 0.2 else (),
        )
        for i in range(draw.randint(6, 10))
    )
    seats = Seats(name="houdini", capacity=3, use={f"shot {draw.randint(1, 5)}": 1})
    return Instance(
        name=f"random-{seed}",
        processors=6,
        deadline=60.0,
        end=60.0,
        jobs=jobs,
        constraints=(seats,),
    )


def shorter(seed: int) -> Callable[[], float]:
    """Return a function that draws factors of run times between 0.5 and 1."""
    return partial(Random(seed).uniform, 0.5, 1.0)
