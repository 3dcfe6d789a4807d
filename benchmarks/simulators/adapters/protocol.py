"""The protocol between the benchmark and the adapters of other simulators.

A line of JSON has a workload: `scheduler` (the simulator's name of it), `servers` and `jobs`, each
with `submit`, `need`, `run` and `planned`. The answer is a line with the `starts` of the jobs or an
`error`. This file runs under any Python, because some simulators are old.
"""

import json
import sys
from bisect import insort


def serve(simulate):
    """Answer each workload on standard input with the starts that `simulate(workload)` returns."""
    out, sys.stdout = sys.stdout, sys.stderr  # simulators print to standard output
    for line in iter(sys.stdin.readline, ""):
        try:
            answer = {"starts": [float(start) for start in simulate(json.loads(line))]}
        except Exception as error:
            answer = {"error": "%s: %s" % (type(error).__name__, error)}
        out.write(json.dumps(answer) + "\n")
        out.flush()


def write_swf(path, workload):
    """Write a workload in the Standard Workload Format, jobs numbered from 1."""
    with open(path, "w") as file:
        file.write("; MaxNodes: {0}\n; MaxProcs: {0}\n".format(workload["servers"]))
        for number, job in enumerate(workload["jobs"], 1):
            values = [-1] * 18
            values[0], values[1], values[3] = number, job["submit"], job["run"]
            values[4] = values[7] = job["need"]
            values[8], values[10] = job["planned"], 1
            file.write(" ".join(map(str, values)) + "\n")


def play(workload, decide):
    """Return the starts of a simulation in which `decide` chooses the jobs that start.

    At each instant jobs end first, then jobs arrive. `decide(now, ended, come)` takes and returns
    indices of jobs.
    """
    jobs = workload["jobs"]
    instants = sorted({job["submit"] for job in jobs})
    starts, ends = {}, {}
    while instants:
        now = instants.pop(0)
        ended = [row for row in sorted(ends) if ends[row] == now]
        come = [row for row, job in enumerate(jobs) if job["submit"] == now]
        for row in decide(now, ended, come):
            starts[row], ends[row] = now, now + jobs[row]["run"]
            if ends[row] not in instants:
                insort(instants, ends[row])
    if len(starts) < len(jobs):
        raise RuntimeError("{} jobs never start".format(len(jobs) - len(starts)))
    return [starts[row] for row in range(len(jobs))]
