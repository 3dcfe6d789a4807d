"""Static Quickswap with its authors' handover: against a definition event by event."""

from heapq import heappop, heappush

import numpy as np
from builders.effort import tried
from builders.msfq import of_classes
from hypothesis import strategies as st

from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.traces import Trace
from schedopt.policies.msfq.registration import plan
from schedopt.policies.msfq.simulation import simulate


class Machine:
    """Servers, and a turn that goes round the classes in the order of descending needs.

    A class that is given the turn waits for the next event.
    """

    def __init__(self, servers: int, needs: list[int]) -> None:
        self.needs, self.free = needs, servers
        self.most = [servers // need for need in needs]
        self.line: list[list[int]] = [[] for _ in needs]
        self.busy = [0] * len(needs)
        self.cycle = sorted(range(len(needs)), key=lambda c: -needs[c])
        self.turn = self.cycle[0]
        self.started: list[int] = []

    def arrive(self, job: int, kind: int) -> None:
        self.line[kind].append(job)
        if kind != self.turn and self.passes():
            self.pass_on()
        if not self.line[self.turn]:
            self.pass_on()
        self.serve()

    def depart(self, kind: int) -> None:
        self.busy[kind] -= 1
        self.free += self.needs[kind]
        self.serve()

    def serve(self) -> None:
        while self.line[self.turn] and self.needs[self.turn] <= self.free:
            self.started.append(self.line[self.turn].pop(0))
            self.busy[self.turn] += 1
            self.free -= self.needs[self.turn]
        if self.passes():
            self.pass_on()

    def passes(self) -> bool:
        """Tell whether the turn may pass: no other class runs, and a slot of this one is idle."""
        others = any(n for c, n in enumerate(self.busy) if c != self.turn)
        return not others and self.busy[self.turn] < self.most[self.turn]

    def pass_on(self) -> None:
        at = self.cycle.index(self.turn)
        rest = self.cycle[at + 1 :] + self.cycle[:at]
        self.turn = next((c for c in rest if self.line[c]), self.turn)


def defined(queue: Instance, trace: Trace) -> list[float]:
    """Return the response time of each job, NaN for those that never end."""
    machine = Machine(queue.servers, [job.need for job in queue.classes])
    ends: list[tuple[float, int]] = []
    found, arrived = [float("nan")] * len(trace.times), 0
    while ends or arrived < len(trace.times):
        if ends and (arrived == len(trace.times) or ends[0][0] <= trace.times[arrived]):
            now, job = heappop(ends)
            found[job] = now - trace.times[job]
            machine.depart(int(trace.classes[job]))
        else:
            now = float(trace.times[arrived])
            machine.arrive(arrived, int(trace.classes[arrived]))
            arrived += 1
        for job in machine.started:
            heappush(ends, (now + float(trace.sizes[job]), job))
        machine.started.clear()
    return found


@tried(60, seed=st.integers(0, 2**32), whole=st.booleans())
def test_the_authors_handover_is_as_defined(seed: int, whole: bool) -> None:
    draw = np.random.default_rng(seed)
    servers = int(draw.integers(2, 16))
    needs = draw.choice(servers, int(draw.integers(1, min(servers, 5) + 1)), replace=False) + 1
    queue = of_classes(servers, *((need, 1.0) for need in needs))
    jobs = 200
    rate = servers / needs.mean() * draw.uniform(0.3, 1.2)
    times, sizes = np.cumsum(draw.exponential(1 / rate, jobs)), draw.exponential(1.0, jobs)
    if whole:  # much falls together
        times, sizes = np.floor(times), np.ceil(sizes)
    trace = Trace(times, draw.integers(0, len(needs), jobs), sizes)
    expected = defined(queue, trace)
    chosen = plan(queue, "static-quickswap", handover="authors")
    for plainly in (True, False):
        got = simulate(queue, chosen, arrivals=jobs, trace=trace, each=True, plainly=plainly)
        np.testing.assert_allclose(got.starts + trace.sizes - trace.times, expected, rtol=1e-9)
