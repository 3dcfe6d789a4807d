"""Does any policy beat a lower bound? On random small logs, ``python -m benchmarks.msfq_beaten``.

Every policy for logs, with estimates as given and exact, and every policy by class is replayed on
each; bounds are all relaxations, and prices of servers re-proved from their certificate every tenth
time. One line in the end, and exit status 1 where a bound was beaten.
"""

import sys
import time

import numpy as np
import typer

from schedopt.formulations.msfq import LogBound
from schedopt.instances.msfq import Bracketed, Instance
from schedopt.instances.msfq.logs import Jobs
from schedopt.policies.msfq.logs.registration import LOG_POLICIES, started
from schedopt.problems.msfq.starting import best_policy
from schedopt.solvers import door
from schedopt.validation.msfq.bound import reproved

ROUNDING = 1e-9


def drawn(seed: int, most: int = 13) -> Instance:
    """Draw a log of fewer than ``most`` jobs in which much falls together."""
    draw = np.random.default_rng([15, seed])
    n, servers = int(draw.integers(1, most)), int(draw.integers(1, 13))
    submit = np.sort(draw.integers(0, max(2, 3 * n // int(draw.integers(1, 5))), n))
    wide = draw.random() < 0.5
    need = draw.integers(1, servers + 1, n) if wide else draw.geometric(0.4, n)
    run = draw.integers(1, 10, n).astype(np.float64)
    if draw.random() < 0.3:
        run = run * draw.random(n) + 0.01
    estimate = run * np.where(draw.random(n) < 0.4, 1.0, draw.integers(1, 6, n))
    user = [str(who) for who in draw.integers(0, 3, n).tolist()]
    jobs = Jobs.of(submit, np.minimum(servers, need), run, estimate, user=user)
    objective = "weighted" if draw.random() < 0.3 else "mean"
    bare = Instance(name=f"log-{seed}", servers=servers, log="log.csv", objective=objective)  # type: ignore[arg-type]
    return bare.with_jobs(jobs)


def beaten(queue: Instance, *, prove: bool) -> list[str]:
    """Return what is wrong on a log: policies below the bound, or a bound that is not re-proved."""
    model = LogBound(queue, rounds=60)
    known: Bracketed = best_policy(queue)
    result = door.solve(model, start=lambda: known)
    bound, jobs = result.bound or 0.0, queue.jobs
    weights = jobs.need * jobs.run if queue.objective == "weighted" else None
    wrong = []
    for name in LOG_POLICIES:
        for estimates in ("given", "exact"):
            starts = started(queue, name, estimates)
            got = float(np.average(starts + jobs.run - jobs.submit, weights=weights))
            if got < bound * (1 - ROUNDING):
                wrong.append(f"{queue.name}: {name} {estimates} gets {got}, below {bound}")
    if prove and result.options.get("best_bound") != "busy-dates":
        told = reproved(queue, (), model.certificate(), result.document())
        wrong += [f"{queue.name}: {told}"] if told else []
    return wrong


def main(logs: int = 10_000) -> None:
    """Replay every policy on so many random logs."""
    began, wrong = time.perf_counter(), []
    for seed in range(logs):
        wrong += beaten(drawn(seed), prove=seed % 10 == 0)
    print(*wrong[:20], sep="\n", end="\n" if wrong else "")
    print(
        f"{logs:,} random logs under {len(LOG_POLICIES)} policies, estimates given and exact: "
        f"{len(wrong)} beat a bound; {time.perf_counter() - began:.0f} s"
    )
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    typer.run(main)
