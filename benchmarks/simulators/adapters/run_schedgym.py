"""sched-rl-gym: its time-based simulator without the learning environment.

Usage: run_schedgym.py CHECKOUT.
"""

import sys

from protocol import serve

sys.path.insert(0, sys.argv[1])

from schedgym import scheduler
from schedgym.job import Job, JobStatus
from schedgym.simulator import TimeBasedSimulator
from schedgym.workload.trace import TraceGenerator

LATER = 1
"""Seconds added to all times, since jobs are submitted from the second step on."""


def simulate(workload):
    """Return when sched-rl-gym starts each job."""
    jobs = [
        Job(
            row,
            job["submit"] + LATER,
            job["run"],
            job["need"],
            requested_processors=job["need"],
            requested_time=job["planned"],
            memory_use=0,
            requested_memory=0,
            status=JobStatus.SUBMITTED,
        )
        for row, job in enumerate(workload["jobs"])
    ]
    plan = getattr(scheduler, workload["scheduler"])(workload["servers"], 0, ignore_memory=True)
    trace = TraceGenerator(trace=jobs)
    simulator = TimeBasedSimulator(trace, plan)
    while trace.current_element < len(jobs):
        simulator.step()
    for _ in range(sum(job.execution_time for job in jobs) + 1):
        if len(plan.queue_completed) == len(jobs):
            return [job.start_time - LATER for job in jobs]
        plan.step()
    raise RuntimeError("some jobs never end")


serve(simulate)
