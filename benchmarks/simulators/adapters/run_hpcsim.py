"""hpcsim: its engine on one node of GPUs, each job a training job with a fixed run time."""

from hpcsim.cluster.cluster import Cluster, ClusterConfig
from hpcsim.cluster.hardware import GPUType
from hpcsim.scheduler.backfill import BackfillWrapper, EASYBackfillPolicy
from hpcsim.scheduler.schedulers import FIFOScheduler
from hpcsim.simulator.engine import SimulationEngine
from hpcsim.workload.job import TrainingJob
from protocol import serve


def simulate(workload):
    """Return when hpcsim starts each job."""
    cluster = Cluster(ClusterConfig("checked", [(GPUType.V100, 1, workload["servers"])]))
    jobs = []
    for row, job in enumerate(workload["jobs"]):
        made = TrainingJob(
            job_id=f"{row:04d}",
            submit_time=job["submit"],
            arch=None,
            num_gpus_requested=job["need"],
            num_iterations=job["run"] * job["need"],  # a second's work of a GPU each
        )
        made.requested_runtime = job["planned"]
        jobs.append(made)
    scheduler = FIFOScheduler(cluster)
    if workload["scheduler"] == "FIFO with EASYBackfillPolicy":
        scheduler = BackfillWrapper(scheduler, EASYBackfillPolicy())
    end = max(job.submit_time for job in jobs) + sum(job["run"] for job in workload["jobs"])
    SimulationEngine(cluster, scheduler, jobs, max_sim_time=end + 1).run()
    return [job.start_time for job in jobs]


serve(simulate)
