"""pyss, in Python 2: its own simulator.

Usage: run_pyss.py CHECKOUT.
"""

import sys
from importlib import import_module

from protocol import serve

sys.path.insert(0, sys.argv[1] + "/src")
sys.path.insert(0, sys.argv[1] + "/src/schedulers")

from base.prototype import Job
from schedulers.simulator import Simulator

LATER = 1
"""Seconds added to all times, since it assumes that no job is submitted at time 0."""
MODULES = {
    "FcfsScheduler": "fcfs_scheduler",
    "EasyBackfillScheduler": "easy_scheduler",
    "ConservativeScheduler": "conservative_scheduler",
}


def simulate(workload):
    """Return when pyss starts each job."""
    name = workload["scheduler"]
    scheduler = getattr(import_module("schedulers." + MODULES[name]), name)(workload["servers"])
    jobs = [
        Job(row, job["planned"], job["run"], job["need"], job["submit"] + LATER)
        for row, job in enumerate(workload["jobs"])
    ]
    Simulator(jobs, workload["servers"], scheduler).run()
    return [job.start_to_run_at_time - LATER for job in jobs]


serve(simulate)
