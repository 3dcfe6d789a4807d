"""Predicted start times of the waiting jobs of a log: intervals, calibrated on its past.

A snapshot is a log at one time: the waiting jobs, the running jobs and their starts. The run times
of both are drawn from the past of their users (see `History`). Each scenario is simulated under
the policy, and quantiles of the starts make an interval. By how much such intervals missed at
moments of the past widens or narrows the present ones, on the scale of the logarithm of the
remaining wait: conformalized quantile regression. Later moments have larger weights, since machines
change.

Sources: Romano, Patterson and Candès, "Conformalized quantile regression", NeurIPS 2019; Barber,
Candès, Ramdas and Tibshirani, "Conformal prediction beyond exchangeability", Annals of Statistics
51, 2023.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.logs import Floats, Ints, Jobs, Labels

Rows = NDArray[np.intp]


JOBS_PER_MOMENT = 40
"""Waiting jobs that are sampled at each moment of the past, spread over the queue."""
HALF_LIFE = 0.3
"""The half-life of a moment's weight, as a fraction of the moments."""
FEWEST_STARTS = 100
"""The fewest past starts for a calibration; with fewer, intervals are not calibrated."""
RESOLUTION = 100.0
"""Waits below the mean run time divided by this hardly count."""
FEWEST_JOBS, RECENT_JOBS = 20, 200
"""Ended jobs of a user, or of a size, from which they have a distribution of their own, and the
most of them that count, the last to end."""
LEAST_REMAINING = 1e-9
"""The least remaining part of a running job."""


@dataclass(frozen=True)
class PredictionParams:
    """Scenarios now and at each moment of the past, and moments on which intervals are judged."""

    scenarios: int = 200
    past_scenarios: int = 40
    moments: int = 40


class Snapshot:
    """The state of a log at a time, replayed until then under a policy.

    Only the run times of jobs that have ended and the ``starts``, shape (jobs,), before the time
    are used. ``waiting``, ``running`` and ``ended`` are rows of the log, the latter in order of
    end.
    """

    def __init__(self, queue: Instance, starts: Floats, time: float) -> None:
        self.queue, self.starts, self.time = queue, starts, time
        ends = starts + queue.jobs.run
        begun, over = starts <= time, ends <= time
        self.waiting: Rows = np.flatnonzero((queue.jobs.submit <= time) & ~begun)
        self.running: Rows = np.flatnonzero(begun & ~over)
        ended = np.flatnonzero(over)
        self.ended: Rows = ended[np.argsort(ends[ended], kind="stable")]

    @property
    def unfinished(self) -> Rows:
        """The rows of waiting jobs, then of running jobs: their run times are unknown."""
        return np.concatenate((self.waiting, self.running))

    @cached_property
    def elapsed(self) -> Floats:
        """How long each unfinished job has run."""
        waiting = np.zeros(len(self.waiting))
        return np.concatenate((waiting, self.time - self.starts[self.running]))

    def remaining_log(self, runs: Floats, *, estimated: bool) -> Instance:
        """Return the log from the time on, for given run times of `unfinished` jobs.

        Until the time the machine is full, with the running jobs and one job that holds the other
        servers. So all waiting jobs have waited until then, and the policy decides at the time as
        it would have. With ``estimated`` the policy knows requested run times, else the given ones.
        """
        bare, jobs, running = self._remaining_jobs, self.queue.jobs, len(self.running)
        waiting = len(self.waiting)
        gone, count = self.time - float(bare.submit[0]), len(bare) - waiting
        mine = runs[waiting:]
        rest = np.maximum(mine - self.elapsed[waiting:], LEAST_REMAINING * np.maximum(mine, 1.0))
        run = bare.run.copy()
        run[:running], run[count:] = gone + rest, runs[:waiting]
        asked = None
        if jobs.estimate is not None and estimated:
            asked = np.full(len(bare), np.nan)
            remaining = jobs.estimate[self.running] - self.elapsed[waiting:]
            asked[:running] = gone + np.fmax(remaining, rest)
            asked[count:] = jobs.estimate[self.waiting]
        if asked is not None and not np.isfinite(asked).any():
            asked = None
        return self.queue.with_jobs(replace(bare, run=run, estimate=asked))

    @cached_property
    def _remaining_jobs(self) -> Jobs:
        jobs, waiting, running = self.queue.jobs, self.waiting, self.running
        zero = min(float(jobs.submit[waiting].min(initial=self.time)), self.time) - 1.0
        free = self.queue.servers - int(jobs.need[running].sum())
        held = [free] if free else []
        count = len(running) + len(held)
        user = None
        if jobs.user is not None:
            codes = [jobs.user.codes[running], np.full(len(held), -1), jobs.user.codes[waiting]]
            user = Labels(np.concatenate(codes).astype(np.int32), jobs.user.names)
        needs: list[Ints] = [jobs.need[running], np.array(held, dtype=np.int32), jobs.need[waiting]]
        return Jobs(
            submit=np.concatenate((np.full(count, zero), jobs.submit[waiting])),
            need=np.concatenate(needs).astype(np.int32),
            run=np.full(count + len(waiting), self.time - zero),
            user=user,
        )


class History:
    """Run times from the user's past, else from jobs of the same size, else from all jobs.

    The distribution is that of the ratio of actual to requested time where both are known, else of
    the run time. Jobs of one user with the same request have the same run time in a scenario, since
    users submit many copies of one program.
    """

    def __init__(self, jobs: Jobs, ended: Rows) -> None:
        self.jobs = jobs
        self._asked = np.ones(len(jobs))
        if jobs.estimate is not None:
            self._asked = np.where(np.isfinite(jobs.estimate), jobs.estimate, 1.0)
        self._rated = np.zeros(len(jobs), dtype=np.bool_)
        if jobs.estimate is not None:
            self._rated = np.isfinite(jobs.estimate)
        self._classes = np.floor(np.log2(jobs.need)).astype(np.int64)
        self._users = np.full(len(jobs), -1) if jobs.user is None else jobs.user.codes
        self._pools: dict[tuple[str, int, bool], Floats] = {}
        for rated in (False, True):
            rows = ended[self._rated[ended] == rated]
            self._add_runs("all", rows, np.zeros(len(jobs), dtype=np.int64), rated)
            self._add_runs("size", rows, self._classes, rated)
            self._add_runs("user", rows, self._users, rated)

    def _add_runs(self, by: str, rows: Rows, keys: NDArray[np.generic], rated: bool) -> None:
        for key in np.unique(keys[rows]).tolist():
            own = rows[keys[rows] == key][-RECENT_JOBS:]
            if len(own) >= FEWEST_JOBS or by == "all":
                self._pools[by, key, rated] = np.sort(self.jobs.run[own] / self._asked[own])

    def _similar_runs(self, row: int) -> Floats:
        """Return the sorted run times of similar jobs, or their ratios to the requests."""
        rated = bool(self._rated[row])
        user = int(self._users[row])
        keys = [("user", user), ("size", int(self._classes[row])), ("all", 0)]
        for by, key in keys if user >= 0 else keys[1:]:
            if (by, key, rated) in self._pools:
                return self._pools[by, key, rated]
        return np.empty(0)

    def draw(self, rows: Rows, elapsed: Floats, count: int, seed: int) -> Floats:
        """Return run times longer than the elapsed ones, shape (count, rows)."""
        draw = np.random.default_rng(seed)
        alike = list(
            zip(
                self._users[rows].tolist(),
                self.jobs.need[rows].tolist(),
                self._asked[rows].tolist(),
                strict=True,
            )
        )
        numbers = {key: number for number, key in enumerate(dict.fromkeys(alike))}
        chance = draw.random((count, len(numbers)))
        runs = np.empty((count, len(rows)))
        for i, row in enumerate(rows.tolist()):
            asked = float(self._asked[row])
            values = self._similar_runs(row) * asked
            longer = values[np.searchsorted(values, elapsed[i], "right") :]
            if not longer.size:  # longer than all known runs: up to the request, or as long again
                rest = asked - elapsed[i] if self._rated[row] else elapsed[i]
                longer = elapsed[i] + np.linspace(0.05, 1.0, 20) * max(rest, elapsed[i] * 0.05, 1.0)
            at = (chance[:, numbers[alike[i]]] * longer.size).astype(np.intp)
            runs[:, i] = longer[at]
        return runs


def requested_runs(at: Snapshot) -> Floats:
    """Return requests as run times; a job without one, or beyond it, runs as long again."""
    jobs, rows, elapsed = at.queue.jobs, at.unfinished, at.elapsed
    asked = np.full(len(rows), float(jobs.run[at.ended].max(initial=0.0)) or 1.0)
    if jobs.estimate is not None:
        asked = np.where(np.isfinite(jobs.estimate[rows]), jobs.estimate[rows], asked)
    return np.where(asked > elapsed, asked, 2 * elapsed + 1.0)


GOLDEN = 0.6180339887
"""The golden ratio: fractional parts of its multiples spread evenly over [0, 1)."""

Simulate = Callable[[Instance], Floats]
"""Returns the start of each job of a log under the policy."""


class Starts(NamedTuple):
    """The predicted starts of waiting jobs, shape (waiting,) each.

    ``requested`` are the starts if every job ran as long as it requested; ``shift`` is the widening
    of the logarithm of the wait, and ``calibrated_on`` the number of past starts that it is from.
    """

    earliest: Floats
    median: Floats
    latest: Floats
    requested: Floats
    shift: float
    calibrated_on: int


def start_times(
    at: Snapshot,
    simulate: Simulate,
    *,
    level: float,
    seed: int = 0,
    params: PredictionParams = PredictionParams(),
) -> Starts:
    """Return intervals that contain each start with probability ``level``."""
    grain = _time_resolution(at)
    low, middle, high = interval(at, simulate, level, params.scenarios, seed)
    (requested,) = simulated_starts(at, simulate, [requested_runs(at)])
    past = partial(interval, simulate=simulate, level=level, count=params.past_scenarios, seed=seed)
    scores, seen, counts = _miss_scores(at, past, params.moments)
    shift = _quantile(scores, seen, counts, level) if len(scores) >= FEWEST_STARTS else 0.0
    low, high = _widen(at.time, low, -shift, grain), _widen(at.time, high, shift, grain)
    return Starts(
        np.minimum(low, middle),
        middle,
        np.maximum(high, middle),
        requested,
        shift,
        len(scores),
    )


def simulated_starts(at: Snapshot, simulate: Simulate, runs: Iterable[Floats]) -> Floats:
    """Return the starts of waiting jobs for run times, shape (scenarios, waiting)."""
    estimated, waiting = at.queue.jobs.estimated, len(at.waiting)
    return np.array([simulate(at.remaining_log(of, estimated=estimated))[-waiting:] for of in runs])


def interval(at: Snapshot, simulate: Simulate, level: float, count: int, seed: int) -> Floats:
    """Return the two ends of the middle ``level`` of starts, and the median between them."""
    tail = (1 - level) / 2
    runs = History(at.queue.jobs, at.ended).draw(at.unfinished, at.elapsed, count, seed)
    starts = simulated_starts(at, simulate, runs)
    return np.asarray(np.quantile(starts, (tail, 0.5, 1 - tail), axis=0))


def _time_resolution(at: Snapshot) -> float:
    runs = at.queue.jobs.run[at.ended]
    return float(runs.mean()) / RESOLUTION if len(runs) else 1.0


def _log_waits(time: float, starts: Floats, grain: float) -> Floats:
    return np.asarray(np.log1p((starts - time) / grain))


def _widen(time: float, starts: Floats, shift: float, grain: float) -> Floats:
    """Return starts whose logarithm of the remaining wait is larger by ``shift``."""
    logs = np.maximum(_log_waits(time, starts, grain) + shift, 0.0)
    return np.asarray(time + grain * np.expm1(logs))


def moments(queue: Instance, starts: Floats, end: float, count: int) -> list[float]:
    """Return moments before ``end`` at which jobs waited."""
    submit = queue.jobs.submit
    waited = np.flatnonzero((submit < np.minimum(starts, end)) & (submit > submit[0]))
    if not len(waited):
        return []
    some = waited[np.unique(np.linspace(0, len(waited) - 1, count).astype(np.intp))]
    part = np.arange(len(some)) * GOLDEN % 1.0
    times: Floats = submit[some] + part * (np.minimum(starts[some], end) - submit[some])
    return [float(time) for time in times]


def _miss_scores(
    at: Snapshot, interval_at: Callable[[Snapshot], Floats], count: int
) -> tuple[Floats, NDArray[np.bool_], Floats]:
    """Return by how much past intervals missed, which misses are known, and their weights.

    Scores are below 0 for starts in their intervals. The score of a start in the future is at least
    that of a start now.
    """
    scores, seen, counts = [np.empty(0)], [np.empty(0, dtype=np.bool_)], [np.empty(0)]
    times = moments(at.queue, at.starts, at.time, count)
    for age, time in enumerate(reversed(times)):
        past = Snapshot(at.queue, at.starts, time)
        if not len(past.waiting) or not len(past.ended):
            continue
        grain = _time_resolution(past)
        low, _, high = interval_at(past)
        some = np.unique(
            np.linspace(0, len(past.waiting) - 1, JOBS_PER_MOMENT).round().astype(np.intp)
        )
        starts = at.starts[past.waiting[some]]
        started = starts <= at.time
        real = _log_waits(time, np.minimum(starts, at.time), grain)
        below, above = (_log_waits(time, part[some], grain) for part in (low, high))
        scores.append(np.maximum(np.where(started, below - real, -np.inf), real - above))
        seen.append(started)
        counts.append(np.full(len(some), 0.5 ** (age / (HALF_LIFE * len(times)))))
    return np.concatenate(scores), np.concatenate(seen), np.concatenate(counts)


def _quantile(scores: Floats, seen: NDArray[np.bool_], counts: Floats, level: float) -> float:
    """Return a quantile of scores, some right-censored (Kaplan and Meier, 1958)."""
    order = np.lexsort((~seen, scores))
    own = counts[order]
    left = own[::-1].cumsum()[::-1]
    above = np.cumprod(np.where(seen[order], 1.0 - own / left, 1.0))
    reached = np.flatnonzero(above <= 1.0 - level)
    return float(scores[order][reached[0] if len(reached) else -1])
