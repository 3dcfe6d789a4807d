"""How soon schedules are found and proven on nights of which much is asked.

``python -m benchmarks.dssp plans`` prints seen beside asked, in CPU seconds.
"""

import random
import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.dssp_provable import night as provable
from benchmarks.tables import Measured, measurement, row
from schedopt import plan, solve
from schedopt.instances.constraints import FairShare, Seats
from schedopt.instances.dssp import Down, Instance, Job
from schedopt.solvers.compiling import always
from schedopt.solvers.result import Result

LARGE = ((300, 1, 1.0), (300, 10, 0.01), (5_000, 1, 1.0), (5_000, 5, 1.0), (5_000, 30, 0.02))
"""Jobs, the limit in seconds, and the gap asked; 1 where any schedule will do."""

FRAMES, HOUR = 60, 60.0
"""Frames of a job, on average, and the minutes of an hour."""


def everything(jobs: int, seed: int = 1) -> Instance:
    """Draw a night of ten hours on two pools, with every key that jobs and files may have."""
    draw = random.Random(seed)  # noqa: S311
    made: list[Job] = []
    for j in range(jobs):
        own: dict[str, Any] = {}
        team, show = draw.choice(("fx", "light", "anim", "comp")), draw.choice(("orca", "lynx"))
        if made and draw.random() < 0.2:
            own["after"] = (draw.choice(made[-40:]).name,)
        if draw.random() < 0.1:
            own["processors"] = 2
        if draw.random() < 0.2:
            own["max_processors"] = draw.choice((16, 32))
        if draw.random() < 0.3:
            own["release"] = HOUR * draw.randint(0, 4)
        if draw.random() < 0.3:
            own["deadline"] = HOUR * draw.randint(7, 10)
        if draw.random() < 0.2:
            own["holds"] = {"memory": draw.choice((1.0, 2.0))}
        if draw.random() < 0.3:
            own["pools"] = ("gpu",)
        frames, length = draw.randint(20, 2 * FRAMES - 20), float(draw.randint(2, 14))
        stages = (*((2.0,),) * (draw.random() < 0.3), (length,) * frames)
        reward = draw.choice((8, 4, 2, 2, 1)) * draw.randint(50, 150)
        made.append(
            Job(
                name=f"j{j}",
                reward=float(reward),
                groups={"team": team, "show": show},
                stages=stages,
                **own,
            )
        )
    size = max(2, jobs // 2)
    gpu = size // 3
    houdini = dict.fromkeys((job.name for job in made if job.groups["team"] == "fx"), 1)
    return Instance(
        name=f"everything-{jobs}",
        pools={"cpu": ((0, size), (3 * HOUR, size // 2), (5 * HOUR, size)), "gpu": gpu},
        deadline=10 * HOUR,
        end=10 * HOUR,
        jobs=tuple(made),
        resources={"memory": ((0, size // 4), (6 * HOUR, size // 8), (7 * HOUR, size // 4))},
        down=(Down(start=8 * HOUR, end=8.5 * HOUR, processors=max(1, gpu // 3), pool="gpu"),),
        constraints=(
            FairShare(name="cap", by="team", at_most={"fx": 0.3}),
            FairShare(name="floor", by="show", at_least={"lynx": 0.2}),
            Seats(name="houdini", capacity=max(1, size // 6), use=houdini),
        ),
    )


def table(jobs: int, seed: int = 1) -> str:
    """Draw a table of jobs of about sixty frames, of teams and shows, with seats and orders."""
    draw = random.Random(seed)  # noqa: S311
    lines, names = ["name,team,show,priority,frames,frame_time,seats:houdini,after"], list[str]()
    for n in range(jobs):
        team, show = draw.choice(("fx", "light", "comp", "anim")), draw.choice(("orca", "lynx"))
        word = draw.choice(("urgent", "high", "normal", "normal", "low"))
        seats = "1" if team == "fx" and draw.random() < 0.7 else ""
        after = draw.choice(names) if names and draw.random() < 0.2 else ""
        names.append(f"{show}-{n}")
        time, frames = draw.randint(2, 14), draw.randint(20, 100)
        lines.append(f"{names[-1]},{team},{show},{word},{frames},{time}m,{seats},{after}")
    return "\n".join(lines) + "\n"


def seated(seed: int) -> Instance:
    """Draw a night of twelve jobs on six processors, some of which hold one of two seats."""
    draw = random.Random(seed)  # noqa: S311
    jobs = []
    for j in range(12):
        stages = tuple(
            tuple(float(draw.randint(1, 9)) for _ in range(draw.randint(1, 4)))
            for _ in range(draw.randint(1, 3))
        )
        jobs.append(Job(name=f"j{j}", reward=float(draw.randint(1, 20)), stages=stages))
    use = {job.name: 1 for job in jobs if draw.random() < 0.4}
    seats = (Seats(name="seats", capacity=2, use=use),)
    return Instance(name="seated", processors=6, deadline=25.0, jobs=tuple(jobs), constraints=seats)


def _cpu(work: Any) -> tuple[float, Any]:
    began = time.process_time()
    result = work()
    return time.process_time() - began, result


def _gap(result: Result) -> float:
    return 1.0 if result.gap is None else result.gap


@measurement
def plans() -> Measured:
    """Time plans of the night of a farm, of small nights, and of large ones."""
    always()  # compiles
    for small in (everything(12), provable(20, 200, 20, 0)):
        solve(small, formulation="schedule", time_limit=2)
    yield "plans: CPU seconds, checked and written"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "jobs.csv"
        path.write_text(table(40))
        farm: dict[str, Any] = {
            "processors": 30,
            "from_": "20:00",
            "until": "06:00",
            "capacity": ["02:00=20", "03:00=30"],
            "seats": ["houdini=8"],
            "cap": ["team:fx=0.4"],
            "floor": ["show:orca=0.2"],
            "reward": "priority:urgent=8,high=4,normal=2,low=1",
        }
        took, night = _cpu(partial(plan, path, **farm))
        proven = "yes" if night.result.proven else f"no, {_gap(night.result):.2%}"
        yield row("40 jobs, ten processors away for an hour", took, "s", most=2, proven=proven)
    farm = {"processors": 6, "from_": "20:00", "until": "06:00", "seats": ["houdini=3"]}
    took, night = _cpu(partial(plan, "instances/dssp/farm.csv", cap=["team:fx=0.4"], **farm))
    proven = "yes" if night.result.proven else f"no, {_gap(night.result):.2%}"
    yield row("the farm of the README", took, "s", most=1, proven=proven)
    seen = [
        _cpu(partial(solve, seated(seed), formulation="schedule", time_limit=60))
        for seed in range(100)
    ]
    times = [took for took, _ in seen]
    yield row("12 jobs and seats: median of 100", median(times), "s", most=0.1)
    yield row("12 jobs and seats: slowest", max(times), "s", most=5)
    yield row("12 jobs and seats: proven", sum(r.proven for _, r in seen), least=100)
    for jobs, limit, most in LARGE:
        work = partial(solve, everything(jobs), formulation="schedule", time_limit=limit)
        took, result = _cpu(work)
        beside = {"CPU": took, "reward": result.objective}
        yield row(f"{jobs:,} jobs in {limit} s: gap", _gap(result), most=most, **beside)
