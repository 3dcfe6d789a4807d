"""Whether a replay obeys a site's own priorities, judged from starts alone."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.errors import InputError
from schedopt.instances.msfq import Partition
from schedopt.instances.msfq.logs import Jobs
from schedopt.instances.msfq.site import Priority, site
from schedopt.validation.report import Report

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
MOST_TIMES = 2000  # most start times that are examined, spread evenly
NEAR = 1e-9  # relative difference below which two priorities count as tied


def check_site(  # noqa: PLR0917
    policy: object,
    options: Mapping[str, Any],
    jobs: Jobs,
    starts: Floats,
    estimates: str,
    parts: Iterable[tuple[str, Mask, Partition]],
    report: Report,
) -> None:
    """Check a replay under ``weighted`` against its options."""
    if policy != "weighted":
        return
    try:
        said = site(str(options.get("priority") or "{}"))
    except InputError as error:
        report.unjudged.append(f"priority: {error}")
        return
    for where, own, part in parts:
        if not own.any():
            continue
        _Judge(jobs.take(own), starts[own], part, said, estimates).judge(where, report)


class _Judge:
    """The jobs of a machine that replayed them by priorities."""

    def __init__(
        self, jobs: Jobs, starts: Floats, part: Partition, said: Priority, estimates: str
    ) -> None:
        self.jobs, self.starts, self.ends, self.said = jobs, starts, starts + jobs.run, said
        self.planned = jobs.run
        if estimates == "given" and jobs.estimate is not None:
            self.planned = np.fmax(jobs.estimate, jobs.run)
        columns, amounts = [jobs.need.astype(np.int64)], [part.servers]
        size = jobs.need.astype(np.float64)
        if jobs.needs is not None:
            for name, column in zip(jobs.needs.names, jobs.needs.amounts.T, strict=True):
                columns.append(column)
                amounts.append(part.resources.get(name, 0))
                size = np.maximum(size, column * (part.servers / max(amounts[-1], 1)))
        for limit in said.limits:
            amounts.append(max(1, int(limit.most * part.servers)))
            long = self.planned > limit.longer_than
            columns.append(np.where(long, np.minimum(columns[0], amounts[-1]), 0))
        self.needs, self.amounts, self.size = np.stack(columns, 1), np.array(amounts), size
        w, logs = said.weights, np.log10
        level = self._named(said.qos_by, said.qos, 0.0)
        self.fixed = (
            w.size * size / part.servers
            + w.need * logs(size)
            + w.run * logs(self.planned)
            + w.area * logs(size * self.planned)
            + w.qos * level
        )
        labels = jobs.labels(said.by)
        self.account = (
            np.zeros(len(jobs), np.int64)
            if labels is None
            else (np.where(labels.codes < 0, len(labels.names), labels.codes))
        )
        names = () if labels is None else labels.names
        self.share = np.array([*(said.shares.get(name, 1.0) for name in names), 1.0])

    def _named(self, by: str, levels: Mapping[str, float], other: float) -> Floats:
        labels = self.jobs.labels(by)
        if labels is None:
            return np.full(len(self.jobs), other)
        of = np.array([*(levels.get(name, other) for name in labels.names), other])
        found: Floats = of[labels.codes]
        return found

    def priorities(self, now: float) -> Floats:
        """Return every job's priority at a time, as the file defines it."""
        w, said = self.said.weights, self.said
        waited = now - self.jobs.submit
        found: Floats = self.fixed + w.wait * waited / said.max_age
        found += w.age * np.minimum(1.0, waited / said.max_age) + w.stretch * waited / self.planned
        if w.usage or w.fair_share:
            begun, rate = self.starts < now, np.log(2) / said.half_life
            old, new = now - self.starts[begun], now - np.minimum(self.ends[begun], now)
            used = self.size[begun] * (np.exp(-new * rate) - np.exp(-old * rate))
            usage = np.bincount(self.account[begun], used, len(self.share))
            part = usage / usage.sum() if usage.sum() > 0 else usage
            fair = 2.0 ** -(part / (self.share / self.share.sum()))
            found += (w.usage * part + w.fair_share * fair)[self.account]
        return found

    def judge(self, where: str, report: Report) -> None:
        """Judge the times at which a job starts while others wait."""
        times = np.unique(self.starts)
        if len(times) > MOST_TIMES:
            report.unchecked.append(f"priority: at {MOST_TIMES:,} of {len(times):,} times{where}")
            times = times[np.linspace(0, len(times) - 1, MOST_TIMES).astype(np.int64)]
        for now in times.tolist():
            waiting = np.flatnonzero((self.jobs.submit <= now) & (self.starts > now))
            running = (self.starts <= now) & (now < self.ends)
            free = self.amounts - self.needs[running].sum(axis=0)
            if (free < 0).any():
                report.violations.append(f"priority: at {now:.12g}{where} long jobs hold too much")
                return
            if waiting.size and (fault := self._fault(now, waiting, running, free)):
                report.violations.append(f"priority: at {now:.12g}{where} {fault}")
                return

    def _fault(
        self, now: float, waiting: NDArray[np.int64], running: Mask, free: NDArray[np.int64]
    ) -> str:
        by, new = self.priorities(now), np.flatnonzero(self.starts == now)
        near = NEAR * float(np.abs(by[np.concatenate([waiting, new])]).max() + 1.0)
        best = by[waiting].max()
        if self.said.backfill == "easy":  # only the first of all is promised anything
            first = waiting[by[waiting] >= best - near]
            waiting = first if len(first) == 1 else first[:0]
        passed = []
        for job in new.tolist():
            ahead = waiting[by[waiting] > by[job] + near]
            if not ahead.size:
                continue
            passed.append(job)
            fits = (self.needs[ahead] <= free + self.needs[job]).all(axis=1)
            if self.said.backfill == "stop" or fits.any():
                other = ahead[0] if self.said.backfill == "stop" else ahead[fits.argmax()]
                return f"job {job} starts, and job {other} of a higher priority does not"
        if self.said.backfill == "easy" and passed:
            head = int(waiting[0])
            promised = self._earliest(head, running, passed)
            later = self._earliest(head, running, [])
            if promised == -np.inf or later > promised + NEAR * abs(promised):
                return f"jobs that pass job {head} delay it beyond {promised:.12g}"
        return ""

    def _earliest(self, head: int, running: Mask, without: list[int]) -> float:
        """Return when a job can start by plan beside the running jobs, some excepted."""
        among = running.copy()
        among[without] = False
        ends = self.starts + self.planned
        rows = np.flatnonzero(among)
        rows = rows[np.argsort(ends[rows])]
        free = self.amounts - self.needs[rows].sum(axis=0)
        left = free + np.cumsum(self.needs[rows], axis=0)
        if (self.needs[head] <= free).all():
            return -np.inf
        return float(ends[rows[(self.needs[head] <= left).all(axis=1).argmax()]])
