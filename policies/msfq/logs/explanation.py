"""Why a job of a log started no earlier: who ran in its place, by which rule, at what cost."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.logs import Floats, Jobs
from schedopt.instances.starts import Because, InItsPlace, Sooner
from schedopt.policies.msfq.logs import rules
from schedopt.policies.msfq.logs.machine import Machine
from schedopt.policies.msfq.logs.registration import LOG_POLICIES, machine_for, replay_under
from schedopt.policies.msfq.logs.replay import Order


def explain_wait(
    queue: Instance, name: str, row: int, estimates: str, own: Mapping[str, Any]
) -> Because:
    """Explain the start of a job under a policy that replays logs."""
    policy = LOG_POLICIES[name]
    order = policy.order(**own) if policy.order is not None else None
    starts = replay_under(queue, policy, order, estimates, own)
    part = next(one for one in queue.parts() if row in one.rows)
    mine = starts[part.rows]
    machine = machine_for(Machine, part.queue, policy, estimates, own)
    jobs = machine.jobs
    job = int(np.flatnonzero(part.rows == row)[0])
    seen = _ReplayStates(jobs, mine, machine, order)
    submit, start = machine.submit[job], float(mine[job])
    running = seen.running(submit) & (mine < submit)
    others = np.flatnonzero((mine >= submit) & (mine < start))
    names = queue.jobs.name

    def called(one: int) -> str:
        return str(part.rows[one] if names is None else names[part.rows[one]])

    found = [_overtaking_job(seen, job, other, part.rows, called) for other in others.tolist()]
    earlier = None
    if order is not None and order.key != "conservative":
        sooner = dataclasses.replace(order, first=job)
        again = replay_under(part.queue, policy, sooner, estimates, own)
        earlier = _earlier_start(mine, again, job, called)
    return Because(
        job=called(job),
        policy=name,
        submit=submit,
        start=start,
        need=machine.need[job],
        planned=machine.planned[job],
        running=int(running.sum()),
        held=int(jobs.need[running].sum()),
        alone=seen.alone(job, running),
        in_its_place=tuple(found),
        first=earlier,
    )


class _ReplayStates:
    """A replay, looked at again at some times."""

    def __init__(self, jobs: Jobs, starts: Floats, machine: Machine, order: Order | None) -> None:
        self.jobs, self.starts, self.ends = jobs, starts, starts + jobs.run
        self.machine, self.order = machine, order
        self.key = rules.key_of(order) if order is not None else None

    def running(self, now: float) -> Any:
        """Tell which jobs run once everything that starts at this time has started."""
        return (self.starts <= now) & (now < self.ends)

    def at(self, now: float, without: int) -> Machine:
        """Return the machine at a time, as if one of the jobs had not started."""
        machine, running = self.machine, self.running(now)
        running[without] = False
        machine.now = now
        machine.free = machine.servers - int(self.jobs.need[running].sum())
        if self.jobs.needs is not None:
            held = self.jobs.needs.amounts[running].sum(axis=0)
            machine.left = [most - int(by) for most, by in zip(machine.amounts, held, strict=True)]
        site = self.order.priority if self.order is not None else None
        if site is not None and (site.weights.fair_share or site.weights.usage):
            machine.usage = self._usage(now, machine).tolist()
        return machine

    def _usage(self, now: float, machine: Machine) -> Floats:
        """Return what each user has used, by a closed form for each job."""
        rate, begun = np.log(2) / machine.half_life, self.starts < now
        begin, end = self.starts[begun], np.minimum(self.ends[begun], now)
        size = np.array(machine.size)[begun]
        used = size * (np.exp((end - now) * rate) - np.exp((begin - now) * rate)) / rate
        user = np.array(machine.user)[begun]
        return np.bincount(user, used, minlength=len(machine.usage)).astype(np.float64)

    def alone(self, job: int, running: Any) -> float:
        """Return when a job fits beside the running ones if nobody else starts."""
        machine, now = self.machine, self.machine.submit[job]
        times: list[float] = sorted(self.ends[running].tolist())
        for time in (now, *times):
            beside = running & (time < self.ends)
            left = list(machine.amounts)
            if self.jobs.needs is not None:
                left = (np.array(left) - self.jobs.needs.amounts[beside].sum(axis=0)).tolist()
            if machine.fits(job, machine.servers - int(self.jobs.need[beside].sum()), left):
                return time
        return now


def _overtaking_job(
    seen: _ReplayStates, job: int, other: int, rows: Any, called: Callable[[int], str]
) -> InItsPlace:
    now = float(seen.starts[other])
    machine = seen.at(now, other)
    held = machine.need[other] * (min(float(seen.ends[other]), float(seen.starts[job])) - now)
    rule, why = _overtaking_rule(seen, machine, job, other, rows)
    need = machine.need[other]
    return InItsPlace(job=called(other), start=now, need=need, held=held, rule=rule, why=why)


def _overtaking_rule(
    seen: _ReplayStates, machine: Machine, job: int, other: int, rows: Any
) -> tuple[str, str]:
    """Return by which rule a job started while another waited, and why that other did not."""
    fits = machine.fits(job)
    short = f"it needs {machine.need[job]:,} servers, and {machine.free:,} were idle"
    if machine.need[job] <= machine.free and not fits:
        short = "it fits the servers, but not the other resources or the limits"
    if seen.key is None:
        ahead, why = other < job, "came before it" if other < job else "came after it"
    else:
        mine, its = seen.key(machine, job), seen.key(machine, other)
        ahead = (its, other) < (mine, job)
        why = f"priority {-its:.6g} against {-mine:.6g}"
        if its == mine:
            why = "came before it"
    if ahead:
        return "order", why
    if not fits:
        return "passed", short
    if seen.order is not None and seen.order.fill == "easy":
        waiting = np.flatnonzero((seen.jobs.submit <= machine.now) & (seen.starts > machine.now))
        key = seen.key or rules.arrival
        head = min(waiting.tolist(), key=lambda one: (key(machine, one), one))
        if head != job:
            return "passed", f"it could have delayed row {rows[head]}, which was first in line"
    return "passed", "it fits the machine, but not its own reservation"


def _earlier_start(starts: Floats, again: Floats, job: int, called: Callable[[int], str]) -> Sooner:
    changes = again - starts
    others = np.delete(changes, job)
    late = changes.copy()
    late[job] = 0.0
    most = int(np.argmax(late))
    return Sooner(
        start=float(again[job]),
        later=int((others > 0).sum()),
        delay=float(others[others > 0].sum()),
        gain=float(-others[others < 0].sum()),
        most_delayed=called(most),
        longest=float(late[most]),
        change=float(changes.mean()),
    )
