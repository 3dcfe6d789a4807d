"""CQSim: the whole simulator, `src/cqsim.py`, with a configuration for each scheduler.

Usage: run_cqsim.py CHECKOUT.
"""

import subprocess
import sys
from pathlib import Path

from protocol import serve, write_swf

SOURCE = Path(sys.argv[1]) / "src"
BACKFILL = {"none": 0, "EASY": 1, "conservative": 2}


def simulate(workload):
    """Return when CQSim starts each job."""
    given = dict(
        line.split("=", 1) for line in (SOURCE / "Config/config_sys.set").read_text().splitlines()
    )
    given |= {"backfill": BACKFILL[workload["scheduler"]], "win": 0, "debug_lvl": 0}
    lines = "".join(f"{key}={value}\n" for key, value in given.items())
    (SOURCE / "Config/checked.set").write_text(lines)
    data = SOURCE.parent / "data"
    for name in ("InputFiles", "Results", "Fmt", "Debug"):
        (data / name).mkdir(parents=True, exist_ok=True)
    write_swf(str(data / "InputFiles/checked.swf"), workload)
    result = data / "Results/checked.rst"
    result.unlink(missing_ok=True)
    command = ["cqsim.py", "-j", "checked.swf", "-n", "checked.swf", "-C", "checked.set"]
    done = subprocess.run(
        [sys.executable, *command],
        cwd=SOURCE,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    rows = [line.split(";") for line in result.read_text().splitlines()]
    starts = {int(row[0]): float(row[7]) for row in rows}
    if missing := [row + 1 for row in range(len(workload["jobs"])) if row + 1 not in starts]:
        raise RuntimeError(f"job {missing[0]} is not in the result")
    origin = workload["jobs"][0]["submit"]  # its clock begins with the first job
    return [starts[row + 1] + origin for row in range(len(workload["jobs"]))]


serve(simulate)
