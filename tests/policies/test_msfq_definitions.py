"""Admission rules against definitions job by job, in both simulators and on logs, with ties."""

from collections.abc import Callable
from math import inf
from random import Random
from typing import Any

import numpy as np
import pytest
from builders.effort import tried
from builders.msfq import at_load, of_classes, queue_of
from hypothesis import strategies as st

import schedopt
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.logs import Jobs
from schedopt.instances.msfq.traces import Trace
from schedopt.policies.msfq.by_job import BalancedSplitting
from schedopt.policies.msfq.logs import class_rules
from schedopt.policies.msfq.registration import plan, rules
from schedopt.policies.msfq.simulation import simulate

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


def fcfs(now: Now) -> int | None:
    first = next(iter(now.waiting), None)
    return first if first is not None and now.need[first] <= now.free else None


def first_fit(now: Now) -> int | None:
    return next(iter(now.fitting()), None)


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

    def __init__(self, handover: str, order: str) -> None:
        self.drains, self.ascending = handover == "drain", order == "ascending"
        self.turn, self.handing = 0, False

    def __call__(self, now: Now) -> int | None:
        cycle = now.needs if self.ascending else now.needs[::-1]
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


class ByThresholds:
    """Thresholds by class: see `ClassThresholds`; those of the first three needs."""

    def __init__(self, leave: str, rest: str, call: str, first: str) -> None:
        parts = [
            dict(zip((1, 2, 6), map(int, part.split(",")), strict=True))
            for part in (leave, rest, call)
        ]
        self.leave, self.rest, self.call = parts
        self.best = min if first == "least" else max
        self.draining, self.left = False, set[int]()

    def __call__(self, now: Now) -> int | None:
        waiting = {need: now.waits(need) for need in now.needs if now.waits(need)}
        if self.draining:
            again = [
                need
                for need, jobs in waiting.items()
                if len(jobs) >= (self.rest[need] + 1 if need in self.left else self.call[need])
            ]
            if again and max(again) > now.free:
                return None
            self.draining = False
            if again:
                return waiting[max(again)][0]
        calling = [n for n, jobs in waiting.items() if now.runs(n) or len(jobs) >= self.call[n]]
        new = [need for need in calling if not now.runs(need)]
        served = [need for need in now.needs if now.runs(need)]
        may_leave = all(
            now.runs(need) <= self.leave[need] and len(now.waits(need)) <= self.rest[need]
            for need in served
        )
        if new and min(new) > now.free and may_leave:
            self.draining, self.left = True, set(served)
            return None
        fitting = [need for need in calling if need <= now.free]
        fitting = fitting or [need for need in waiting if need <= now.free]
        return waiting[self.best(fitting)][0] if fitting else None


CASES: list[tuple[str, dict[str, Any], Callable[..., Any]]] = [
    ("fcfs", {}, lambda: fcfs),
    ("first-fit", {}, lambda: first_fit),
    ("msf", {}, lambda: msf),
    ("adaptive-quickswap", {}, Adaptive),
    *[
        ("msfq", {"threshold": l, "variant": v}, Msfq)
        for l in (0, 2, 5)
        for v in ("literal", "lazy")
    ],
    ("two-threshold", {"threshold": 4, "b0": inf, "b1": 0.0, "b2": inf}, TwoThreshold),
    ("two-threshold", {"threshold": 3, "b0": 2.0, "b1": 1.5, "b2": 3.0}, TwoThreshold),
    *[
        ("static-quickswap", {"handover": h, "order": o}, Static)
        for h in ("overlap", "drain")
        for o in ("ascending", "descending")
    ],
    *[
        (
            "class-thresholds",
            {"leave": leave, "rest": rest, "call": call, "first": first},
            ByThresholds,
        )
        for leave, rest, call in (
            ("6,3,1", "0,0,0", "1,1,1"),
            ("2,1,0", "1,0,1", "2,1,1"),
            ("1,1,1", "0,2,0", "1,2,2"),
        )
        for first in ("most", "least")
    ],
]


def test_every_rule_of_the_house_has_a_definition() -> None:
    """Beside these: nMSR, which goes by a random clock, and rules that plain Python runs alone."""
    compiled = {name for name, twin in rules().items() if twin}
    assert compiled - {name for name, _, _ in CASES} == {"nmsr"}


def responses(servers: int, trace: Trace, need: list[int], choose: Choice, together: bool) -> Any:
    """Play job by job; what ends at an instant ends first, and what comes then comes together."""
    now = Now(servers, need)
    ends: dict[int, float] = {}
    came, times = 0, trace.times.tolist()
    while came < len(need) or ends:
        arrival, end = times[came] if came < len(need) else inf, min(ends.values(), default=inf)
        at = now.time = min(arrival, end)
        gone = sorted(job for job in ends if ends[job] == at)
        for job in gone if together else gone[:1]:
            del ends[job]
            now.running.remove(job)
            now.free += need[job]
        while came < len(need) and times[came] == at and (together or not gone):
            now.waiting.append(came)
            came += 1
            if not together:
                break
        while (job := choose(now)) is not None:
            now.waiting.remove(job)
            now.running.append(job)
            now.free -= need[job]
            now.starts[job], ends[job] = at, at + trace.sizes[job]
    return now.starts + trace.sizes - trace.times


job_of = st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(1, 4))
jobs_of = st.lists(job_of, min_size=1) | st.lists(job_of, min_size=20, max_size=60)


def said(value: object) -> str:
    """Return what tells a case apart, the same in every process."""
    return "" if callable(value) else f"{value}"


@pytest.mark.parametrize(("name", "options", "definition"), CASES, ids=said)
@tried(40, jobs=jobs_of)
def test_a_rule_is_its_definition(
    name: str, options: dict[str, Any], definition: Any, jobs: list[tuple[int, int, int]]
) -> None:
    classes = PAIR if name in ("msfq", "two-threshold") else THREE
    queue = of_classes(6, *classes)
    gaps, kinds, sizes = (np.array(part) for part in zip(*jobs, strict=True))
    kinds %= len(classes)
    trace = Trace(np.cumsum(gaps).astype(float), kinds, sizes.astype(float))
    need = [classes[kind][0] for kind in kinds.tolist()]
    expected = responses(6, trace, need, definition(**options), together=False)
    chosen = plan(queue, name, **options)
    found = [
        simulate(queue, chosen, arrivals=len(jobs), trace=trace, each=True, plainly=plainly)
        for plainly in (False, True)
    ]
    for one in found:
        np.testing.assert_array_equal(np.nan_to_num(one.responses, nan=inf), expected)
    for part in ("counts", "levels", "came", "oldest"):
        np.testing.assert_allclose(*(getattr(one, part) for one in found), err_msg=part)


@pytest.mark.parametrize(
    ("name", "options", "definition"),
    [case for case in CASES if case[0] != "two-threshold"],
    ids=said,
)
@tried(40, jobs=jobs_of)
def test_a_rule_on_a_log_is_its_definition(
    name: str, options: dict[str, Any], definition: Any, jobs: list[tuple[int, int, int]]
) -> None:
    gaps, kinds, sizes = (np.array(part) for part in zip(*jobs, strict=True))
    classes = PAIR if name == "msfq" else THREE
    need = [classes[kind % len(classes)][0] for kind in kinds.tolist()]
    need[: len(classes)] = [n for n, _ in classes][: len(need)]
    if set(need) != {n for n, _ in classes}:
        return
    log = queue_of(Jobs.of(np.cumsum(gaps), need, sizes), 6)
    trace = Trace(log.jobs.submit, np.zeros(len(need), np.int64), log.jobs.run)
    expected = responses(6, trace, need, definition(**options), together=True)
    if np.isinf(expected).any():
        return
    chosen = plan(class_rules.classes(log), name, **options)
    starts = class_rules.replay_classes(log, chosen)
    np.testing.assert_array_equal(starts + log.jobs.run - log.jobs.submit, expected)
    assert starts.tolist() == class_rules._plainly(log, chosen, chosen.make(), False).tolist()


# --- rules that go by single jobs ---

FOUR = of_classes(15, (1, 2.0), (3, 1.0), (5, 0.8), (15, 0.2))
"""The authors' simulator is known to get 4.08 on it, by BackFilling."""
MIXED = of_classes(15, (1, 2.0), (3, 1.0), (5, 0.8))


def drawn(queue: Instance, seed: int, jobs: int) -> Trace:
    """Draw a trace with ties."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, len(queue.classes), jobs)
    return Trace(
        np.sort(rng.integers(0, jobs, jobs)).astype(float),
        kinds,
        rng.integers(1, 8, jobs).astype(float),
    )


@tried(40, seed=st.integers(0, 2**31 - 1), overestimate=st.sampled_from([0.0, 0.5, 3.0]))
def test_backfilling_is_its_definition(seed: int, overestimate: float) -> None:
    trace = drawn(FOUR, seed, 60)
    need = [FOUR.classes[c].need for c in trace.classes]
    factor = [
        1.0 + overestimate * Random(f"{j} {time!r}").random()  # noqa: S311 - no secret
        for j, time in enumerate(trace.times.tolist())
    ]

    def choose(now: Now) -> int | None:
        waiting = now.waiting
        if not waiting or need[waiting[0]] <= now.free:
            return waiting[0] if waiting else None
        believed = {j: now.starts[j] + trace.sizes[j] * factor[j] for j in now.running}
        start = min(
            t
            for t in believed.values()
            if 15 - sum(need[j] for j, e in believed.items() if e > t) >= need[waiting[0]]
        )
        return next(
            (
                j
                for j in waiting[1:]
                if need[j] <= now.free and now.time + trace.sizes[j] * factor[j] <= start
            ),
            None,
        )

    found = simulate(
        FOUR,
        plan(FOUR, "backfilling", overestimate=overestimate),
        arrivals=60,
        trace=trace,
        each=True,
        estimates=True,
    )
    np.testing.assert_array_equal(found.responses, responses(15, trace, need, choose, False))


@tried(40, seed=st.integers(0, 2**31 - 1), psi=st.sampled_from([0.0, 0.7, 1.0]))
def test_balanced_splitting_is_its_definition(seed: int, psi: float) -> None:
    trace = drawn(MIXED, seed, 60)
    kinds = trace.classes.tolist()
    need = [MIXED.classes[c].need for c in kinds]
    places = BalancedSplitting(MIXED, psi).places
    helpers = 15 - sum(p * job.need for p, job in zip(places, MIXED.classes, strict=True))
    helped: set[int] = set()

    def choose(now: Now) -> int | None:
        for j in now.waiting:
            own = sum(1 for r in now.running if r not in helped and kinds[r] == kinds[j])
            before = [i for i in now.waiting if i < j and need[i] <= helpers]
            if own < places[kinds[j]]:
                return j
            busy = sum(need[r] for r in now.running if r in helped)
            if not before and need[j] <= helpers - busy:
                helped.add(j)
                return j
        return None

    found = simulate(
        MIXED, plan(MIXED, "balanced-splitting", psi=psi), arrivals=60, trace=trace, each=True
    )
    np.testing.assert_array_equal(found.responses, responses(15, trace, need, choose, False))


def test_places_are_those_of_the_load() -> None:
    assert BalancedSplitting(MIXED, 1.0).places == [3, 1, 1]
    assert BalancedSplitting(MIXED, 0.7).places == [2, 1, 0]
    assert BalancedSplitting(at_load(8, 0.5)).helpers == 8
    refused = schedopt.evaluate(at_load(8, 0.5), "balanced-splitting", options={"psi": 1.0})
    assert refused.termination == "not-applicable"
    assert "need 8" in str(refused.message)


def test_what_the_policies_get() -> None:
    """The paper's authors' simulator gets 4.08 for BackFilling, weighted by load."""
    options = {"arrivals": 30_000}
    exact = schedopt.evaluate(FOUR, "backfilling", options=options)
    assert exact.solution.weighted_response_time == pytest.approx(4.08, rel=0.08)
    noisy = schedopt.evaluate(FOUR, "backfilling", options={**options, "overestimate": 2.0})
    assert exact.objective < noisy.objective
