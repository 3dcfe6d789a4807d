"""Prices after sets of last jobs, from below, whatever the order within a set.

Where jobs of a set S have shares within the part θ of the servers, these can be scaled up to all.
What S earns thus falls to r(θ) of itself at most, r the largest of its jobs' (θ^e for elasticity e
at the least, s(θN)/s(N) under Amdahl's law). If S earns W_S with all servers, a job j beside it, at
a price at which max_k (price s_j(k) + W_S r(1 - k/N)) <= W_S + c_j, lets all earn what they cost at
most: where prices are chosen one after the other, that of j is no less.
"""

import numpy as np

from schedopt.validation.hesrpt.curves import Above, AmdahlCurve, PowerCurve, TableCurve
from schedopt.validation.hesrpt.earning import Machine, gain
from schedopt.validation.hesrpt.intervals import Floats, Interval

TRIALS = 50
SLACKS = (4e-12, 1e-10, 1e-8)
"""By how much prices are lowered before they are checked; the first that is sure is taken."""
NOTHING = 1e-200
Shape = tuple[str, Floats]
"""``power`` or ``amdahl``, and the exponents or parallel parts, shape (n,)."""


class Beside:
    """Prices after all sets of last jobs.

    ``prices`` are by set (a binary number) and job, shape (2^M, M); 0 for jobs of the set.
    ``costs`` are those of a unit of each job's flow time, shape (M,).
    """

    def __init__(self, machine: Machine, costs: Interval) -> None:
        self.machine, self.costs = machine, costs
        count = len(machine.curves)
        self.sets = np.arange(1 << count)
        self.inside = (self.sets[:, None] >> np.arange(count)) & 1 == 1
        capped = machine.most < machine.servers
        for team, most in zip(machine.teams, machine.team_most, strict=True):
            capped |= team & (most < machine.servers)
        power, amdahl = np.full(count, np.inf), np.full(count, np.inf)
        for j, curve in enumerate(machine.curves):
            if capped[j]:
                power[j] = 0.0
            elif isinstance(curve, PowerCurve):
                power[j] = float(Interval.decimals(curve.p).low)
            elif isinstance(curve, TableCurve):
                power[j] = curve.elasticity(machine.servers)
            elif isinstance(curve, AmdahlCurve):
                amdahl[j] = curve.f
            else:
                power[j] = 0.0
        self.power = np.where(self.inside, power, np.inf).min(axis=1)
        self.amdahl = np.where(self.inside, amdahl, np.inf).min(axis=1)
        chosen = Interval(
            np.where(self.inside, costs.low, 0.0), np.where(self.inside, costs.high, 0.0)
        )
        self.level = np.maximum(chosen.total().low, 0.0)
        musts = Interval.exactly(np.where(self.inside, machine.least, 0.0)).total()
        self.room = (Interval.exactly(machine.servers) - musts).high
        self.prices = np.zeros(self.inside.shape)
        for j in range(count):
            self._fill(j)

    def _fill(self, j: int) -> None:
        """Compute the prices of one job after all sets without it."""
        machine = self.machine
        others = np.flatnonzero(~self.inside[:, j])
        tied = np.zeros(len(others), dtype=np.bool_)
        top = float(machine.most[j])
        for team, least, most in zip(
            machine.teams, machine.team_least, machine.team_most, strict=True
        ):
            if team[j]:
                top = min(top, float(most))
                if least > 0:  # it relieves the others of what their team must have
                    tied = (self.inside[others] & team).any(axis=1)
        room = np.minimum(self.room[others], top)
        fine = room > 0  # else it never completes first: any price will do
        alone = np.zeros(len(others))
        speed = machine.curves[j].above(np.maximum(room, NOTHING))[0]
        alone[fine] = np.nextafter(self.costs.low[j] / speed[fine], 0.0)
        free = fine & ~tied & (self.level[others] > 0)
        both = np.full(len(others), np.inf)
        for kind, par in (("power", self.power[others]), ("amdahl", self.amdahl[others])):
            both[free & (par == 0)] = 0.0
            mine = np.flatnonzero(free & np.isfinite(par) & (par > 0))
            if len(mine):
                asked = np.stack([self.level[others[mine]], par[mine], room[mine]])
                (level, shape, most), at = np.unique(asked, axis=1, return_inverse=True)
                price = self._beside(j, most, level, (kind, shape))[at.ravel()]
                both[mine] = np.minimum(both[mine], price)
        both[~np.isfinite(both)] = 0.0
        self.prices[others, j] = np.where(fine, np.maximum(both, alone), np.inf)

    def _beside(self, j: int, most: Floats, level: Floats, shape: Shape) -> Floats:
        """Return prices of job j beside jobs that earn ``level``, 0 where none is sure, (n,)."""
        servers, cost = self.machine.servers, float(self.costs.low[j])
        curve, least = self.machine.curves[j], float(self.machine.least[j])
        low = np.full(len(level), np.log(max(least / servers, NOTHING)))
        high = np.maximum(np.log(most / servers), low)

        def price(part: Floats) -> Floats:
            lost = level * (1.0 - self._about_kept(shape, 1.0 - part))
            return np.asarray((cost + lost) / curve.about(part * servers))

        for _ in range(TRIALS):  # the ratio falls, then rises
            a, b = low + 0.382 * (high - low), low + 0.618 * (high - low)
            left = price(np.exp(a)) < price(np.exp(b))
            low, high = np.where(left, low, a), np.where(left, b, high)
        k = np.clip(np.exp(0.5 * (low + high)) * servers, least, np.maximum(most, least))
        guess = price(k / servers)
        rest = np.clip(1.0 - k / servers, 1e-15, 1.0)
        kept = self._kept(shape, rest)
        whole = level * 0.5 * (kept[1] + kept[2])  # the rent of all servers
        rent = np.nextafter(whole / servers, 0.0)
        theirs = gain(kept, level, whole, rest, (0.0, 1.0))
        others = Interval.exactly(theirs) + Interval.exactly(whole)
        goal = Interval.exactly(level) + Interval.exactly(cost)
        prices = np.zeros(len(level))
        for slack in SLACKS:
            tried = guess * (1.0 - slack)
            with np.errstate(over="ignore"):
                best = np.clip(curve.wish(rent / tried), least, np.maximum(most, least))
            own = gain(curve.above(best), tried, rent, best, (least, np.maximum(most, least)))
            holds = (others + Interval.exactly(own)).high <= goal.low
            prices = np.where((prices == 0) & holds, tried, prices)
        return prices

    def _about_kept(self, shape: Shape, part: Floats) -> Floats:
        """Return r(part), as floats have it."""
        kind, par = shape
        if kind == "power":
            return np.asarray(part**par)
        servers = self.machine.servers
        return np.asarray(
            part * ((1.0 - par) * servers + par) / ((1.0 - par) * part * servers + par)
        )

    def _kept(self, shape: Shape, part: Floats) -> Above:
        """Return r(part) from above, with slopes on both sides, shape (n,) each."""
        kind, par = shape
        if kind == "power":
            return PowerCurve(par).above(part)
        servers = self.machine.servers
        lines = [np.empty(len(part)) for _ in range(3)]
        for f in np.unique(par):
            mine, curve = par == f, AmdahlCurve(float(f))
            s = Interval.exactly(curve.above(np.array([servers]))[0])
            whole = float(s.low[0]) * (1.0 - 1e-12)  # from below: the tangent is that close
            value, right, left = curve.above(part[mine] * servers)
            lines[0][mine] = np.nextafter(value / whole, np.inf)
            lines[1][mine] = np.nextafter(right * servers / whole, np.inf)
            lines[2][mine] = np.nextafter(left * servers, 0.0) / (whole * (1.0 + 3e-12))
        return lines[0], lines[1], lines[2]
