"""Looking ahead: what waits behind a ready job, where jobs state ``runtime``.

A job's *way* is its runtime with that of the longest chain of jobs behind it. Looking ahead, a job
is worth its way times the part of the machine that it fills, by its scarcest resource: so the
machine is kept full, of what the end waits for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

STEPS = 1000
"""Whole numbers that rewards are rounded to: what is stated of runtimes is no more exact."""


class Lookahead:
    """The ways of all jobs, which are found anew when the graph gets new jobs."""

    def __init__(self, dag: Any, warn: Callable[[str], None]) -> None:
        self._dag, self._warn = dag, warn
        self._ways: dict[Any, float] = {}
        self._most: dict[str, float] = {}

    def rewards(
        self, ready: Sequence[Any], remaining: Iterable[Any], available: Mapping[str, Any]
    ) -> np.ndarray | None:
        """Return what each ready job is worth, in whole numbers; None where no runtime is known."""
        for name, free in available.items():
            if isinstance(free, int | float) and not isinstance(free, bool):
                self._most[name] = max(self._most.get(name, 0.0), free)
        parts = [_parts(job) for job in ready]
        if any(part not in self._ways for some in parts for part in some):
            self._ways = self._found([*remaining, *(part for some in parts for part in some)])
        if not any(self._ways.values()):
            self._warn("no job states its runtime, by which to look ahead")
            return None
        ways = np.array([max(self._ways[part] for part in some) for some in parts])
        worth = ways * np.array([self._fills(job) for job in ready])
        return np.ceil(worth / max(worth.max(initial=0.0), 1e-300) * STEPS).astype(np.int64)

    def _fills(self, job: Any) -> float:
        """Return which part of the machine a job fills, by its scarcest resource."""
        asked = job.scheduler_resources
        found = [_number(asked.get(name)) / most for name, most in self._most.items() if most]
        return max(found, default=0.0)

    def _found(self, jobs: Iterable[Any]) -> dict[Any, float]:
        """Return the way of each job, and of those that it needs and that have not ended."""
        needs: dict[Any, list[Any]] = {}
        waiting = [part for job in jobs for part in _parts(job)]
        while waiting:
            job = waiting.pop()
            if job not in needs:
                needs[job] = [
                    one for one in self._dag.job_dependencies(job) if not self._dag.finished(one)
                ]
                waiting += needs[job]
        stated = {job: _number(job.scheduler_resources.get("runtime")) for job in needs}
        known = [runtime for runtime in stated.values() if runtime]
        usual = sum(known) / len(known) if known else 0.0
        behind = dict.fromkeys(needs, 0)
        for some in needs.values():
            for one in some:
                behind[one] += 1
        ways, free = dict.fromkeys(needs, 0.0), [job for job, count in behind.items() if not count]
        while free:  # from the end to the beginning
            job = free.pop()
            ways[job] += stated[job] or usual
            for one in needs[job]:
                ways[one] = max(ways[one], ways[job])
                behind[one] -= 1
                if not behind[one]:
                    free.append(one)
        return ways


def _parts(job: Any) -> list[Any]:
    """Return the jobs of a group, or the job itself."""
    inner = getattr(job, "jobs", None)
    if inner is None:
        return [job]
    return list(inner() if callable(inner) else inner)


def _number(value: object) -> float:
    """Return an amount above 0, else 0."""
    good = isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    return float(value) if good else 0.0  # type: ignore[arg-type]
