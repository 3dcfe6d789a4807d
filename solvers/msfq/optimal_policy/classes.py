"""The optimal policy of several classes: a bound that is proven, and a policy that is simulated."""

from collections.abc import Generator
from dataclasses import dataclass
from math import prod

import numpy as np

from schedopt.formulations.msfq.optimal import ClassPolicy
from schedopt.formulations.msfq.process import ClassProcess
from schedopt.instances.errors import InputError
from schedopt.instances.msfq import ClassTime, Simulated
from schedopt.solvers.msfq.optimal_policy import class_kernels as kernels
from schedopt.solvers.msfq.optimal_policy.class_values import (
    SLACK,
    Floats,
    Ints,
    Shape,
    Values,
    steepest,
)
from schedopt.solvers.msfq.searching import QueueSearch, packed

FIRST, GROWTH = 1.5, 1.45
"""Room of a box, in multiples of the usual numbers of jobs, and its growth."""
ROUNDS = 3
"""How often prices of what is beyond a box are corrected."""
MOVED, BEYOND = 0.7, 1.5
"""The part of a correction that is made, and by how much slopes beyond a box are above 0: by that
part of all costs with which a full box costs so many times what the policy does."""
ROUGH = 0.1
"""The error of a box's values, as a part of the gap."""
BATCHES, EVENTS, FINAL, AT_ONCE = 32, 30_000, 8, 200_000
"""Of a simulation: batches, events in each, how many times as many in the last, and events between
two looks at the clock."""
STUDENT = 2.04
"""The 97.5% quantile of Student's t for so many batches."""
FAR = 5.0
"""Half-widths by which the steadier mean cost may differ from the plain one."""
TOO_MANY = 50
"""A system with so many times more jobs than the box has room for is unstable."""
Stages = Generator[None, None, None]


@dataclass
class Incumbent:
    """A policy and its simulated cost, by batch.

    `cost` is the mean cost and expected change of values: in the long run it equals the mean cost,
    but is far steadier.
    """

    numbers: Floats  # mean jobs in the system, (B, C)
    came: Floats  # arrivals, (B, C)
    time: Floats  # mean time of the events, (B,)
    cost: Floats  # (B,)

    @property
    def mean(self) -> float:
        """The policy's mean cost."""
        return float(self.cost @ self.time / self.time.sum())

    def jobs(self, costs: Floats) -> tuple[Floats, Floats]:
        """Return each class's mean number in the system, and the half-width of its interval.

        They are corrected by what is known of their sum: weighted by cost it is the mean.
        """
        known = self.numbers @ costs - self.cost
        centred = known - known.mean()
        part = centred @ (self.numbers - self.numbers.mean(axis=0)) / max(centred @ centred, 1e-300)
        corrected = self.numbers - known[:, None] * part
        mean = self.time @ corrected / self.time.sum()
        mean += (self.mean - mean @ costs) * part / max(part @ costs, 1e-300)
        return mean, half_width(corrected)


def half_width(by_batch: Floats) -> Floats:
    """Return the half-width of the 95% interval of a mean over batches."""
    return np.asarray(STUDENT * by_batch.std(axis=0, ddof=1) / np.sqrt(len(by_batch)))


class ClassSearch(QueueSearch):
    """Value iteration on ever larger boxes, stoppable at any time; the seed is for simulations."""

    unproven = True

    def __init__(self, formulation: ClassPolicy, seed: int = 0) -> None:
        self._formulation, self._process = formulation, formulation.model
        self.incumbent: Incumbent | None = None
        self.proof: tuple[Shape, Floats] | None = None
        process = self._process
        self._bound = float(process.costs @ (process.arrivals / process.rates))
        self._runs, self._seed = 0, seed
        self._needs = np.array([job.need for job in formulation.instance.classes])
        self._stages = self._work()
        least = states(process, smallest_box(process))
        if least > formulation.options["most"]:
            raise InputError(
                f"an option most of at least {least}, or fewer servers and classes",
                found=f"{formulation.options['most']}",
                place="option most",
            )

    @property
    def value(self) -> float | None:
        """The simulated cost of the best policy so far."""
        return None if self.incumbent is None else self.incumbent.mean

    @property
    def bound(self) -> float:
        """A lower bound on every policy; at most the simulated cost of the best."""
        value = self.value
        return self._bound if value is None else min(self._bound, value)

    def certificate(self) -> dict[str, object] | None:
        """Return the relative values that the bound follows from; None before there are any."""
        if self.proof is None:
            return None
        shape, values = self.proof
        finite = np.where(np.isfinite(values), values, 0.0)
        return {
            "kind": "class-values",
            "most": shape.box.tolist(),
            "prices": shape.prices.tolist(),
            "bends": shape.bends.tolist(),
            "values": packed(finite, 1),
        }

    def solution(self) -> Simulated | None:
        """Return the simulated figures of the best policy so far."""
        best = self.incumbent
        if best is None:
            return None
        queue, process = self._formulation.instance, self._process
        numbers, widths = best.jobs(process.costs)
        times, widths = numbers / process.arrivals, widths / process.arrivals
        rates = best.came.sum(axis=0) / best.time.sum()
        busy = rates @ [job.need / job.service_rate for job in queue.classes]
        return Simulated(
            mean_response_time=float(np.array(queue.weights("mean")) @ times),
            weighted_response_time=float(np.array(queue.weights("weighted")) @ times),
            classes=tuple(
                ClassTime(
                    need=job.need,
                    mean_response_time=float(times[c]),
                    confidence=float(widths[c]),
                    percentiles={},
                    jobs=int(best.came[:, c].sum()),
                    mean_number=float(numbers[c]),
                    arrival_rate=float(rates[c]),
                )
                for c, job in enumerate(queue.classes)
            ),
            arrivals=int(best.came.sum()),
            confidence=float(half_width(best.cost)),
            utilization=float(busy / queue.servers),
            note="the bound is proven, what the policy costs is simulated",
        )

    def _work(self) -> Stages:
        process, options = self._process, self._formulation.options
        slots = process.services.max(axis=0)
        load = self._formulation.instance.load
        usual = process.arrivals / process.rates + load / (1.0 - load)
        prices, last, length = np.zeros(len(slots)), None, FIRST
        box = smallest_box(process)
        while last is None or states(process, box) <= options["most"]:
            found = yield from self._on(box, prices, last, usual)
            yield from self._try(found, EVENTS)
            prices, last = found.shape.prices, found
            if self.incumbent is not None:
                usual = self.incumbent.jobs(process.costs)[0]
            if self._gap() <= options["tolerance"]:
                break
            before = box
            while (box == before).all():
                box = np.maximum(before, np.ceil(slots + length * usual).astype(np.int64))
                length *= GROWTH
        if last is not None:
            yield from self._try(last, FINAL * EVENTS, anew=True)

    def _gap(self) -> float:
        value = self.value
        return 1.0 if value is None else max(value - self._bound, 0.0) / value

    def _on(
        self, box: Ints, prices: Floats, last: Values | None, usual: Floats
    ) -> Generator[None, None, Values]:
        """Correct values on a box, and the prices beyond it while that raises the bound."""
        process = self._process
        bends = steepest(process, box.astype(np.float64))
        value = self.value or self._bound / (1.0 - self._formulation.instance.load)
        part = min(1.0, BEYOND * value / float(process.costs @ box))
        best, step = last, np.zeros(len(prices))
        for attempt in range(ROUNDS):
            shape = Shape(box, prices + step, (1.0 - part) * (1.0 - SLACK) * bends)
            found = Values(process, shape, best)
            near = max(0.3 * self._formulation.options["tolerance"], ROUGH * self._gap())
            for _ in found.improve(near, self._bound):
                self._take(found)
                yield
            self._take(found)
            if attempt and best is not None and found.bound <= best.bound:
                part, step = min(1.0, 1.5 * part), 0.5 * step
                continue
            best, prices = found, shape.prices
            step = MOVED * np.maximum(found.edges(usual), 0.0)
        return best or found

    def _take(self, found: Values) -> None:
        """Keep a bound if it is better."""
        if found.bound > self._bound:
            self._bound, self.proof = found.bound, (found.shape, found.proven)

    def _try(self, found: Values, events: int, *, anew: bool = False) -> Stages:
        """Simulate a box's policy; keep it if it is better, or if it is simulated anew."""
        box = found.shape.box
        count = len(box)
        self._runs += 1
        seed = (self._runs * 0x9E3779B97F4A7C15 + self._seed) % 2**64
        draw = np.array([seed], dtype=np.uint64)
        state, jobs = np.array([0, -1]), np.zeros(count, np.int64)
        areas, came = np.zeros((BATCHES + 1, count)), np.zeros((BATCHES + 1, count))
        clocks = np.zeros((BATCHES + 1, 4))
        most = TOO_MANY * int(box.sum())
        for batch, clock in enumerate(clocks):
            play = kernels.Play(draw, state, jobs, areas[batch], came[batch], clock)
            while clock[kernels.EVENTS] < events:
                left = int(events - clock[kernels.EVENTS])
                kernels.run(found.box, play, self._needs, min(AT_ONCE, left), most)
                if clock[kernels.LOST]:
                    return
                yield
        time = clocks[1:, kernels.TIME]  # the first batch is the warm-up
        cost = clocks[1:, kernels.COST] / time
        new = Incumbent(areas[1:] / time[:, None], came[1:], time, cost)
        plain = new.numbers @ self._process.costs
        if not abs(plain.mean() - new.mean) <= FAR * half_width(plain):
            return  # values that are not settled say nothing
        value = self.value
        if value is None or anew or new.mean < value:
            self.incumbent = new


def states(process: ClassProcess, box: Ints) -> int:
    """Return how many states a box has."""
    return prod(int(n) + 1 for n in box) * len(process.services)


def smallest_box(process: ClassProcess) -> Ints:
    """Return the smallest box to start from."""
    return np.asarray(process.services.max(axis=0) + 3, np.int64)
