"""What the proofs take from an instance and its side constraints: servers, speedups, bounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from schedopt.instances.constraints import Constraint, FairShare, Shares
from schedopt.instances.hesrpt import Instance
from schedopt.validation.hesrpt.curves import curves_of
from schedopt.validation.hesrpt.earning import Machine
from schedopt.validation.hesrpt.intervals import Interval


def without_musts(machine: Machine) -> Machine:
    """Return a machine on which nobody must have anything: then more jobs earn no less."""
    return Machine(
        servers=machine.servers,
        curves=machine.curves,
        least=np.zeros_like(machine.least),
        most=machine.most,
        teams=machine.teams,
        team_least=np.zeros_like(machine.team_least),
        team_most=machine.team_most,
    )


def machine_of(instance: Instance, constraints: Sequence[Constraint], by: str | None) -> Machine:
    """Return servers, speedups and bounds: of jobs, and of the teams of one grouping."""
    count, servers = len(instance.jobs), float(instance.servers)
    least, most = np.zeros(count), np.full(count, servers)
    members: dict[str, list[int]] = {}
    for j, job in enumerate(instance.jobs):
        if by is not None and by in job.groups:
            members.setdefault(job.groups[by], []).append(j)
    teams = dict.fromkeys(members, (0.0, servers))

    def held(share: float) -> Interval:
        return Interval.decimals(share) * Interval.exactly(servers)

    for rule in constraints:
        if isinstance(rule, Shares):
            mine = [j for j, job in enumerate(instance.jobs) if job.name in rule.jobs]
            if rule.at_least:
                least[mine] = np.maximum(least[mine], float(held(rule.at_least).low))
            if rule.at_most is not None and rule.at_most < 1:
                most[mine] = np.minimum(most[mine], float(held(rule.at_most).high))
        elif isinstance(rule, FairShare) and rule.by == by:
            for group in teams.keys() & {*rule.at_least, *rule.at_most}:
                low, high = teams[group]
                if rule.at_least.get(group):
                    low = max(low, float(held(rule.at_least[group]).low))
                if rule.at_most.get(group, 1.0) < 1:
                    high = min(high, float(held(rule.at_most[group]).high))
                teams[group] = low, high
    bounded = [group for group, (low, high) in teams.items() if low > 0 or high < servers]
    inside = np.zeros((len(bounded), count), dtype=np.bool_)
    for g, group in enumerate(bounded):
        inside[g, members[group]] = True
    return Machine(
        servers=servers,
        curves=curves_of(instance),
        least=least,
        most=np.maximum(most, least),
        teams=inside,
        team_least=np.array([teams[group][0] for group in bounded]),
        team_most=np.array([teams[group][1] for group in bounded]),
    )
