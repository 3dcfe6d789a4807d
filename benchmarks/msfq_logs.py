"""How far each policy is from the best that could have been, on logs; and how fast it replays them.

``python -m benchmarks.msfq_logs LOG...`` takes logs of any kind that converts to jobs; without any,
those of the Parallel Workloads Archive that lie beside the project, the model of Lublin and
Feitelson, and the paper's own: arrivals of its one-or-all system, written down.
"""

import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

import schedopt
from benchmarks.tables import Measured, measurement, row
from benchmarks.timing import best_of
from schedopt.instances.msfq import Instance, Preempted
from schedopt.instances.msfq.log_converters import convert
from schedopt.instances.msfq.logs import Jobs
from schedopt.policies.registry import NotApplicableError, registered

LOGS = Path(__file__).parents[1].parent / "shared" / "data" / "swf"
POLICIES = (
    "fcfs", "first-fit", "msf", "adaptive-quickswap", "static-quickswap", "easy", "easy-sjbf",
    "conservative", "sjf", "saf", "ljf", "wfp3", "f1", "multifactor", "fair-share-decay",
    "server-filling", "server-filling-srpt", "preemptive-srpt",
)  # fmt: skip


def models() -> Iterator[Instance]:
    """Yield a log from each model."""
    wanted = {"jobs": 5000, "load": 0.8}
    yield schedopt.generate("msfq", "lublin-feitelson", seed=1, options=wanted)
    draw, count, servers, load = np.random.default_rng(1), 20_000, 32, 0.9
    need = np.where(draw.random(count) < 0.9, 1, servers)  # section 6.2
    rate = load * servers / (0.9 + 0.1 * servers)
    jobs = Jobs.of(np.cumsum(draw.exponential(1 / rate, count)), need, draw.exponential(1, count))
    name = f"one-or-all, {servers} servers, {count:,} arrivals"
    yield Instance(name=name, servers=servers, log="log.parquet").with_jobs(jobs)


@measurement
def policies(queue: Instance) -> Measured:
    """Print what every policy gets on a log, and how far that is above all bounds."""
    seconds, solved = best_of(1, partial(schedopt.solve, queue, certificate=True))
    least = solved.bound or 0.0
    known = ", ".join(f"{name} {value:.2f}" for name, value in solved.solution.bounds.items())
    yield (
        f"{queue.description or queue.name}\n"
        f"{len(queue.jobs):,} jobs, load {queue.load:.3f} on {queue.servers} servers\n"
        f"bounds: {known} ({'re-proved' if solved.bound_checked else 'believed'})\n"
        f"best policy: {solved.solution.policy}, {solved.objective:.1f} ({seconds:.2f} s)"
    )
    for name in POLICIES:
        work = partial(registered("msfq")[name].run, queue)
        try:
            work()  # compiled before it is timed
            seconds, got = best_of(1, work)
        except NotApplicableError as reason:
            yield row(name, str(reason))
            continue
        beside = {"+-": got.confidence or 0.0, "over bound": "preempts"}
        if not isinstance(got, Preempted):  # of which the bound need not hold
            beside["over bound"] = f"{got.mean_response_time / least - 1:.2%}"
            beside |= {"wait": got.mean_wait, "loss": f"{got.loss_of_capacity:.2%}"}
        beside |= {"slowdown": got.mean_bounded_slowdown, "jobs/s": len(queue.jobs) / seconds}
        yield row(name, f"{got.mean_response_time:,.1f}", **beside)


def main() -> None:
    began = time.perf_counter()
    given = [Path(path) for path in sys.argv[1:]]
    for path in given or sorted(LOGS.glob("*.swf*")):
        policies(convert(path))
    for queue in () if given else models():
        policies(queue)
    print(f"{time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()
