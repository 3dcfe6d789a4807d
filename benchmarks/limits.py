"""Time limits at size: ``python -m benchmarks.limits [JOBS]...``, a table of processor seconds.

Nights have all features: the machine changes, jobs have deadlines of their own, wait for others,
and have uncertain run times. Each row is a process of its own. A target is the limit plus a second
or a tenth, whichever is more.
"""

import json
import subprocess
import sys
from random import Random

import schedopt
from benchmarks.tables import Measured, cpu_time, measurement, peak_mb, row
from schedopt.instances import files
from schedopt.instances.protocol import AnyInstance

SIZES = (300, 1_000, 5_000, 10_000, 20_000)
LIMITS = (1.0, 5.0)
WORKS = {
    "solve": {},
    "solve mean": {"risk": "mean"},
    "solve cvar": {"risk": "cvar:0.9"},
    "solve chance": {"risk": "chance:0.9"},
    "plan": {},
    "plan mean": {"risk": "mean"},
}


def night(count: int, seed: int = 1) -> AnyInstance:
    """Return a night of so many jobs, about twice what the machine can do."""
    draw = Random(seed)  # noqa: S311
    processors, hour = max(4, count // 10), 3600
    jobs = []
    for j in range(count):
        stages = [
            [draw.randint(300, 3000) for _ in range(draw.randint(1, 4))]
            for _ in range(draw.randint(1, 3))
        ]
        job = {"name": f"j{j}", "reward": draw.randint(1, 100), "stages": stages, "spread": 0.3}
        job |= {"deadline": draw.randint(48, 144) * hour // 12} if draw.random() < 0.4 else {}
        job |= {"release": draw.randint(0, 12) * hour // 4} if draw.random() < 0.2 else {}
        job |= {"after": [f"j{draw.randrange(j)}"]} if j and draw.random() < 0.3 else {}
        jobs.append(job)
    file = {
        "problem": "dssp",
        "name": f"{count} jobs",
        "processors": processors,
        "capacity": [[2 * hour, processors // 2], [6 * hour, processors]],
        "deadline": 10 * hour,
        "jobs": jobs,
        "constraints": [
            {"kind": "at-least", "jobs": [f"j{j}" for j in range(count // 10)], "count": 5}
        ],
    }
    return files.parse(json.dumps(file).encode())


def measure(work: str, count: int, limit: float) -> dict[str, object]:
    """Return what one solve takes in this process, after a small one for compiling."""
    verb = schedopt.plan if work.startswith("plan") else schedopt.solve
    verb(night(30), time_limit=1.0, **WORKS[work])
    made = night(count)
    seconds, done = cpu_time(lambda: verb(made, time_limit=limit, **WORKS[work]))
    result = done.result if work.startswith("plan") else done
    told = {"gap": result.gap, "violations": len(result.violations), "checked": result.checked}
    return {"seconds": seconds, "MB": peak_mb()} | told


@measurement
def limits(sizes: tuple[int, ...] = SIZES) -> Measured:
    """Run every kind of work under every limit."""
    yield "processor seconds under a time limit"
    for count in sizes:
        for limit in LIMITS:
            for work in WORKS:
                command = [sys.executable, "-m", __spec__.name, work, str(count), str(limit)]
                done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
                told = json.loads(done.stdout.splitlines()[-1])
                what = f"{work}, {count:,} jobs, {limit:g} s"
                yield row(what, told.pop("seconds"), "s", most=limit + max(1, limit / 10), **told)


if __name__ == "__main__":
    match sys.argv[1:]:
        case [name, count, limit]:
            print(json.dumps(measure(name, int(count), float(limit))))
        case sizes:
            limits(tuple(map(int, sizes)) or SIZES)
