"""How often 95% intervals of simulated means hold what is known exactly.

Run it by ``python -m benchmarks.coverage``. Each system is simulated with many seeds, none of which
was looked at when the intervals were made (that was up to 202,000). An interval that is withheld,
since the run is too short for one, counts neither way.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from math import sqrt
from typing import NamedTuple

from rich.table import Table

from benchmarks.timing import out, verdict
from schedopt.formulations.msfq.system import one_or_all
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
    """What the seeds gave.

    Attributes
    ----------
    given : int
        Intervals that were not withheld.
    held : int
        Those of them that hold the mean.
    width : float
        Their mean half-width, as a fraction of the mean; 0 where none was given.
    """

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
    rate = load / (0.9 / k + 0.1)
    queue = Instance(
        name="one-or-all",
        servers=k,
        classes=(
            JobClass(need=1, arrival_rate=0.9 * rate, service_rate=1.0),
            JobClass(need=k, arrival_rate=0.1 * rate, service_rate=1.0),
        ),
    )
    small, large = exact(one_or_all(queue, "coverage"), threshold)
    mean = 0.9 * small + 0.1 * large
    return System(
        f"MSFQ, k {k}, l {threshold}", load, queue, "msfq", {"threshold": threshold}, mean
    )


def coverage(system: System, arrivals: int, seeds: range) -> Coverage:
    """Simulate a system with many seeds."""
    widths, held = [], 0
    chosen = plan(system.queue, system.policy, **system.options)
    for seed in seeds:
        found = summary(
            system.queue, play(system.queue, chosen, arrivals=arrivals, seed=seed), arrivals
        )
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


def main() -> None:
    """Print the table, and whether M/M/1 is within the limits."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arrivals", type=int, default=100_000)
    parser.add_argument("--seeds", type=int, default=2000)
    parser.add_argument("--first-seed", type=int, default=300_000)
    parser.add_argument("--loads", action="store_true", help="one server alone, at the four loads")
    given = parser.parse_args()
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    title = (
        f"95% intervals of {len(seeds)} runs of {given.arrivals:,} arrivals, seeds from {seeds[0]}"
    )
    columns = ("system", "load", "given", "hold", "hold of all, 95%", "mean half-width")
    table = Table(*columns, title=title, title_justify="left")
    within = True
    for system in map(single, LOADS) if given.loads else systems():
        found = coverage(system, given.arrivals, seeds)
        if system.name == "M/M/1" and found.given:
            within = within and LOW <= found.share <= HIGH
        shown = f"{found.share:.1%}" if found.given else "withheld"
        width = f"{found.width:.1%}" if found.given else ""
        of_all = " to ".join(f"{limit:.1%}" for limit in found.limits) if found.given else ""
        table.add_row(
            system.name,
            f"{system.load:g}",
            f"{found.given / given.seeds:.0%}",
            shown,
            of_all,
            width,
        )
    out.print(table)
    verdict(within, f"M/M/1: {LOW:.0%} to {HIGH:.0%} of the intervals hold, or they are withheld")


if __name__ == "__main__":
    main()
