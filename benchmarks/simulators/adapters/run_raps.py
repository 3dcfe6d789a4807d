"""RAPS: `raps/schedulers/default.py` with its resource manager, called when jobs end or come.

Usage: run_raps.py CHECKOUT.
"""

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

from protocol import play, serve

package = ModuleType("raps")  # the package itself imports all of RAPS
package.__path__ = [str(Path(sys.argv[1]) / "raps")]
sys.modules["raps"] = package

from raps.resmgr.default import ExclusiveNodeResourceManager
from raps.schedulers.default import Scheduler


def simulate(workload):
    """Return when RAPS starts each job."""
    nodes = ExclusiveNodeResourceManager(workload["servers"], [])
    backfilling = None if workload["scheduler"] == "fcfs" else workload["scheduler"]
    scheduler = Scheduler({}, "fcfs", backfilling, resource_manager=nodes)
    queue, running = [], []
    jobs = [
        SimpleNamespace(
            id=row,
            submit_time=job["submit"],
            time_limit=job["planned"],
            expected_run_time=job["run"],
            nodes_required=job["need"],
            scheduled_nodes=[],
        )
        for row, job in enumerate(workload["jobs"])
    ]

    def decide(now, ended, come):
        for row in ended:
            running.remove(jobs[row])
            nodes.free_nodes_from_job(jobs[row])
        queue.extend(jobs[row] for row in come)
        before = {job.id for job in running}
        scheduler.schedule(queue, running, now, sorted=not come)
        return [job.id for job in running if job.id not in before]

    return play(workload, decide)


serve(simulate)
