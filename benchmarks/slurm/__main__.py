"""Carry out nights on a real Slurm: ``python -m benchmarks.slurm [NIGHT...]``.

Times are in seconds. Tasks sleep for a random part of their planned length, without overhead. A row
is printed for each night. The exit status is 1 if a planned job was late.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random

from msgspec.structs import replace

import schedopt
from benchmarks.slurm.cluster import Cluster, StartError, cluster, missing
from schedopt.instances.constraints import Seats
from schedopt.instances.dssp import Instance, Job
from schedopt.verbs import report_night as reporting

HEAD = "| night | late | submissions | starting a task took |\n| --- | --- | --- | --- |"
KEPT = Path("build/slurm")  # folder for plan, records and picture of each night
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
PLANNING, OVERHEAD = 4.0, 2.0  # seconds to plan a night, and to start a task
LEAD = 5.0  # seconds between planning and the start of the night
PATIENCE = 30.0  # seconds to wait for tasks after the end of the night
TOLERANCE = 1.0  # seconds, since Slurm's records have whole seconds
FAILING = "failing"  # the name of the night in which a task fails


def carry_out(slurm: Cluster, night: Instance) -> int:
    """Plan a night, submit its script, wait for its end, print a row, and return the late jobs."""
    begin = datetime.now(UTC) + timedelta(seconds=PLANNING + LEAD)
    start = begin.replace(microsecond=0).isoformat()
    plan = schedopt.plan(replace(night, start=start).with_overhead(OVERHEAD), time_limit=PLANNING)
    folder, fails = slurm.folder / night.name, night.name == FAILING
    folder.mkdir()
    write_tasks(folder, night, "sim/1/2" if fails else "")
    plan.write(folder / "night.sh", "slurm")
    plan.write(folder / "plan.json")
    (folder / "account.sh").write_text(slurm.run("sh", "night.sh", cwd=folder))
    if fails:
        replan_after_failure(slurm, folder)
    end = begin.timestamp() + float(plan.instance.horizon) + PATIENCE
    while time.time() < end and slurm.queue().strip():
        time.sleep(1.0)
    time.sleep(2.0)  # until the accounts are written
    (folder / "sacct.txt").write_text(slurm.run("sh", "account.sh", cwd=folder))
    report = schedopt.report_night(
        folder / ("new.json" if fails else "plan.json"), folder / "sacct.txt"
    )
    slurm.clear()
    reporting.write(report, folder / "night.png")
    shutil.copytree(folder, KEPT / night.name, dirs_exist_ok=True)
    late = [one.job for one in report.jobs if one.late is None or one.late > TOLERANCE]
    mean, longest = report.overhead or (0.0, 0.0)
    submissions = sum(script.read_text().count("sbatch") for script in folder.glob("*.sh"))
    print(
        f"| {night.name} | {len(late)} of {len(report.jobs)} {' '.join(late)} "
        f"| {submissions} for {len(report.planned)} tasks "
        f"| {mean:.1f} s, at most {longest:.1f} s |",
        flush=True,
    )
    return len(late)


def replan_after_failure(slurm: Cluster, folder: Path) -> None:
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


def write_tasks(folder: Path, night: Instance, fails: str) -> None:
    """Write ``render.sh``, which sleeps for the length of a task, and ends one in a failure."""
    draw = Random(0)
    lengths = {
        f"{job.name}/{s}/{i}": length * draw.uniform(0.5, 1.0)
        for job in night.jobs
        for s, stage in enumerate(job.stages or (), start=1)
        for i, length in enumerate(stage, start=1)
    }
    if fails:
        lengths[fails] = -lengths[fails]
    (folder / "lengths.json").write_text(json.dumps(lengths))
    task = TASK.format(lengths=str(folder / "lengths.json"), folder=str(folder))
    (folder / "task.py").write_text(task)
    (folder / "render.sh").write_text(RENDER.format(python=sys.executable, folder=folder))
    (folder / "render.sh").chmod(0o755)


def failing_night() -> Instance:
    """Return a night with enough time to replan after a failure."""
    jobs = (
        Job(name="sim", reward=9, stages=((15.0,) * 4, (12.0,))),
        Job(name="comp", reward=8, stages=((10.0, 10.0),), after=("sim",)),
        Job(name="wide", reward=7, stages=((20.0,),), processors=4),
        Job(name="frames", reward=5, stages=((8.0,) * 12,)),
        Job(name="titles", reward=6, stages=((9.0,) * 6, (5.0,)), release=40.0),
    )
    return night_of(FAILING, 110.0, jobs, "sim")


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
    return night_of(f"random-{seed}", 60.0, jobs, f"shot {draw.randint(1, 5)}")


def night_of(name: str, end: float, jobs: tuple[Job, ...], licensed: str) -> Instance:
    """Return a night on six processors; one job needs a seat."""
    seats = (Seats(name="houdini", capacity=3, use={licensed: 1}),)
    return Instance(name=name, processors=6, deadline=end, end=end, jobs=jobs, constraints=seats)


NIGHTS = {night.name: night for night in (failing_night(), *map(random_night, range(4)))}


def main(names: Iterable[str]) -> int:
    """Carry out the named nights, or all; return 1 if a job was late."""
    if programs := missing():
        print(f"benchmarks.slurm: skipped, not installed: {', '.join(programs)}", file=sys.stderr)
        return 0
    try:
        with cluster() as slurm:
            print(f"{slurm.run('sinfo', '--version').strip()}\n\n{HEAD}", flush=True)
            return int(sum([carry_out(slurm, NIGHTS[name]) for name in names or NIGHTS]) > 0)
    except StartError as error:
        print(f"benchmarks.slurm: skipped, Slurm does not start: {error}", file=sys.stderr)
        return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
