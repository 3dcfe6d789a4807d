"""Admission rules against definitions job by job, and on logs, with ties."""

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
import pytest
from builders.effort import tried
from builders.msfq import of_classes, queue_of, random_jobs
from hypothesis import strategies as st

from schedopt.policies.msfq.logs.registration import replay_log
from schedopt.policies.msfq.registration import classes_of, plan, replay_classes
from schedopt.policies.msfq.simulation import simulate
from schedopt.policies.msfq.summary import Trace

THREE = ((1, 1.0), (2, 0.5), (6, 0.1))
PAIR = ((1, 1.0), (6, 0.1))


class Now:
    """What a definition sees: jobs by number, those that wait in the order in which they came."""

    def __init__(self, servers: int, need: list[int]) -> None:
        self.need, self.free = need, servers
        self.needs = sorted(set(need))
        self.waiting: list[int] = []
        self.running: list[int] = []
        self.time, self.starts = 0.0, np.full(len(need), inf)

    def waits(self, need: int) -> list[int]:
        return [job for job in self.waiting if self.need[job] == need]

    def runs(self, need: int) -> int:
        return sum(self.need[job] == need for job in self.running)

    def fitting(self) -> list[int]:
        return [job for job in self.waiting if self.need[job] <= self.free]


Choice = Callable[[Now], int | None]


def msf(now: Now) -> int | None:
    return max(now.fitting(), key=lambda job: (now.need[job], -job), default=None)


class Adaptive:
    """Adaptive Quickswap: see section 4.4 of its paper."""

    draining = False

    def __call__(self, now: Now) -> int | None:
        widest = max(now.waiting, key=lambda job: (now.need[job], -job), default=None)
        if self.draining:
            if widest is not None and now.need[widest] > now.free:
                return None
            self.draining = False
            if widest is not None:
                return widest
        found = msf(now)
        if found is None and now.waiting:
            self.draining = not any(now.runs(now.need[job]) for job in now.waiting)
        return found


class Msfq:
    """MSFQ: see section 4.2 of its paper."""

    def __init__(self, threshold: int, variant: str) -> None:
        self.l, self.lazy = threshold, variant == "lazy"
        self.draining, self.batch = False, list[int]()

    def __call__(self, now: Now) -> int | None:
        small, large = now.waits(1), now.waits(6)
        if now.runs(6):
            return None
        if not now.running and not self.batch:
            if large:
                return large[0]
            self.draining = not self.lazy and len(small) <= self.l
            self.batch = small if self.draining else []
        if len(small) + len(now.running) <= self.l and (large or not self.lazy):
            self.draining = True
        if self.draining:
            return self.batch.pop(0) if self.batch else None
        return small[0] if small and now.free else None


class TwoThreshold:
    def __init__(self, threshold: int, b0: float, b1: float, b2: float) -> None:
        self.l, self.b0, self.b1, self.b2 = threshold, b0, b1, b2

    def __call__(self, now: Now) -> int | None:
        small, large, running = now.waits(1), now.waits(6), now.runs(1)
        if now.runs(6):
            return None
        few = not small or len(small) < self.b0 + self.b1 * len(large)
        if not running and large and few:
            return large[0]
        stop = running and large and running <= self.l and len(small) < self.b2
        return small[0] if small and now.free and not stop else None


class Static:
    """Static Quickswap, one class after the other: section 4.3, with a drain or an overlap."""

    def __init__(self, handover: str) -> None:
        self.drains = handover == "drain"
        self.turn, self.handing = 0, False

    def __call__(self, now: Now) -> int | None:
        cycle = now.needs[::-1]
        while True:
            need = cycle[self.turn]
            slots = 6 // need
            if not self.handing:
                if now.waits(need) and now.runs(need) < slots:
                    return now.waits(need)[0] if need <= now.free else None
                if now.waits(need) or now.runs(need) == slots:
                    return None
                self.handing = True
            if now.runs(need) and self.drains:
                return None
            after = [(self.turn + step) % len(cycle) for step in range(1, len(cycle) + 1)]
            following = next((turn for turn in after if now.waits(cycle[turn])), None)
            if following is None:
                return None
            self.turn, self.handing = following, False


CASES: list[tuple[str, dict[str, Any], Callable[..., Any]]] = [
    ("msf", {}, lambda: msf),
    ("adaptive-quickswap", {}, Adaptive),
    *[
        ("msfq", {"threshold": l, "variant": v}, Msfq)
        for l in (0, 2, 5)
        for v in ("literal", "lazy")
    ],
    ("two-threshold", {"threshold": 4, "b0": inf, "b1": 0.0, "b2": inf}, TwoThreshold),
    ("two-threshold", {"threshold": 3, "b0": 2.0, "b1": 1.5, "b2": 3.0}, TwoThreshold),
    *[("static-quickswap", {"handover": handover}, Static) for handover in ("overlap", "drain")],
]


def played(servers: int, trace: Trace, need: list[int], choose: Choice) -> Any:
    """Play job by job; what ends at an instant ends first, and what comes then comes together."""
    now = Now(servers, need)
    ends: dict[int, float] = {}
    came, times = 0, trace.times.tolist()
    while came < len(need) or ends:
        arrival, end = times[came] if came < len(need) else inf, min(ends.values(), default=inf)
        at = now.time = min(arrival, end)
        for job in sorted(job for job in ends if ends[job] == at):
            del ends[job]
            now.running.remove(job)
            now.free += need[job]
        while came < len(need) and times[came] == at:
            now.waiting.append(came)
            came += 1
        while (job := choose(now)) is not None:
            now.waiting.remove(job)
            now.running.append(job)
            now.free -= need[job]
            now.starts[job], ends[job] = at, at + trace.sizes[job]
    return now.starts


job_of = st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(1, 4))
jobs_of = st.lists(job_of, min_size=1) | st.lists(job_of, min_size=20, max_size=60)


def said(value: object) -> str:
    """Return what tells a case apart, the same in every process."""
    return "" if callable(value) else f"{value}"


@pytest.mark.parametrize(("name", "options", "definition"), CASES, ids=said)
@tried(60, jobs=jobs_of)
def test_compiled_rule_equals_its_definition(
    name: str,
    options: dict[str, Any],
    definition: Any,
    jobs: list[tuple[int, int, int]],
) -> None:
    classes = PAIR if name in ("msfq", "two-threshold") else THREE
    queue = of_classes(6, *classes)
    gaps, kinds, sizes = (np.array(part) for part in zip(*jobs, strict=True))
    kinds %= len(classes)
    trace = Trace(np.cumsum(gaps).astype(float), kinds, sizes.astype(float))
    need = [classes[kind][0] for kind in kinds.tolist()]
    expected = played(6, trace, need, definition(**options))
    found = simulate(queue, plan(queue, name, **options), arrivals=len(jobs), trace=trace).starts
    np.testing.assert_array_equal(np.nan_to_num(found, nan=inf), expected)


@tried(40, seed=st.integers(0, 2**32 - 1))
def test_compiled_rule_by_class_replays_a_log_job_by_job(seed: int) -> None:
    log = queue_of(*random_jobs(seed))
    chosen = plan(classes_of(log), "msf")
    assert replay_classes(log, chosen).tolist() == replay_log(log, "msf").tolist()
