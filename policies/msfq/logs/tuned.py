"""Priority weights tuned on the first part of a log by a seeded search, judged on the rest.

Of the family `Priority` it looks at waiting time, need, run time, stretch and the user's usage,
with backfilling or without, and at what long jobs may hold together. The weight of the run time is
-1: only ratios of weights matter.
"""

from collections.abc import Generator
from typing import Any, NamedTuple

import msgspec
import numpy as np

from schedopt.instances.msfq import Instance, Replayed
from schedopt.instances.msfq.logs import Floats
from schedopt.instances.msfq.site import Limit, Priority, Weights
from schedopt.instances.options import number, whole
from schedopt.policies.msfq.logs.measures import SLOWDOWN_BOUND
from schedopt.policies.msfq.logs.registration import ESTIMATES, OPTIONS, run, started
from schedopt.policies.registry import NotApplicableError, Policy, register

CORNERS = (0.0, -0.5, -1.0, -2.0)
"""Weights of the need tried first, with each way to fill: 0 is SJF, -1 is SAF."""
FACTORS = ("wait", "stretch", "usage")
MOST_LIMITS = 2
LEAST = 20
"""The fewest jobs that weights are tuned on."""
LOSS = 1e-9


class TunedPriority(NamedTuple):
    """The weights found; ``objective`` and ``worst`` (user's slowdown) are of the tuning jobs."""

    site: Priority
    objective: float
    worst: float
    tried: int


def halves(queue: Instance, train: float) -> tuple[Instance, Instance]:
    """Split a log into its first jobs, a given fraction of all, and the rest."""
    count = round(len(queue.jobs) * train)
    if not LEAST <= count < len(queue.jobs):
        raise NotApplicableError(f"from {LEAST} jobs to all but one to tune on: here {count}")
    return (
        queue.with_jobs(queue.jobs.take(slice(0, count))),
        queue.with_jobs(queue.jobs.take(slice(count, None))),
    )


def tune(queue: Instance, estimates: str, evaluations: int = 150, seed: int = 0) -> TunedPriority:
    """Search weights for a log's objective that treat no user worse than EASY's worst.

    The corners of the family come first, then steps from the best so far, which get smaller.
    """
    most = mean_slowdowns(queue, started(queue, "easy", estimates)).max(initial=1.0)
    best = TunedPriority(Priority(), np.inf, np.inf, 0)
    proposals = _proposals(queue, queue.jobs.planned(estimates), evaluations, seed)
    site = next(proposals)
    for tried in range(1, evaluations + 1):
        starts = started(queue, "weighted", estimates, priority=as_json(site))
        worst = float(mean_slowdowns(queue, starts).max(initial=1.0))
        found = TunedPriority(site, _objective(queue, starts), worst, tried)
        fair, fairer = max(worst - most, 0.0), max(best.worst - most, 0.0)
        if (fair > LOSS * most, found.objective) < (fairer > LOSS * most, best.objective):
            best = found
        if tried < evaluations:
            site = proposals.send(best.site)
    return best._replace(tried=evaluations)


def _proposals(
    queue: Instance, planned: Floats, count: int, seed: int
) -> Generator[Priority, Priority, None]:
    """Yield candidates; the best so far is sent back."""
    draw = np.random.default_rng(seed)
    # A wait as long as the mean run time counts 1, so that steps suit any log.
    plain = Priority(max_age=float(queue.jobs.run.mean()))
    tried = 0
    for need in CORNERS:
        for fill in ("easy", "skip", "stop"):
            weights = Weights(run=-1.0, need=need)
            best = yield msgspec.structs.replace(plain, weights=weights, backfill=fill)
            tried += 1
    factors = FACTORS if queue.jobs.user is not None else FACTORS[:-1]
    while True:
        scale = max(0.1, 1.0 - tried / max(count, 1))
        now = msgspec.structs.asdict(best.weights)
        limits, fill = best.limits, best.backfill
        key = ("need", "limits", *factors)[int(draw.integers(len(factors) + 2))]
        if key == "limits":
            limits = _limits(limits, planned, scale, draw)
        elif key == "need":
            now[key] += float(draw.normal()) * scale
        elif not now[key]:
            now[key] = float(10 ** draw.uniform(-3, 1)) * (-1 if key == "usage" else 1)
        else:
            now[key] *= 0.0 if draw.random() < 0.1 else float(10 ** (draw.normal() * scale))
        if draw.random() < 0.2:
            fill = draw.choice(["easy", "skip", "stop"]).item()
        best = yield msgspec.structs.replace(
            best, weights=Weights(**now), backfill=fill, limits=limits
        )
        tried += 1


def _limits(
    now: tuple[Limit, ...], planned: Floats, scale: float, draw: np.random.Generator
) -> tuple[Limit, ...]:
    """Return limits with one more, one less, or one changed."""
    if not now or (len(now) < MOST_LIMITS and draw.random() < 0.3):
        length = float(np.quantile(planned, draw.uniform(0.5, 0.99)))
        return (*now, Limit(longer_than=length, most=float(draw.uniform(0.4, 0.98))))
    at = int(draw.integers(len(now)))
    if draw.random() < 0.15:
        return now[:at] + now[at + 1 :]
    length = now[at].longer_than * float(10 ** (0.5 * scale * draw.normal()))
    most = min(1.0, max(0.05, now[at].most + 0.2 * scale * float(draw.normal())))
    return (*now[:at], Limit(longer_than=length, most=most), *now[at + 1 :])


def mean_slowdowns(queue: Instance, starts: Floats) -> Floats:
    """Return the users' mean bounded slowdowns, shape (users,); of no user if none is known."""
    jobs = queue.jobs
    if jobs.user is None or not (known := jobs.user.codes >= 0).any():
        return np.empty(0)
    slowdown = (starts + jobs.run - jobs.submit) / np.maximum(jobs.run, SLOWDOWN_BOUND)
    counts = np.bincount(jobs.user.codes[known])
    sums = np.bincount(jobs.user.codes[known], np.maximum(slowdown[known], 1.0))
    means: Floats = sums[counts > 0] / counts[counts > 0]
    return means


def as_json(site: Priority) -> str:
    """Return weights as a file has them."""
    return msgspec.json.encode(site).decode()


def _objective(queue: Instance, starts: Floats) -> float:
    jobs = queue.jobs
    weights = jobs.need * jobs.run if queue.objective == "weighted" else None
    return float(np.average(starts + jobs.run - jobs.submit, weights=weights))


def _run(
    queue: Instance, *, train: float = 0.5, evaluations: int = 150, search: int = 0, **more: Any
) -> Replayed:
    if queue.log is None:
        raise NotApplicableError("tuned replays logs: this instance holds classes of jobs")
    seen, _ = halves(queue, train)
    known = "exact" if more.get("estimates") == "exact" or not seen.jobs.estimated else "given"
    found = tune(seen, known, evaluations, search)
    replayed = run("weighted", queue, priority=as_json(found.site), **more)
    note = f"tuned on the first {len(seen.jobs):,} jobs: weighted, priority={as_json(found.site)}"
    return msgspec.structs.replace(
        replayed, note="; ".join(filter(None, [replayed.note or "", note]))
    )


register(
    Policy(
        name="tuned",
        problem="msfq",
        run=_run,
        source="a seeded search; the family is that of weighted",
        summary="weighted, its weights tuned on the log's first part; the note has them as JSON",
        options={
            "train": number(0.5, "a number between 0 and 1", lambda v: 0 < v < 1),
            "evaluations": whole(150, 1, 100_000),
            "search": whole(0, 0, 2**31, ", the search's seed"),
            **OPTIONS,
            "estimates": ESTIMATES,
        },
        suits="beside",
    )
)
