"""How the benchmark speaks to another simulator, in its own Python.

A workload comes in as a line of JSON: `scheduler` (the other simulator's name for it), `servers`
and `jobs`, each with `submit`, `need`, `run` and `planned`. A line with the `starts` of the jobs
goes out, or one with an `error`. This file runs under any Python, because some simulators are old.
"""

import json
import sys
from bisect import insort


def serve(simulate):
    """Answer each workload on standard input with the starts that `simulate(workload)` returns."""
    out, sys.stdout = sys.stdout, sys.stderr  # what simulators print is not an answer
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
    """Return starts: at each instant first jobs end, then jobs come, then `decide` starts some.

    `decide(now, ended, come)` is given rows of jobs and returns the rows of jobs that start.
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
