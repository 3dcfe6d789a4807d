"""mjqm-simulator: three of its policies, compiled with a driver that replays a workload.

Usage: run_mjqm.py CHECKOUT. Its own program draws arrivals at random and cannot replay a log.
"""

import subprocess
import sys
from pathlib import Path

from protocol import serve

POLICIES = ("BackFilling", "BackFillingImperfect", "Smash")


def compiled(checkout):
    """Compile the driver with the policies into this folder, return the program."""
    program = Path.cwd() / "mjqm"
    if program.exists():
        return program
    libraries = checkout / "libs"
    includes = [f"-I{libraries / name / 'include'}" for name in ("policies", "utils")]
    files = [libraries / "policies/src/mjqm-policies" / f"{name}.cpp" for name in POLICIES]
    driver = Path(__file__).with_name("mjqm.cpp")
    command = ["g++", "-std=c++20", "-O1", *includes, driver, *files, "-o", program]
    subprocess.run(command, check=True)
    return program


program = compiled(Path(sys.argv[1]))


def simulate(workload):
    """Return when a policy of mjqm-simulator starts each job."""
    jobs = workload["jobs"]
    lines = [f"{workload['scheduler']} {workload['servers']} {len(jobs)}"]
    lines += ["{submit} {need} {run} {planned}".format(**job) for job in jobs]
    done = subprocess.run(
        [program],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"it ends with status {done.returncode}")
    return map(float, done.stdout.split()[-len(jobs) :])


serve(simulate)
