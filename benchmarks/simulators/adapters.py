"""Adapters of other simulators: ``adapters.py NAME CHECKOUT``, run by each simulator's Python.

Each line of standard input is a workload in JSON: `scheduler` (the simulator's name of it),
`servers` and `jobs`, each with `submit`, `need`, `run` and `planned`. The answer is a line with the
`starts` of the jobs or an `error`. This file also runs under Python 2, which pyss needs.
"""

import json
import os
import subprocess
import sys
import tempfile
from bisect import insort
from importlib import import_module

LATER = 1
"""Seconds added to all times where a simulator starts no job at time 0."""


def pyss(workload, checkout):
    """pyss, in Python 2: its own simulator."""
    sys.path[:0] = [checkout + "/src/schedulers", checkout + "/src"]
    from base.prototype import Job
    from schedulers.simulator import Simulator

    modules = {
        "FcfsScheduler": "fcfs_scheduler",
        "EasyBackfillScheduler": "easy_scheduler",
        "ConservativeScheduler": "conservative_scheduler",
    }
    name = workload["scheduler"]
    scheduler = getattr(import_module("schedulers." + modules[name]), name)
    jobs = [
        Job(row, job["planned"], job["run"], job["need"], job["submit"] + LATER)
        for row, job in enumerate(workload["jobs"])
    ]
    Simulator(jobs, workload["servers"], scheduler(workload["servers"])).run()
    return [job.start_to_run_at_time - LATER for job in jobs]


def pybatsim(workload, _):
    """PyBatsim: its schedulers, called by Batsim's protocol over their socket.

    Batsim itself needs SimGrid. `play` replaces it: at each instant it sends a message with the
    jobs that ended and arrived, and starts the jobs of the answer.
    """
    import threading

    import zmq
    from batsim.batsim import Batsim
    from batsim.tools.launcher import instanciate_scheduler
    from schedulers.unMaintained.easyBackfillNotopo import EasyBackfillNotopo

    jobs, folder = workload["jobs"], tempfile.mkdtemp()
    address = "ipc://" + folder + "/socket"
    socket = zmq.Context().socket(zmq.REQ)
    socket.RCVTIMEO = 20000
    socket.connect(address)
    if workload["scheduler"] == "easyBackfillNotopo":  # not in PyBatsim's list of schedulers
        scheduler = EasyBackfillNotopo({})
    else:
        scheduler = instanciate_scheduler(workload["scheduler"], {})
    batsim = threading.Thread(target=lambda: Batsim(scheduler, address, 0).start())
    batsim.daemon = True
    batsim.start()

    def send(now, events):
        """Send the events of an instant; return the jobs that start."""
        time = now + LATER
        stamped = [{"timestamp": time, "type": kind, "data": data} for kind, data in events]
        socket.send_string(json.dumps({"now": time, "events": stamped}))
        answer = json.loads(socket.recv_string())["events"]
        refused = [event for event in answer if event["type"] == "REJECT_JOB"]
        if refused:
            raise RuntimeError("a job is rejected: %s" % refused)
        begun = [event for event in answer if event["type"] == "EXECUTE_JOB"]
        return [int(event["data"]["job_id"].partition("!")[2]) for event in begun]

    def completed(row):
        state = {"job_state": "COMPLETED_SUCCESSFULLY", "return_code": 0, "alloc": ""}
        return "JOB_COMPLETED", dict(state, job_id="w!%d" % row)

    def submitted(row):
        name, job = "w!%d" % row, jobs[row]
        times = {"subtime": job["submit"] + LATER, "walltime": job["planned"]}
        job = dict(times, id=name, res=job["need"], profile="p")
        return "JOB_SUBMITTED", {"job_id": name, "job": job}

    def decide(now, ended, come):
        return send(now, [completed(row) for row in ended] + [submitted(row) for row in come])

    send(-LATER, [("SIMULATION_BEGINS", batsim_machine(workload["servers"]))])
    starts = play(workload, decide)
    send(1e9, [("SIMULATION_ENDS", {})])
    socket.close()
    return starts


def batsim_machine(servers):
    """Return the description of a machine in Batsim's protocol."""
    nodes = [
        {"id": number, "name": "node%d" % number, "state": "idle", "properties": {}}
        for number in range(servers)
    ]
    names = ("profiles-forwarded-on-submission", "dynamic-jobs-enabled")
    names += ("dynamic-jobs-acknowledged", "forward-unknown-events", "profile-reuse-enabled")
    return {
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
    }


def accasim(workload, _):
    """AccaSim: its own simulator, reader of SWF, and dispatchers FIFO and EBF with first fit."""
    import collections.abc
    from datetime import datetime
    from pathlib import Path

    collections.Mapping = collections.abc.Mapping  # where Python before 3.10 had it
    from accasim.base.allocator_class import FirstFit
    from accasim.base.scheduler_class import EASYBackfilling, FirstInFirstOut
    from accasim.base.simulator_class import Simulator

    dispatcher = {"FIFO": FirstInFirstOut, "EBF": EASYBackfilling}[workload["scheduler"]]
    folder = Path(tempfile.mkdtemp())
    system = {
        "groups": {"g0": {"core": 1}},
        "resources": {"g0": workload["servers"]},
        "equivalence": {"processor": {"core": 1}},
        "start_time": 0,
    }
    (folder / "system.json").write_text(json.dumps(system))
    write_swf(str(folder / "log.swf"), workload)
    simulator = Simulator(
        str(folder / "log.swf"),
        str(folder / "system.json"),
        dispatcher(FirstFit()),
        statistics_output=False,
        show_statistics=False,
        RESULTS_FOLDER_PATH=str(folder),
    )
    simulator.start_simulation()
    starts = {}
    for line in next(folder.rglob("sched-*")).read_text().splitlines():
        cells = line.split("__")
        date = datetime.fromisoformat(cells[-1].split(";")[0])
        starts[int(cells[0].split(";")[0])] = (date - datetime(1970, 1, 1)).total_seconds()
    return [starts[number] for number in range(1, len(workload["jobs"]) + 1)]


def cqsim(workload, checkout):
    """CQSim: the whole simulator, `src/cqsim.py`, with a configuration for each scheduler."""
    source = checkout + "/src"
    with open(source + "/Config/config_sys.set") as file:
        given = dict(line.split("=", 1) for line in file.read().splitlines())
    backfill = {"none": 0, "EASY": 1, "conservative": 2}[workload["scheduler"]]
    given = dict(given, backfill=backfill, win=0, debug_lvl=0)
    with open(source + "/Config/checked.set", "w") as file:
        file.write("".join("%s=%s\n" % pair for pair in given.items()))
    for name in ("InputFiles", "Results", "Fmt", "Debug"):
        os.makedirs(checkout + "/data/" + name, exist_ok=True)
    write_swf(checkout + "/data/InputFiles/checked.swf", workload)
    result = checkout + "/data/Results/checked.rst"
    if os.path.exists(result):
        os.remove(result)
    command = ["cqsim.py", "-j", "checked.swf", "-n", "checked.swf", "-C", "checked.set"]
    run([sys.executable] + command, cwd=source)
    with open(result) as file:
        rows = [line.split(";") for line in file.read().splitlines()]
    starts = {int(row[0]): float(row[7]) for row in rows}
    origin = workload["jobs"][0]["submit"]  # its clock begins with the first job
    return [starts[row + 1] + origin for row in range(len(workload["jobs"]))]


def raps(workload, checkout):
    """RAPS: its default scheduler with its resource manager, called when jobs end or come."""
    from types import ModuleType, SimpleNamespace

    package = ModuleType("raps")  # the package itself imports all of RAPS
    package.__path__ = [checkout + "/raps"]
    sys.modules.setdefault("raps", package)
    from raps.resmgr.default import ExclusiveNodeResourceManager
    from raps.schedulers.default import Scheduler

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


def schedgym(workload, checkout):
    """sched-rl-gym: its time-based simulator without the learning environment."""
    sys.path.insert(0, checkout)
    from schedgym import scheduler
    from schedgym.job import Job, JobStatus
    from schedgym.simulator import TimeBasedSimulator
    from schedgym.workload.trace import TraceGenerator

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


def mjqm(workload, checkout):
    """mjqm-simulator: three of its policies, compiled with a driver that replays a workload.

    Its own program draws arrivals at random and cannot replay a log.
    """
    program = checkout + "/mjqm"
    if not os.path.exists(program):
        libraries = checkout + "/libs/"
        names = ("BackFilling", "BackFillingImperfect", "Smash")
        files = ["%spolicies/src/mjqm-policies/%s.cpp" % (libraries, name) for name in names]
        files.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "mjqm.cpp"))
        includes = ["-I%s%s/include" % (libraries, name) for name in ("policies", "utils")]
        run(["g++", "-std=c++20", "-O1"] + includes + files + ["-o", program])
    jobs = workload["jobs"]
    lines = ["%s %d %d" % (workload["scheduler"], workload["servers"], len(jobs))]
    lines += ["{submit} {need} {run} {planned}".format(**job) for job in jobs]
    out = run([program], input="\n".join(lines))
    return [float(start) for start in out.split()[-len(jobs) :]]


ADAPTERS = {
    "pyss": pyss,
    "PyBatsim": pybatsim,
    "AccaSim": accasim,
    "CQSim": cqsim,
    "RAPS": raps,
    "sched-rl-gym": schedgym,
    "mjqm-simulator": mjqm,
}


def run(command, **how):
    """Return the output of a program; `RuntimeError` with its last line if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **how)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["%s fails" % command[0]])[-1])
    return done.stdout


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
        raise RuntimeError("%d jobs never start" % (len(jobs) - len(starts)))
    return [starts[row] for row in range(len(jobs))]


def main(name, checkout):
    """Answer each workload on standard input."""
    out, sys.stdout = sys.stdout, sys.stderr  # simulators print to standard output
    for line in iter(sys.stdin.readline, ""):
        try:
            answer = {"starts": ADAPTERS[name](json.loads(line), checkout)}
        except Exception as error:
            answer = {"error": "%s: %s" % (type(error).__name__, error)}
        out.write(json.dumps(answer) + "\n")
        out.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
