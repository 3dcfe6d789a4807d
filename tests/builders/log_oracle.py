"""The policies for logs as plain definitions over a machine, without the kernels' code.

At each time, ends precede releases in the order of the log; then the rule is called. An order and
a way of backfilling make a rule: start jobs in order until one does not fit (``stop``); skip jobs
that do not fit (``skip``); or reserve servers for the first that does not fit, and let others pass
if they do not delay it (``easy``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from heapq import heappop, heappush
from math import exp, inf, log, log10
from typing import Any

from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.logs import Floats, Jobs
from schedopt.instances.msfq.site import Priority
from schedopt.policies.msfq.logs import registration
from schedopt.policies.msfq.logs.replay import Order, accounts, sizes


class Machine:
    """A machine and its queue, and `start`, with which a rule starts jobs.

    ``planned`` are the run times that the rule expects; ``amounts`` and ``left`` the capacity of
    each resource, servers first, and its free part; ``running`` maps jobs to planned ends;
    ``ended`` are the jobs that ended now; ``need`` is that of each job for each resource, ``size``
    that of `sizes`; ``usage`` is size times time of each user, halved for every ``half_life``
    since; ``alarm`` is when to call the rule without an event.
    """

    def __init__(  # noqa: PLR0917
        self,
        jobs: Jobs,
        servers: int,
        planned: Floats,
        half_life: float,
        amounts: Sequence[int],
        by: str = "user",
    ) -> None:
        self.now, self.servers = -inf, servers
        self.amounts, self.left = [servers, *amounts], [servers, *amounts]
        self.waiting: list[int] = []
        self.running: dict[int, float] = {}
        self.ended: list[int] = []
        self.alarm, self.jobs = inf, jobs
        self.submit: list[float] = jobs.submit.tolist()
        self.planned: list[float] = planned.tolist()
        more = jobs.needs.amounts.tolist() if jobs.needs else [[]] * len(jobs)
        self.need = [[own, *others] for own, others in zip(jobs.need.tolist(), more, strict=True)]
        self.size: list[float] = sizes(jobs, servers, amounts).tolist()
        codes, self.accounts = accounts(jobs, by)
        self.user: list[int] = codes.tolist()
        self.usage, self.rates = [0.0] * len(self.accounts), [0.0] * len(self.accounts)
        self.half_life = half_life
        self.starts = [inf] * len(jobs)
        self._run: list[float] = jobs.run.tolist()
        self._ends: list[tuple[float, int]] = []

    def fits(self, job: int, left: Sequence[int] | None = None) -> bool:
        """Return True if a job fits into the free capacity, or into a given one."""
        left = self.left if left is None else left
        return all(need <= over for need, over in zip(self.need[job], left, strict=True))

    def after(self, left: Sequence[int], job: int, sign: int = -1) -> list[int]:
        """Return capacities less those that a job holds, or with them."""
        return [over + sign * need for over, need in zip(left, self.need[job], strict=True)]

    def start(self, job: int) -> None:
        """Start a waiting job; raise `RuntimeError` if it does not fit."""
        if not self.fits(job):
            raise RuntimeError(f"a rule started job {job} beyond capacity")
        self.waiting.remove(job)
        self.left = self.after(self.left, job)
        self.rates[self.user[job]] += self.size[job]
        self.starts[job] = self.now
        self.running[job] = self.now + self.planned[job]
        heappush(self._ends, (self.now + self._run[job], job))

    def go_to(self, now: float) -> None:
        """Advance the time: update usage, and end jobs."""
        passed = now - self.now
        if passed < inf:
            rate = log(2) / self.half_life
            kept = exp(-passed * rate)
            gained = (1.0 - kept) / rate
            self.usage = [
                u * kept + r * gained for u, r in zip(self.usage, self.rates, strict=True)
            ]
        self.now, self.ended = now, []
        while self._ends and self._ends[0][0] <= now:
            _, job = heappop(self._ends)
            del self.running[job]
            self.left = self.after(self.left, job, 1)
            self.rates[self.user[job]] -= self.size[job]
            self.ended.append(job)

    def next_end(self) -> float:
        """Return when the next running job ends."""
        return self._ends[0][0] if self._ends else inf


Rule = Callable[[Machine], None]
"""A rule: it starts jobs of the machine."""


def run_to_end(machine: Machine, rule: Rule) -> Machine:
    """Replay a log from its first job to its last, and return the machine with all starts.

    The rule is called after each event.
    """
    came, count = 0, len(machine.jobs)
    while came < count or machine.waiting:
        arrival = machine.submit[came] if came < count else inf
        now = min(arrival, machine.next_end(), machine.alarm)
        if now == inf:
            raise RuntimeError("under this rule the waiting jobs never start")
        machine.alarm = inf
        machine.go_to(now)
        while came < count and machine.submit[came] == now:
            machine.waiting.append(came)
            came += 1
        rule(machine)
    return machine


Key = Callable[[Machine, int], float]
"""The sort key of a job; the least goes first, ties in order of submit."""


def order_rule(key: Key, fill: str = "stop", fill_key: Key | None = None) -> Rule:
    """Return the rule that starts jobs in the order of a key, and fills as in `FILLS`.

    Others pass the first job that does not fit in the order of ``fill_key``, by default the same.
    """

    def rule(machine: Machine) -> None:
        line = _sort_waiting(machine, key)
        while line and machine.fits(line[0]):
            machine.start(line.pop(0))
        if not line or fill == "stop":
            return
        head = line[0]
        time, spare = inf, machine.amounts
        if fill == "easy":
            time, spare = reservation(machine, head)
        for job in _sort_waiting(machine, fill_key or key):
            if job == head or not machine.fits(job):
                continue
            if machine.now + machine.planned[job] <= time:
                machine.start(job)
            elif machine.fits(job, spare):
                machine.start(job)
                spare = machine.after(spare, job)

    return rule


def _sort_waiting(machine: Machine, key: Key) -> list[int]:
    """Return the waiting jobs in the order of a key; ties in order of submit."""
    return sorted(machine.waiting, key=lambda job: (key(machine, job), job))


def reservation(machine: Machine, head: int) -> tuple[float, list[int]]:
    """Return the shadow time of a job that does not fit, and the spare capacities then.

    All jobs with a planned end at that time count.
    """
    left, time = machine.left, inf
    for end, job in sorted((end, job) for job, end in machine.running.items()):
        if machine.fits(head, left) and end > time:
            break
        left, time = machine.after(left, job, 1), end
    return time, machine.after(left, head)


def played(
    queue: Instance, name: str, estimates: str = "given", own: Mapping[str, Any] | None = None
) -> Machine:
    """Return a machine without partitions that has played a log under a policy's definition."""
    policy = registration.LOG_POLICIES[name]
    order = policy.order(**(own or {}))
    site, planned = order.priority, queue.jobs.planned(estimates if policy.plans else "exact")
    machine = Machine(queue.jobs, queue.servers, planned, site.half_life, queue.amounts, site.by)
    return run_to_end(machine, rule_of(order))


def f1(machine: Machine, job: int) -> float:
    """F1: log10(r)·n + 870·log10(s), s the time of submit; times in seconds, at least 1."""
    r, s = max(machine.planned[job], 1.0), max(machine.submit[job], 1.0)
    return log10(r) * machine.size[job] + 870.0 * log10(s)


def wfp3(machine: Machine, job: int) -> float:
    """WFP3: the cube of waiting over run time, times servers."""
    ratio = (machine.now - machine.submit[job]) / machine.planned[job]
    return -(ratio * ratio * ratio * machine.size[job])


def weighted(site: Priority) -> Key:
    """Order by a weighted sum of factors, the greatest first."""
    w = site.weights

    def fair(machine: Machine, user: int) -> float:
        total = whole = 0.0
        for name, usage in zip(machine.accounts, machine.usage, strict=True):
            total += usage
            whole += site.shares.get(name or "", 1.0)
        part = machine.usage[user] / total if total > 0 else 0.0
        shares = whole / site.shares.get(machine.accounts[user] or "", 1.0)
        return exp(-(part * shares) * log(2))

    def key(machine: Machine, job: int) -> float:
        labels = machine.jobs.labels(site.qos_by)
        names = () if labels is None else (*labels.names, "")
        quality = site.qos.get(names[labels.codes[job]], 0.0) if labels else 0.0
        constant = w.size * (machine.size[job] / machine.servers) + w.qos * quality
        by_user = w.fair_share * fair(machine, machine.user[job])
        old = w.age * min(1.0, (machine.now - machine.submit[job]) / site.max_age)
        return -(constant + by_user + old)

    return key


KEYS: dict[str, Key] = {
    "arrival": lambda machine, job: 0.0,
    "shortest": lambda machine, job: machine.planned[job],
    "longest": lambda machine, job: -machine.planned[job],
    "smallest": lambda machine, job: machine.planned[job] * machine.size[job],
    "widest": lambda machine, job: -float(machine.size[job]),
    "f1": f1,
    "wfp3": wfp3,
}


def rule_of(order: Order) -> Rule:
    """Return the plain definition of an order."""
    if order.key == "conservative":
        return Conservative()
    key = weighted(order.priority) if order.key == "weighted" else KEYS[order.key]
    return order_rule(key, order.fill, KEYS[order.fill_key] if order.fill_key else None)


class Conservative:
    """Conservative backfilling: every job has a reservation, made as it comes, and kept.

    Where a job ends earlier than planned the schedule is compressed: each job in turn, in the order
    in which they came, gives its reservation up for the earliest that there is.
    """

    def __init__(self) -> None:
        self.reserved: dict[int, float] = {}

    def __call__(self, machine: Machine) -> None:
        """Compress, reserve for new jobs, and start those whose reservation is due."""
        if any(machine.now < machine.starts[j] + machine.planned[j] for j in machine.ended):
            for job in machine.waiting:
                if job in self.reserved:
                    del self.reserved[job]
                    self.reserved[job] = self.earliest(machine, job)
        for job in machine.waiting:
            if job not in self.reserved:
                self.reserved[job] = self.earliest(machine, job)
        for job in list(machine.waiting):
            if self.reserved[job] <= machine.now:
                machine.start(job)
                del self.reserved[job]
        machine.alarm = min(self.reserved.values(), default=inf)

    def earliest(self, machine: Machine, job: int) -> float:
        """Return the earliest time at which a job fits beside all other reservations."""
        busy = [(-inf, end, j) for j, end in machine.running.items()]
        busy += [(start, start + machine.planned[j], j) for j, start in self.reserved.items()]
        length = machine.planned[job]

        def fits(at: float) -> bool:
            left = machine.amounts
            for start, end, other in busy:
                left = machine.after(left, other) if start <= at < end else left
            return machine.fits(job, left)

        for time in sorted({machine.now, *(end for _, end, _ in busy if end > machine.now)}):
            changes = [start for start, _, _ in busy if time < start < time + length]
            if all(fits(at) for at in [time, *changes]):
                return time
        raise RuntimeError("a job wider than the machine")
