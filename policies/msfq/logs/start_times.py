"""When waiting jobs of a log will start: intervals from sampled run times, calibrated on its past.

Run times of who runs and who waits are drawn from a model of the past (`runtimes`), each scenario
is played on by the policy, and quantiles of the starts make an interval. How far such intervals
missed at moments of the past widens or narrows those of now, on the scale of the logarithm of the
wait that is left: conformalized quantile regression. Later moments count for more, since machines
change.

Sources: Romano, Patterson and Candès, "Conformalized quantile regression", NeurIPS 2019; Barber,
Candès, Ramdas and Tibshirani, "Conformal prediction beyond exchangeability", Annals of Statistics
51, 2023.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.logs import Floats
from schedopt.policies.msfq.logs.runtimes import MODELS
from schedopt.policies.msfq.logs.snapshot import Rows, Snapshot

SCENARIOS = 200
PAST_SCENARIOS = 40
"""Scenarios at each moment of the past."""
MOMENTS = 40
"""Moments of the past that intervals are calibrated on."""
HALF = 0.3
"""Half-life of a moment's weight, as a fraction of the moments."""
EACH = 40
"""Waiting jobs sampled at a moment, spread over its queue."""
GOLDEN = 0.6180339887
"""The golden ratio: fractional parts of its multiples spread evenly over [0, 1)."""
LEAST = 100
"""Fewest past starts for calibration; with fewer, intervals are left as they are."""
GRAIN = 100.0
"""Waits below the mean run time over this hardly count."""

Play = Callable[[Instance], Floats]
"""Returns when each job of a log starts under the policy."""


class Starts(NamedTuple):
    """When the jobs that wait will start, shape (waiting,) each.

    ``requested`` is when they would if every job ran as long as it requested; ``shift`` is by how
    much the logarithm of the wait was widened, ``judged`` on how many starts of the past.
    """

    rows: Rows
    earliest: Floats
    median: Floats
    latest: Floats
    requested: Floats
    shift: float
    judged: int


def start_times(
    at: Snapshot, play: Play, *, level: float, model: str = "history", seed: int = 0
) -> Starts:
    """Return intervals that hold each start with probability ``level``."""
    grain = _grain(at)
    drawn = Drawn(play, model, seed)
    low, middle, high = drawn.interval(at, level, SCENARIOS)
    (requested,) = Drawn(play, "requested", seed).starts(at, 1)
    scores, seen, counts = _scores(at, drawn, level)
    shift = _quantile(scores, seen, counts, level) if len(scores) >= LEAST else 0.0
    low, high = _widened(at.time, low, -shift, grain), _widened(at.time, high, shift, grain)
    return Starts(
        at.waiting,
        np.minimum(low, middle),
        middle,
        np.maximum(high, middle),
        requested,
        shift,
        len(scores),
    )


@dataclass(frozen=True)
class Drawn:
    """Scenarios: a policy that plays on under run times that a model draws."""

    play: Play
    model: str
    seed: int

    def starts(self, at: Snapshot, count: int) -> Floats:
        """Return starts of those who wait, shape (count, waiting)."""
        model = MODELS[self.model](at.queue.jobs, at.ended)
        estimated, waiting = at.queue.jobs.estimated, len(at.waiting)
        runs = model(at.asked, at.elapsed, count, self.seed)
        return np.array([self.play(at.onward(of, estimated=estimated))[-waiting:] for of in runs])

    def interval(self, at: Snapshot, level: float, count: int) -> tuple[Floats, Floats, Floats]:
        """Return the two ends, and the median between them, of the middle ``level`` of starts."""
        tail = (1 - level) / 2
        low, middle, high = np.quantile(self.starts(at, count), (tail, 0.5, 1 - tail), axis=0)
        return low, middle, high


def _grain(at: Snapshot) -> float:
    runs = at.queue.jobs.run[at.ended]
    return float(runs.mean()) / GRAIN if len(runs) else 1.0


def _logs(time: float, starts: Floats, grain: float) -> Floats:
    """Return the logarithm of the remaining wait."""
    return np.asarray(np.log1p((starts - time) / grain))


def _widened(time: float, starts: Floats, shift: float, grain: float) -> Floats:
    logs = np.maximum(_logs(time, starts, grain) + shift, 0.0)
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


def _scores(at: Snapshot, drawn: Drawn, level: float) -> tuple[Floats, NDArray[np.bool_], Floats]:
    """Return how far past intervals missed (below 0 where they held), and which misses are known.

    Of a start that is still to come, the score is at least what it would be were it now. The last
    array says how much each counts.
    """
    scores, seen, counts = [np.empty(0)], [np.empty(0, dtype=np.bool_)], [np.empty(0)]
    times = moments(at.queue, at.starts, at.time, MOMENTS)
    for age, time in enumerate(reversed(times)):
        past = Snapshot(at.queue, at.starts, time)
        if not len(past.waiting) or not len(past.ended):
            continue
        grain = _grain(past)
        low, _, high = drawn.interval(past, level, PAST_SCENARIOS)
        some = np.unique(np.linspace(0, len(past.waiting) - 1, EACH).round().astype(np.intp))
        starts = at.starts[past.waiting[some]]
        known = starts <= at.time
        real = _logs(time, np.minimum(starts, at.time), grain)
        below, above = (_logs(time, part[some], grain) for part in (low, high))
        scores.append(np.maximum(np.where(known, below - real, -np.inf), real - above))
        seen.append(known)
        counts.append(np.full(len(some), 0.5 ** (age / (HALF * len(times)))))
    return np.concatenate(scores), np.concatenate(seen), np.concatenate(counts)


def _quantile(scores: Floats, seen: NDArray[np.bool_], counts: Floats, level: float) -> float:
    """Return a quantile of scores, some right-censored (Kaplan and Meier, 1958)."""
    order = np.lexsort((~seen, scores))
    own = counts[order]
    left = own[::-1].cumsum()[::-1]
    above = np.cumprod(np.where(seen[order], 1.0 - own / left, 1.0))
    reached = np.flatnonzero(above <= 1.0 - level)
    return float(scores[order][reached[0] if len(reached) else -1])
