"""PyBatsim: its schedulers, called by Batsim's protocol over their socket.

Batsim itself needs SimGrid. This loop replaces it: at each instant it sends a message with the jobs
that ended and arrived, and starts the jobs of the answer.
"""

import json
import tempfile
import threading

import zmq
from batsim.batsim import Batsim
from batsim.tools.launcher import instanciate_scheduler
from protocol import play, serve
from schedulers.unMaintained.easyBackfillNotopo import EasyBackfillNotopo

LATER = 1
"""Seconds added to all times, since some schedulers start no job at time 0."""


def begin(servers):
    """Return the event that describes the machine."""
    nodes = [
        {"id": number, "name": "node%d" % number, "state": "idle", "properties": {}}
        for number in range(servers)
    ]
    names = ("profiles-forwarded-on-submission", "dynamic-jobs-enabled")
    names += ("dynamic-jobs-acknowledged", "forward-unknown-events", "profile-reuse-enabled")
    return {
        "type": "SIMULATION_BEGINS",
        "data": {
            "nb_resources": servers,
            "nb_compute_resources": servers,
            "nb_storage_resources": 0,
            "allow_compute_sharing": False,
            "allow_storage_sharing": False,
            "config": dict.fromkeys(names, False),
            "compute_resources": nodes,
            "storage_resources": [],
            "workloads": {"w": "w"},
            "profiles": {"w": {"p": {"type": "delay", "delay": 1}}},
        },
    }


def simulate(workload):
    """Return when a scheduler of PyBatsim starts each job."""
    jobs = workload["jobs"]
    with tempfile.TemporaryDirectory() as folder:
        address = "ipc://" + folder + "/socket"
        socket = zmq.Context().socket(zmq.REQ)
        socket.RCVTIMEO = 20_000
        socket.connect(address)
        if workload["scheduler"] == "easyBackfillNotopo":  # not in PyBatsim's list of schedulers
            scheduler = EasyBackfillNotopo({})
        else:
            scheduler = instanciate_scheduler(workload["scheduler"], {})
        thread = threading.Thread(target=lambda: Batsim(scheduler, address, 0).start(), daemon=True)
        thread.start()

        def tell(now, events):
            """Send events of an instant, return the jobs that start."""
            time = now + LATER
            stamped = [{"timestamp": time, "data": {}, **event} for event in events]
            socket.send_string(json.dumps({"now": time, "events": stamped}))
            answer = json.loads(socket.recv_string())["events"]
            if refused := [event for event in answer if event["type"] == "REJECT_JOB"]:
                raise RuntimeError(f"a job is rejected: {refused}")
            begun = [event for event in answer if event["type"] == "EXECUTE_JOB"]
            return [int(event["data"]["job_id"].partition("!")[2]) for event in begun]

        def decide(now, ended, come):
            events = [
                {
                    "type": "JOB_COMPLETED",
                    "data": {
                        "job_id": f"w!{row}",
                        "job_state": "COMPLETED_SUCCESSFULLY",
                        "return_code": 0,
                        "alloc": "",
                    },
                }
                for row in ended
            ]
            events += [
                {
                    "type": "JOB_SUBMITTED",
                    "data": {
                        "job_id": f"w!{row}",
                        "job": {
                            "id": f"w!{row}",
                            "subtime": jobs[row]["submit"] + LATER,
                            "walltime": jobs[row]["planned"],
                            "res": jobs[row]["need"],
                            "profile": "p",
                        },
                    },
                }
                for row in come
            ]
            return tell(now, events)

        tell(-LATER, [begin(workload["servers"])])
        starts = play(workload, decide)
        tell(1e9, [{"type": "SIMULATION_ENDS"}])
        socket.close()
    return starts


serve(simulate)
