"""A machine and its queue in plain Python, and rules for it: the definitions of the disciplines.

At each time, ends precede releases in the order of the log; then the rule is called. An order and
a way of backfilling make a rule: start jobs in order until one does not fit (``stop``); skip jobs
that do not fit (``skip``); or reserve servers for the first that does not fit, and let others pass
if they do not delay it (``easy``).
"""

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from math import exp, inf, log

from schedopt.instances.msfq.logs import Floats, Jobs
from schedopt.policies.msfq.logs.replay import accounts, sizes


class Machine:
    """The state of a machine that a rule sees, and `start`, with which it starts jobs.

    Parameters
    ----------
    jobs : Jobs
        The log.
    servers : int
        Of the machine.
    planned : ndarray, shape (jobs,)
        The run times that the rule expects, at least the actual ones.
    half_life : float
        Of usage, in the log's unit.
    amounts : sequence of int
        The capacity of each other resource.
    by : str
        The column of the names whose usage is recorded.

    Attributes
    ----------
    now : float
        The time.
    servers, free : int
        All servers, and the idle ones.
    amounts, left : list of int
        The capacity of each other resource, and the free part.
    waiting : list of int
        Waiting jobs, in order of release.
    running : dict of int to float
        Running jobs, and their planned ends; they may end earlier.
    ended : list of int
        Jobs that ended at this time.
    submit, planned : list of float
        Of each job.
    jobs : Jobs
        The log.
    need, user : list of int
        Of each job; jobs of unknown users have one user.
    accounts : list of str or None
        The names of users by number (or of what `by` says); the last stands for unknown ones.
    more : list of list of int
        The need of each job for each other resource.
    size : list of float
        Of each job; see `sizes`.
    usage : list of float
        Of each user: size times time, halved for every ``half_life`` since.
    promises : dict of int to float
        The first promised start of each job, under rules that promise.
    alarm : float
        When to call the rule again without an event.
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
        self.now, self.servers, self.free = -inf, servers, servers
        self.amounts, self.left = list(amounts), list(amounts)
        self.waiting: list[int] = []
        self.running: dict[int, float] = {}
        self.ended: list[int] = []
        self.promises: dict[int, float] = {}
        self.alarm, self.jobs = inf, jobs
        self.submit: list[float] = jobs.submit.tolist()
        self.planned: list[float] = planned.tolist()
        self.need: list[int] = jobs.need.tolist()
        self.more: list[list[int]] = (
            jobs.needs.amounts.tolist() if jobs.needs else [[] for _ in self.need]
        )
        self.size: list[float] = sizes(jobs, servers, amounts).tolist()
        codes, self.accounts = accounts(jobs, by)
        self.user: list[int] = codes.tolist()
        self.usage, self.rates = [0.0] * len(self.accounts), [0.0] * len(self.accounts)
        self.half_life = half_life
        self.starts = [inf] * len(jobs)
        self._run: list[float] = jobs.run.tolist()
        self._ends: list[tuple[float, int]] = []

    def label(self, job: int, by: str) -> str | None:
        """Return a job's user, group or queue, or None."""
        labels = self.jobs.labels(by)
        return None if labels is None or labels.codes[job] < 0 else labels.names[labels.codes[job]]

    def fits(self, job: int, free: int | None = None, left: Sequence[int] | None = None) -> bool:
        """Return True if a job fits into the free capacity, or into a given one."""
        free, left = self.free if free is None else free, self.left if left is None else left
        enough = all(need <= over for need, over in zip(self.more[job], left, strict=True))
        return self.need[job] <= free and enough

    def start(self, job: int) -> None:
        """Start a waiting job; raise `RuntimeError` if it does not fit."""
        if not self.fits(job):
            raise RuntimeError(f"a rule started job {job} beyond capacity")
        self.waiting.remove(job)
        self.free -= self.need[job]
        self.left = [over - need for over, need in zip(self.left, self.more[job], strict=True)]
        self.rates[self.user[job]] += self.size[job]
        self.starts[job] = self.now
        self.running[job] = self.now + self.planned[job]
        heappush(self._ends, (self.now + self._run[job], job))

    def promise(self, job: int, time: float) -> None:
        """Record the promised start of a job; only its first promise counts."""
        self.promises.setdefault(job, time)

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
            self.free += self.need[job]
            self.left = [over + need for over, need in zip(self.left, self.more[job], strict=True)]
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
        time, spare, left = inf, machine.servers, machine.amounts
        if fill == "easy":
            time, spare, left = reservation(machine, head)
            machine.promise(head, time)
        for job in _sort_waiting(machine, fill_key or key):
            if job == head or not machine.fits(job):
                continue
            if machine.now + machine.planned[job] <= time:
                machine.start(job)
            elif machine.fits(job, spare, left):
                machine.start(job)
                spare -= machine.need[job]
                left = [over - need for over, need in zip(left, machine.more[job], strict=True)]

    return rule


def _sort_waiting(machine: Machine, key: Key) -> list[int]:
    """Return the waiting jobs in the order of a key; ties in order of submit."""
    return sorted(machine.waiting, key=lambda job: (key(machine, job), job))


def reservation(machine: Machine, head: int) -> tuple[float, int, list[int]]:
    """Return the shadow time of a job that does not fit, the spare servers then, and the rest.

    All jobs with a planned end at that time count.
    """
    free, left, time = machine.free, machine.left, inf
    for end, job in sorted((end, job) for job, end in machine.running.items()):
        if machine.fits(head, free, left) and end > time:
            break
        free, time = free + machine.need[job], end
        left = [over + need for over, need in zip(left, machine.more[job], strict=True)]
    over = [idle - need for idle, need in zip(left, machine.more[head], strict=True)]
    return time, free - machine.need[head], over
