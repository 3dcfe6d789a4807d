"""Multiserver jobs: the simulator beside plain Python, SimPy and Ciw; thresholds by thousands."""

from __future__ import annotations

import random
import time
from functools import partial
from importlib.util import find_spec
from math import inf
from typing import Any

import simpy
from rich.table import Table

from benchmarks.ceilings import cpu, part_of
from benchmarks.timing import beside, best_of, out, verdict
from schedopt.formulations.msfq.system import System
from schedopt.instances.files import load
from schedopt.instances.msfq import Instance, JobClass
from schedopt.policies.msfq.jumping import jumped
from schedopt.policies.msfq.registration import plan
from schedopt.policies.msfq.replications import pooled, replicated
from schedopt.policies.msfq.simulation import play
from schedopt.solvers.msfq.threshold.approximation import area
from schedopt.solvers.msfq.threshold.exact import exact

JOBS = 5_000_000
FEW = 100_000


def simulators() -> None:
    """Time M/M/32, a one-or-all system and the Borg workload, in arrivals plus completions."""
    mm32 = Instance(
        name="M/M/32", servers=32, classes=(JobClass(need=1, arrival_rate=28.8, service_rate=1),)
    )
    pair = load("instances/msfq/one-or-all.json").scaled(7.0)
    borg = load("instances/msfq/borg-cell-b.json")
    title = "(k) multiserver jobs, one core: million events a second, a response time for each job"
    table = Table("system", "policy", "compiled", "of random numbers", "plain Python",
                  "SimPy", "Ciw",
                  title=title, title_justify="left")  # fmt: skip
    rates = {}
    for queue, name in ((mm32, "fcfs"), (pair, "msfq"), (borg, "adaptive-quickswap")):
        chosen = plan(queue, name)
        play(queue, chosen, arrivals=1000)  # compiles
        ours = cpu(partial(play, queue, chosen, arrivals=JOBS, seed=1), 3)
        rates[queue.name] = 2 * JOBS / ours
        plain, _ = best_of(1, partial(play, queue, chosen, arrivals=FEW, plainly=True))
        others = ("", "")
        if queue is mm32:
            slow, _ = best_of(1, _by_simpy)
            others = (_millions(2 * FEW / slow), _by_ciw() if find_spec("ciw") else "not installed")
        table.add_row(
            queue.name,
            name,
            _millions(rates[queue.name]),
            part_of(rates[queue.name], "exponential numbers"),
            _millions(2 * FEW / plain),
            *others,
        )
    jumped(pair, events=1000)
    quick = cpu(partial(jumped, pair, events=10 * JOBS), 3)
    jumps = part_of(10 * JOBS / quick, "exponential numbers")
    table.add_row(pair.name, "msfq, jump chain", _millions(10 * JOBS / quick), jumps, "", "", "")
    out.print(table)
    one, jumps_a_second, many = rates[pair.name], 10 * JOBS / quick, rates[borg.name]
    unit = "million events a second"
    beside("one-or-all", one / 1e6, 40.0, 20.0, unit)
    beside("one-or-all by jumps", jumps_a_second / 1e6, 125.0, 109.0, unit)
    beside("26 classes of Borg", many / 1e6, 20.0, 17.0, unit)


def cores() -> None:
    """Time one long run as independent replications, on one core and on two, in turn."""
    columns = ("system", "policy", "--jobs 1", "--jobs 2", "CPU, --jobs 2 to 1", "times as fast")
    title = f"(m) one run of {8 * JOBS / 1e6:.0f} million arrivals, seconds of wall time: best of 5"
    table = Table(*columns, title=title, title_justify="left")
    pair = load("instances/msfq/one-or-all.json").scaled(7.0)
    borg = load("instances/msfq/borg-cell-b.json").scaled(4.0)
    ratios, alone = [], 1.0
    for queue, name in ((pair, "msfq"), (borg, "adaptive-quickswap")):
        chosen = plan(queue, name)
        wall, busy = {1: inf, 2: inf}, {1: inf, 2: inf}
        answers = set()
        for jobs in (1, 2) * 5:
            began = time.process_time()
            run = partial(replicated, queue, chosen, arrivals=8 * JOBS, replications=16, jobs=jobs)
            seconds, runs = best_of(1, run)
            busy[jobs] = min(busy[jobs], time.process_time() - began)
            wall[jobs] = min(wall[jobs], seconds)
            answers.add(pooled(runs.done).sums.tobytes())
        if len(answers) > 1:
            raise SystemExit(f"{name}: another answer on two cores than on one")
        ratios.append(wall[1] / wall[2])
        alone = min(alone, busy[1] / wall[1])
        shown = (wall[1], wall[2], busy[2] / busy[1], ratios[-1])
        table.add_row(queue.name, name, *(f"{value:.2f}" for value in shown))
    out.print(table)
    told = f"1.9 times as fast on two cores, bit by bit the same answer ({min(ratios):.2f})"
    if alone < 0.9:
        told += f"; others were at work: one thread had {alone:.0%} of a core"
    verdict(min(ratios) >= 1.9, told)


def thresholds() -> None:
    """Time the curve over all thresholds by area, and single exact values."""
    table = Table("servers", "thresholds", "method", "milliseconds",
                  title="(l) thresholds of MSFQ: best of 5", title_justify="left")  # fmt: skip
    seconds = {}
    for k in (32, 4_096, 100_000):
        system = System(k, 0.5 * k, 0.45, 1.0, 1.0)
        area(system)
        seconds[k], _ = best_of(5, partial(area, system))
        table.add_row(f"{k:,}", "all", "area", f"{1e3 * seconds[k]:.3f}")
    worst = 0.0
    for l in (0, 16, 31):
        system = System(32, 6.3, 0.7, 1.0, 1.0)
        exact(system, l)
        single, _ = best_of(5, partial(exact, system, l))
        worst = max(worst, single)
        table.add_row("32", f"l = {l}", "exact", f"{1e3 * single:.1f}")
    out.print(table)
    verdict(seconds[4_096] < 0.01, f"4,096 in 10 ms ({1e3 * seconds[4_096]:.2f})")
    verdict(seconds[100_000] < 0.2, f"100,000 in 200 ms ({1e3 * seconds[100_000]:.1f})")
    verdict(worst < 0.1, f"exact at k = 32 in 100 ms for each l ({1e3 * worst:.1f})")


def _millions(rate: float) -> str:
    return f"{rate / 1e6:.2f}"


def _by_simpy() -> None:
    """Run M/M/32 in SimPy, keeping each response time."""
    environment = simpy.Environment()
    servers = simpy.Resource(environment, 32)
    draw = random.Random(1)  # noqa: S311 - a simulation, no secret
    responses = []

    def job() -> Any:
        came = environment.now
        with servers.request() as turn:
            yield turn
            yield environment.timeout(draw.expovariate(1.0))
        responses.append(environment.now - came)

    def arrivals() -> Any:
        for _ in range(FEW):
            yield environment.timeout(draw.expovariate(28.8))
            environment.process(job())

    environment.process(arrivals())
    environment.run()


def _by_ciw() -> str:
    """Run M/M/32 in Ciw, where it is installed."""
    import ciw  # type: ignore[import-not-found, unused-ignore]

    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(28.8)],
        service_distributions=[ciw.dists.Exponential(1.0)],
        number_of_servers=[32],
    )
    simulation = ciw.Simulation(network)
    slow, _ = best_of(1, partial(simulation.simulate_until_max_customers, FEW))
    return _millions(2 * FEW / slow)
