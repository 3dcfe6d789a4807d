"""Policies tried on a log before it is solved; the best is the first incumbent."""

from __future__ import annotations

from collections.abc import Iterator
from math import fsum
from operator import mul
from typing import TYPE_CHECKING, Any

import numpy as np

from schedopt.instances.msfq import Bracketed, Instance
from schedopt.instances.msfq.answers import pack_starts
from schedopt.instances.msfq.logs import Floats
from schedopt.solvers.clock import now

if TYPE_CHECKING:
    from schedopt.formulations.protocol import Formulation

FAST = ("first-fit", "easy", "easy-sjbf", "sjf", "saf", "f1")


def start(model: Formulation, seconds: float | None = None) -> Bracketed | None:
    """Return the best of all policies on a log."""
    from schedopt.formulations.msfq import LogBound

    return best_policy(model.instance, seconds) if isinstance(model, LogBound) else None


def fallback(model: Formulation) -> tuple[None, float | None]:
    """Return a bound for a threshold: that no job responds sooner than it runs."""
    queue = model.instance
    if model.name != "threshold" or queue.log is not None:
        return None, None
    runs = [1 / job.service_rate for job in queue.classes]
    return None, fsum(map(mul, queue.weights(), runs)) * (1 - 1e-12)


def settings(
    queue: Instance,
    *,
    many: int = 200_000,  # jobs from which on only fast policies are tried
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the policies that are tried on a log, each with the options that are not at default."""
    from schedopt.policies.msfq.logs.registration import LOG_POLICIES
    from schedopt.policies.registry import registered

    policies = registered("msfq")
    for name, policy in LOG_POLICIES.items():
        if name not in policies:
            continue
        if len(queue.jobs) > many and name not in FAST:
            continue
        believed = ["given", "exact"] if policy.plans and queue.jobs.estimated else ["exact"]
        fills = ["stop", "skip", "easy"] if "fill" in policies[name].options else [None]
        for estimates in believed:
            for fill in fills:
                own = {"estimates": estimates} if estimates == "exact" and policy.plans else {}
                if fill and fill != policies[name].options["fill"].default:
                    own["fill"] = fill
                yield name, own


def best_policy(queue: Instance, seconds: float | None = None) -> Bracketed:
    """Return the best of all policies for logs, in their settings; no bounds yet."""
    from schedopt.policies.msfq.logs.registration import replay_log

    jobs, began = queue.jobs, now()
    weights = jobs.need * jobs.run
    tried: dict[str, float] = {}
    best: Floats | None = None
    for name, own in sorted(settings(queue), key=lambda setting: setting[0] not in FAST):
        if tried and seconds is not None and now() - began > seconds / 3:
            break
        starts = replay_log(queue, name, **{"estimates": "given", **own})
        label = " ".join([name, *(f"{key}={word}" for key, word in own.items())])
        response = starts + jobs.run - jobs.submit
        of = None if queue.objective == "mean" else weights
        value = float(np.average(response, weights=of))
        if best is None or value < min(tried.values()):
            best = starts
        tried[label] = value
    assert best is not None  # noqa: S101  there are policies
    response = best + jobs.run - jobs.submit
    return Bracketed(
        jobs=len(jobs),
        mean_response_time=float(response.mean()),
        weighted_response_time=float(weights @ response / weights.sum()),
        policy=min(tried, key=lambda label: tried[label]),
        policies=tried,
        bounds={},
        schedule=pack_starts(best),
    )
