"""The archive's set backfilling: workloads, the starts under each policy, and proven optima.

``python -m benchmarks.backfilling [FOLDER]`` makes it again, of hand-made corner cases and seeds.
"""

import gzip
import sys
from collections.abc import Iterator
from functools import partial
from math import ceil, gcd
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec import structs, to_builtins

from schedopt.archive.entries import Made, Provenance, entry_from
from schedopt.instances.csv_text import as_csv
from schedopt.instances.files import dump, encode, write_bytes
from schedopt.instances.msfq import Instance, Partition
from schedopt.instances.msfq.answers import packed
from schedopt.instances.msfq.logs import Floats, Jobs
from schedopt.policies.msfq.logs.registration import replay_log
from schedopt.solvers.result import Document, gap
from schedopt.validation.documents import as_record
from schedopt.verbs.solve import solve

POLICIES = ("fcfs", "easy", "conservative", "saf")
DAY = "2026-11-26"
SECONDS = 8.0  # of CP-SAT, in its own clock; three times that of HiGHS
MOST, LARGEST = 40, 12_000  # jobs, and columns of a program, of which an optimum is looked for
BY_HAND = """
ties 4: 0 2 4 4, 0 3 2 2, 0 2 4 4, 0 1 2 2, 0 1 2 2
equal-ends 4: 0 2 6 6, 0 1 6 6, 1 3 2 2, 2 1 9 9, 3 1 2 2
estimates-long 4: 0 3 2 8, 0 4 3 3, 0 1 4 6, 1 2 2 2, 1 1 5 5
estimates-short 4: 0 3 6 2, 0 4 2 2, 0 1 7 4, 1 1 5 3, 1 2 1 1
arrival-at-end 4: 0 4 5 5, 5 2 3 3, 5 4 2 2, 5 2 3 3, 8 1 1 1
whole-machine 4: 0 4 3 3, 1 1 8 8, 2 4 2 2, 2 3 5 5, 3 4 1 1
zero-run 4: 0 4 0 1, 0 2 0 1, 0 4 3 3, 0 2 0 5, 1 1 2 2
gpus 6: 0 1 5 5 2, 0 1 4 4 1, 0 3 4 4 0, 1 1 9 9 0, 1 1 2 2 1
partitions 6: 0 3 5 5 1, 0 2 4 4 2, 1 2 3 3 1, 1 1 2 2 2, 2 1 3 3 1
spare 4: 0 2 6 6, 0 3 4 4, 0 1 9 9, 0 1 9 9, 1 1 5 5
easy-delays 4: 0 2 4 4, 0 3 4 4, 0 4 2 2, 0 1 9 9, 1 1 3 3, 2 2 2 2, 3 1 8 8, 4 3 1 1
equal-areas 4: 0 1 8 8, 0 2 4 4, 0 4 2 2, 1 1 4 4, 1 4 1 1, 2 2 2 2, 2 1 2 2, 3 2 1 1
one-processor 1: 0 1 5 5, 0 1 3 3, 1 1 1 1, 2 1 2 2, 2 1 2 2, 3 1 4 4, 9 1 1 1, 9 1 3 3
"""
"""Names and servers; of each job submit, need, run, estimate, and perhaps GPUs or a partition."""

FLUX = (4, 3, 3, 2, 2, 2, 2, *[1] * 10)  # nodes of the jobs of flux-sched issue 572
WALLTIMES = (*[80] * 7, *range(70, 24, -5))
DRAWN = (20, 20, 20, 24, 24, 28, 30, 30, 40)  # jobs, in tens of minutes; then in seconds
DRAWN += (50, 50, 60, 60, 80, 80, 100, 100, 120, 120, 150, 150, 200, 200)


class Workload(NamedTuple):
    """A workload as SWF would have it: columns of submit, need, run, estimate, and one more."""

    label: str
    seed: int
    servers: int
    rows: Any
    extra: str  # what the fifth column is: gpu, partition, or nothing

    def instance(self, number: int) -> Instance:
        """Return it as an instance, in which a job that runs for no time runs for 1."""
        submit, need, run, estimate, *more = np.array(self.rows).T
        name = f"backfilling-{number:02d}-{self.label}"
        given, columns = dict[str, Any](), dict[str, Any]()
        if self.extra == "gpu":
            given, columns = {"resources": {"gpu": 2}}, {"needs": {"gpu": more[0]}}
        if self.extra == "partition":
            sizes = (4, 2) if self.servers == 6 else (self.servers // 2, self.servers // 2)
            given["partitions"] = {f"p{i}": Partition(servers=n) for i, n in enumerate(sizes, 1)}
            columns["partition"] = [f"p{part}" for part in more[0].tolist()]
        jobs = Jobs.of(submit, need, np.maximum(run, 1), estimate, **columns)
        bare = Instance(name=name, servers=self.servers, log=f"{name}.csv", **given)
        return bare.with_jobs(jobs)

    def swf(self) -> str:
        """Return it in the Standard Workload Format, jobs numbered from 1."""
        lines = [f"; MaxProcs: {self.servers}", "; Note: backfilling, of the schedopt archive"]
        for job, (submit, need, run, estimate, *more) in enumerate(self.rows, 1):
            part = more[0] if more else -1
            known = f"{job} {submit} -1 {run} {need} -1 -1 {need} {estimate} -1 1"
            lines.append(f"{known} -1 -1 -1 -1 {part} -1 -1")
        return "\n".join(lines) + "\n"


def workloads() -> Iterator[Workload]:
    """Yield the forty workloads, those made by hand first."""
    for line in BY_HAND.strip().splitlines():
        head, _, text = line.partition(": ")
        label, servers = head.split()
        rows = [list(map(int, job.split())) for job in text.split(", ")]
        extra = {"gpus": "gpu", "partitions": "partition"}.get(label, "")
        yield Workload(label, 0, int(servers), rows, extra)
    for label, estimates in (("flux-572", WALLTIMES), ("flux-572-week", [604_800] * 17)):
        rows = [[0, need, 20, limit] for need, limit in zip(FLUX, estimates, strict=True)]
        yield Workload(label, 0, 4, rows, "")
    burst = [[0, 1 + 5 * i % 8, 1 + 7 * i % 5, 1 + 7 * i % 5 + i % 3] for i in range(24)]
    yield Workload("burst", 0, 8, burst, "")
    early = [[i // 2, 1 + 3 * i % 6, 1 + i % 4, 8] for i in range(12)]
    yield Workload("early-ends", 0, 8, early, "")
    for seed, count in enumerate(DRAWN, 1):
        yield drawn(seed, count)


def drawn(seed: int, count: int) -> Workload:
    """Draw a workload; its times are tens of minutes (coarse, with many ties) or seconds."""
    draw = np.random.Generator(np.random.PCG64(seed))
    coarse, extra = count < 50, ("", "", "", "gpu", "partition")[seed % 5]
    servers = int(draw.choice([8, 16, 32]))
    narrow = servers // 2 if extra == "partition" else servers
    need = np.minimum(2 ** (draw.geometric(0.4, count) - 1), narrow)
    need = np.where(draw.random(count) < 0.3, draw.integers(1, narrow + 1, count), need)
    unit = 600 if coarse else 1
    run = unit * np.ceil(np.exp(draw.normal(1.0 if coarse else 6.0, 0.8, count))).astype(int)
    kind = draw.integers(0, 4, count)  # exact, too long, a round number of half hours, too short
    longer, rounded = run * draw.integers(2, 5, count), -(-run // 1800) * 1800
    short = np.maximum(unit, run // 2 // unit * unit)
    estimate = np.select([kind == 0, kind == 1, kind == 2], [run, longer, rounded], short)
    apart = float((need * run).mean()) / servers
    submit = np.floor(np.cumsum(draw.exponential(apart, count)) / unit).astype(int) * unit
    columns = [submit - submit[0], need, run, estimate]
    if extra:
        columns.append(draw.integers(0, 3, count) if extra == "gpu" else draw.integers(1, 3, count))
    return Workload(f"{count}-jobs", seed, servers, np.column_stack(columns).tolist(), extra)


def machines(queue: Instance) -> Iterator[tuple[Any, list[tuple[Any, int]]]]:
    """Yield the rows of each part of a machine, and needs and amount of all that it has."""
    for part in queue.parts():
        jobs, held = part.queue.jobs, [(part.queue.jobs.need, part.queue.servers)]
        if jobs.needs is not None:
            held += zip(jobs.needs.amounts.T, part.queue.amounts, strict=True)
        yield part.rows, held


def makespan_bound(queue: Instance) -> int:
    """Return a lower bound on the last end, by arithmetic that a reader can repeat.

    From any submit on all that comes later needs its work over what there is, and jobs of more than
    half the machine run one after another.
    """
    submit, run = queue.jobs.submit.astype(int), queue.jobs.run.astype(int)
    best = int((submit + run).max())
    for rows, held in machines(queue):
        for need, most in held:
            for time in set(submit[rows].tolist()):
                later = submit[rows] >= time
                work = -(-int((need * run[rows])[later].sum()) // max(most, 1))
                wide = int(run[rows][later & (2 * need > most)].sum())
                best = max(best, time + work, time + wide)
    return best


def unit_of(queue: Instance) -> int:
    """Return the greatest common divisor of all times: some best schedule has no others."""
    times = np.concatenate([queue.jobs.submit, queue.jobs.run])
    return gcd(*times.astype(int).tolist())


def cp_sat(queue: Instance, goal: str, hint: Floats) -> tuple[Floats, bool]:
    """Return the best starts that CP-SAT finds, and whether it proves them: wait or makespan."""
    from ortools.sat.python import cp_model

    jobs, model, unit = queue.jobs, cp_model.CpModel(), unit_of(queue)
    submit, run = ((of // unit).astype(int).tolist() for of in (jobs.submit, jobs.run))
    last = int((hint + jobs.run).max()) // unit if goal == "makespan" else max(submit) + sum(run)
    both = list(zip(submit, run, strict=True))
    starts = [model.new_int_var(at, last - length, "") for at, length in both]
    boxes = list(map(model.new_fixed_size_interval_var, starts, run, [""] * len(run)))
    for rows, held in machines(queue):
        for need, most in held:
            model.add_cumulative([boxes[row] for row in rows], need.tolist(), most)
    alike: dict[Any, Any] = {}  # of jobs that are alike the one that came first may start first
    parts = jobs.labels("partition")
    for row, start in enumerate(starts):
        more = () if jobs.needs is None else tuple(jobs.needs.amounts[row].tolist())
        key = (run[row], int(jobs.need[row]), more, parts.codes[row] if parts else 0)
        if key in alike:
            model.add(alike[key] <= start)
        alike[key] = start
    for start, at in zip(starts, (hint // unit).astype(int).tolist(), strict=True):
        model.add_hint(start, at)
    if goal == "wait":
        model.minimize(sum(starts))
    else:
        end = model.new_int_var(-(-makespan_bound(queue) // unit), last, "")
        for start, length in zip(starts, run, strict=True):
            model.add(end >= start + length)
        model.minimize(end)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers, solver.parameters.max_deterministic_time = 1, SECONDS
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return hint, False
    return np.array([float(unit * solver.value(s)) for s in starts]), status == cp_model.OPTIMAL


def no_better(queue: Instance, goal: str, best: Floats) -> bool:
    """Tell whether HiGHS proves by a time-indexed program that no starts are better."""
    import highspy

    jobs, unit = queue.jobs, unit_of(queue)
    submit, run = ((of // unit).astype(int) for of in (jobs.submit, jobs.run))
    total = int(best.sum()) // unit
    end = int((best + jobs.run).max()) // unit - 1 if goal == "makespan" else 0
    last = end or int(submit.max() + run.sum())
    at = [(job, t) for job in range(len(jobs)) for t in range(submit[job], last - run[job] + 1)]
    if len(at) > LARGEST:
        return False
    if len({job for job, _ in at}) < len(jobs):
        return True  # one of them alone ends later
    solver = highspy.Highs()
    solver.silent()
    solver.setOptionValue("time_limit", 3 * SECONDS)
    count, ones = len(at), np.ones(len(at))
    solver.addVars(count, 0 * ones, ones)
    every = np.arange(count, dtype=np.int32)
    solver.changeColsIntegrality(count, every, np.array([highspy.HighsVarType.kInteger] * count))
    job, time = np.array(at).T
    for one in range(len(jobs)):
        own = every[job == one]
        solver.addRow(1, 1, len(own), own, ones[: len(own)])
    for rows, held in machines(queue):
        for need, most in held:
            needs = np.zeros(len(jobs))
            needs[rows] = need
            for t in range(last):
                own = every[(time <= t) & (t < time + run[job]) & (needs[job] > 0)]
                if needs[job[own]].sum() > most:
                    solver.addRow(-highspy.kHighsInf, most, len(own), own, needs[job[own]])
    if goal == "wait":  # is there any better schedule?
        solver.addRow(-highspy.kHighsInf, total - 1, count, every, time.astype(float))
    solver.run()
    return bool(solver.getModelStatus() == highspy.HighsModelStatus.kInfeasible)


def known(queue: Instance, result: Document) -> tuple[dict[str, Floats], list[object]]:
    """Return the best starts by goal, and for each goal its value, the best bound and the proof."""
    jobs, found, row = queue.jobs, {}, list[object]()
    hints = [as_record(result).starts, *(replay_log(queue, name, "exact") for name in POLICIES)]
    for goal in ("wait", "makespan"):
        value = partial(measured, queue, goal)
        starts, optimal = min(hints, key=value), False
        if len(jobs) <= MOST:
            starts, optimal = cp_sat(queue, goal, starts)
        bound, proof = makespan_bound(queue), "arithmetic"
        if goal == "wait":  # all times are whole: so is the sum of waits
            flow = ceil((result.bound or 0.0) * len(jobs) - 1e-6)
            bound, proof = flow - int(jobs.run.sum()), "certificate"
        if bound < value(starts):
            proof = "CP-SAT and HiGHS" if optimal and no_better(queue, goal, starts) else ""
            bound = int(value(starts)) if proof else max(bound, 0)
        found[f"best_{goal}"] = starts
        scale = len(jobs) if goal == "wait" else 1
        row += [f"{value(starts) / scale:.10g}", f"{bound / scale:.10g}", proof]
    return found, row


def improved(result: Document, queue: Instance, starts: Floats) -> Document:
    """Return a result with a schedule in place of the best policy's, if it is better."""
    jobs = queue.jobs
    response, work = starts + jobs.run - jobs.submit, jobs.need * jobs.run
    mean, solution = float(response.mean()), as_record(result)
    if result.objective is None or mean >= result.objective:
        return result
    better = structs.replace(
        solution,
        mean_response_time=mean,
        weighted_response_time=float((work * response).sum() / work.sum()),
        policy="cp-sat",
        policies=solution.policies | {"cp-sat": mean},
        schedule=packed(starts),
    )
    return structs.replace(
        result, objective=mean, gap=gap(mean, result.bound), solution=to_builtins(better)
    )


def measured(queue: Instance, goal: str, starts: Floats) -> float:
    """Return the sum of waits, or the last end."""
    jobs = queue.jobs
    return float((starts - jobs.submit).sum() if goal == "wait" else (starts + jobs.run).max())


def main(folder: Path) -> None:
    """Make the set."""
    entries, rows = list[bytes](), list[list[object]]()
    for place in ("instances", "results", "starts", "swf"):
        (folder / place).mkdir(parents=True, exist_ok=True)
    for number, workload in enumerate(workloads(), 1):
        queue = workload.instance(number)
        name, jobs = queue.name, queue.jobs
        path = folder / "instances" / f"{name}.json.gz"
        dump(queue, path)
        if workload.extra != "gpu":
            write_bytes(folder / "swf" / f"{name}.swf", workload.swf().encode())
        found = solve(queue, formulation="bound", time_limit=6, threads=1, certificate=True)
        result = structs.replace(found.document(), trace=())
        starts = {policy: replay_log(queue, policy, "given") for policy in POLICIES}
        best, optima = known(queue, result)
        result = improved(result, queue, best["best_wait"])
        write_bytes(folder / "results" / f"{name}.json.gz", gzip.compress(encode(result), mtime=0))
        columns = [map(int, of.tolist()) for of in (*starts.values(), *best.values())]
        text = as_csv(("job", *starts, *best), zip(range(len(jobs)), *columns, strict=True))
        write_bytes(folder / "starts" / f"{name}.csv", text.encode())
        got = [measured(queue, goal, of) for of in starts.values() for goal in ("wait", "makespan")]
        scaled = [f"{v / (1 if i % 2 else len(jobs)):.10g}" for i, v in enumerate(got)]
        rows.append([name, len(jobs), queue.servers, *scaled, *optima])
        by = Provenance(by=str(found.solver), date=DAY, version=result.version)
        kind = str((result.certificate or {}).get("kind", ""))
        made = Made(generator="benchmarks.backfilling", seed=workload.seed)
        given = {"instance": path, "text": encode(result), "made": made, "by": by, "proof": kind}
        entries.append(encode(entry_from(result, **given)))
        print(*rows[-1], flush=True)
    write_bytes(folder / "entries.jsonl", b"".join(entries))
    pairs = [f"{policy}_{goal}" for policy in POLICIES for goal in ("wait", "makespan")]
    of_goal = ("best_{}", "{}_bound", "{}_proof")
    pairs += [head.format(goal) for goal in ("wait", "makespan") for head in of_goal]
    write_bytes(
        folder / "known.csv", as_csv(("workload", "jobs", "servers", *pairs), rows).encode()
    )


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "archive/backfilling"))
