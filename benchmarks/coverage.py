"""How often 95% intervals of simulated means hold what is known exactly.

Run it by ``python -m benchmarks.coverage``. Each system is simulated with many seeds, none of which
was looked at when the intervals were made (that was up to 202,000). An interval that is withheld,
since the run is too short for one, counts neither way. ``--loads`` takes one server alone, at the
four loads.
"""

from collections.abc import Iterator
from math import sqrt
from typing import NamedTuple

import typer

from benchmarks.msfq import at_load
from benchmarks.tables import Measured, judged, measurement, row
from schedopt.formulations.msfq.process import one_or_all
from schedopt.instances.msfq import Hyperexponential, Instance, JobClass
from schedopt.policies.msfq.registration import plan
from schedopt.policies.msfq.simulation import play
from schedopt.policies.msfq.summary import summary
from schedopt.solvers.msfq.threshold.exact import exact

LOADS = (0.5, 0.8, 0.9, 0.95)
LOW, HIGH = 0.93, 0.97


class System(NamedTuple):
    """A queue under a policy whose mean response time is known."""

    name: str
    load: float
    queue: Instance
    policy: str
    options: dict[str, int]
    mean: float


class Coverage(NamedTuple):
    """Intervals that were given, those of them that hold, and the mean relative half-width."""

    given: int
    held: int
    width: float

    @property
    def share(self) -> float:
        """The part of the given intervals that hold the mean."""
        return self.held / max(1, self.given)

    @property
    def limits(self) -> tuple[float, float]:
        """What that part may be of all seeds, with 95% confidence (Wilson's interval)."""
        n, z = max(1, self.given), 1.96
        middle = (self.share + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * sqrt(self.share * (1 - self.share) / n + z * z / (4 * n * n))
        return middle - half, middle + half


def single(load: float, scv: float = 1.0) -> System:
    """Return one server, M/M/1 or with hyperexponential sizes (Pollaczek and Khinchine)."""
    sizes = {} if scv == 1.0 else {"sizes": Hyperexponential(scv=scv)}
    job = JobClass(need=1, arrival_rate=load, service_rate=1.0, **sizes)
    queue = Instance(name="one server", servers=1, classes=(job,))
    mean = 1.0 + load * (1.0 + scv) / (2.0 * (1.0 - load))
    return System("M/M/1" if scv == 1.0 else f"M/H/1, scv {scv:g}", load, queue, "fcfs", {}, mean)


def several(load: float, k: int, threshold: int) -> System:
    """Return a one-or-all system under MSFQ, whose exact chain is known."""
    queue = at_load(k, {1: 0.9, k: 0.1}, load)
    small, large = exact(one_or_all(queue, "coverage"), threshold)
    options, mean = {"threshold": threshold}, 0.9 * small + 0.1 * large
    return System(f"MSFQ, k {k}, l {threshold}", load, queue, "msfq", options, mean)


def coverage(system: System, arrivals: int, seeds: range) -> Coverage:
    """Simulate a system with many seeds."""
    widths, held = [], 0
    chosen = plan(system.queue, system.policy, **system.options)
    for seed in seeds:
        played = play(system.queue, chosen, arrivals=arrivals, seed=seed)
        found = summary(system.queue, played, arrivals)
        if found.confidence is not None:
            widths.append(found.confidence / system.mean)
            held += abs(found.mean_response_time - system.mean) <= found.confidence
    return Coverage(len(widths), held, sum(widths) / max(1, len(widths)))


def systems() -> Iterator[System]:
    """Yield M/M/1 at each load, and what is harder."""
    yield from map(single, LOADS)
    yield single(0.8, scv=10.0)
    yield single(0.9, scv=4.0)
    yield several(0.8, 8, 0)
    yield several(0.9, 8, 7)
    yield several(0.9, 32, 31)


@measurement
def intervals(arrivals: int, seeds: range, alone: bool) -> Measured:
    """Print how many intervals hold, and whether those of M/M/1 are within the limits."""
    yield f"95% intervals of {len(seeds)} runs of {arrivals:,} arrivals, seeds from {seeds[0]}"
    within = True
    for system in map(single, LOADS) if alone else systems():
        found = coverage(system, arrivals, seeds)
        beside = {"given": f"{found.given / len(seeds):.0%}"}
        if found.given:
            beside["hold of all, 95%"] = " to ".join(f"{limit:.1%}" for limit in found.limits)
            beside["mean half-width"] = f"{found.width:.1%}"
            if system.name == "M/M/1":
                within = within and LOW <= found.share <= HIGH
        hold = f"{found.share:.1%} hold" if found.given else "withheld"
        yield row(f"{system.name}, load {system.load:g}", hold, **beside)
    yield judged(f"M/M/1: {LOW:.0%} to {HIGH:.0%} of the intervals hold, or are withheld", within)


def main(
    arrivals: int = 100_000, seeds: int = 2000, first_seed: int = 300_000, loads: bool = False
) -> None:
    """Print the table; with --loads of one server alone, at the four loads."""
    intervals(arrivals, range(first_seed, first_seed + seeds), loads)


if __name__ == "__main__":
    typer.run(main)
