"""Random instances of msfq: one-or-all systems, systems of several classes, and logs.

Random logs follow a model of rigid jobs: needs, run times, and arrivals by the hour of the day.
Source: Lublin and Feitelson, "The workload on parallel supercomputers: modeling the characteristics
of rigid jobs", JPDC 63, 2003; parameters for jobs of all kinds together, as in their program.
"""

from collections.abc import Mapping
from math import log2
from typing import Any

import numpy as np

from schedopt.instances.decimals import divisors
from schedopt.instances.errors import expect
from schedopt.instances.msfq.logs import Floats, Ints, Jobs
from schedopt.instances.msfq.records import Instance, JobClass
from schedopt.instances.options import Option, is_count, is_number, number, one_of, whole
from schedopt.instances.recipes import Recipe, by_name, stream

SERIAL, POWER_OF_TWO = 0.244, 0.576
"""Fractions of jobs that need one server, and of those whose need is rounded to a power of 2."""
SMALLEST, BELOW_LARGEST, SMALL = 0.8, 2.5, 0.86
"""The two-stage uniform distribution of log2(need): its minimum, how far its middle is below its
maximum, and the probability below the middle."""
SHORT, LONG = (
    (4.2, 0.94),
    (312.0, 0.03),
)  # shape and scale of the two gamma distributions of ln(run)
SLOPE, LEVEL = -0.0054, 0.78  # probability of the first: slope * need + level
RUSH, ALL_DAY = (10.2303, 0.4871), 1.0225
"""Shape and scale of ln(interarrival time) at rush hour; the factor of the shape for all hours."""
DAY = (8.1737, 3.9631)
"""Shape and scale of the half hour of the day in which jobs arrive, counted from `DAWN`."""
DAWN, BUCKETS, BUCKET = 11, 48, 1800.0
LONGEST_RUN, LONGEST_GAP = 12.0, 13.0  # limits on ln(seconds), above which numbers are drawn again

OPTIONS = {
    "jobs": Option(5000, "a whole number from 1 to 10^7", lambda v: is_count(v, 10**7)),
    "servers": Option(
        128, "a whole number from 8 to 10^6", lambda v: is_count(v, 10**6) and v >= 8
    ),
    "load": Option(
        None, "a number between 0 and 1", lambda v: v is None or (is_number(v) and 0 < v < 1)
    ),
    "objective": one_of("mean", ("mean", "weighted"), "mean or weighted"),
}


def make_log(seed: int, values: Mapping[str, Any]) -> Instance:
    """Return a random log; times are in seconds from midnight."""
    draw = stream(seed)
    count, servers = values["jobs"], values["servers"]
    need = needs(draw, count, servers)
    run = runs(draw, need)
    gaps = np.exp(_truncated_gamma(draw, RUSH[0] * ALL_DAY, RUSH[1], LONGEST_GAP, count))
    if values["load"] is not None:
        gaps *= float(need @ run) / (values["load"] * servers * float(gaps.sum()))
    name = f"lublin-feitelson-{count}-{servers}-{seed}"
    bare = Instance(
        name=name, servers=servers, objective=values["objective"], log=f"{name}.parquet"
    )
    return bare.with_jobs(Jobs(submit=np.rint(arrivals(gaps)), need=need, run=run))


def needs(draw: np.random.Generator, count: int, servers: int) -> Ints:
    """Return random needs, shape (count,)."""
    kind = draw.random(count)
    largest = log2(servers)
    middle = max(SMALLEST, largest - BELOW_LARGEST)
    small = draw.random(count) <= SMALL
    low, high = np.where(small, SMALLEST, middle), np.where(small, middle, largest)
    powers = low + (high - low) * draw.random(count)
    even = kind <= SERIAL + POWER_OF_TWO
    powers = np.where(even, np.floor(powers + 0.5), powers)
    drawn = np.where(kind <= SERIAL, 1.0, np.floor(2.0**powers + 0.5))
    return np.clip(drawn, 1, servers).astype(np.int32)


def runs(draw: np.random.Generator, need: Ints) -> Floats:
    """Return random run times in whole seconds, at least 1, shape (jobs,)."""
    first = draw.random(len(need)) <= np.clip(SLOPE * need + LEVEL, 0.0, 1.0)
    logs = np.empty(len(need))
    for chosen, (shape, scale) in ((first, SHORT), (~first, LONG)):
        logs[chosen] = _truncated_gamma(draw, shape, scale, LONGEST_RUN, int(chosen.sum()))
    return np.maximum(1.0, np.floor(np.exp(logs)))


def weights() -> Floats:
    """Return the relative arrival density of each half hour of the day."""
    from scipy.stats import gamma

    edges = np.arange(DAWN, DAWN + BUCKETS + 1) - 0.5
    parts = np.diff(gamma.cdf(edges, DAY[0], scale=DAY[1]))
    densities: Floats = np.roll(parts, DAWN - 1) * BUCKETS / parts.sum()
    return densities


def arrivals(gaps: Floats) -> Floats:
    """Return arrival times, shape (jobs,), for interarrival times without a daily cycle."""
    passed = np.cumsum(gaps) / BUCKET
    day, left = np.divmod(passed, BUCKETS)
    spent = np.concatenate([[0.0], np.cumsum(weights())])
    spent[-1] = BUCKETS
    times: Floats = (day * BUCKETS + np.interp(left, spent, np.arange(BUCKETS + 1.0))) * BUCKET
    return times


def _truncated_gamma(
    draw: np.random.Generator, shape: float, scale: float, most: float, count: int
) -> Floats:
    drawn = draw.gamma(shape, scale, count)
    while (over := drawn > most).any():
        drawn[over] = draw.gamma(shape, scale, int(over.sum()))
    return drawn


def _one_or_all(seed: int, values: Mapping[str, Any]) -> Instance:
    """Return a one-or-all system; it is not random, so the seed is only a part of its name.

    Source: section 6.2, where k = 32, p1 = 0.9 and both mean sizes are 1.
    """
    k, p, mu1, muk = values["k"], values["p1"], values["small_rate"], values["large_rate"]
    rate = values["load"] / (p / (k * mu1) + (1 - p) / muk)
    return Instance(
        name=f"one-or-all-{k}-{values['load']:g}" + (f"-{seed}" if seed else ""),
        servers=k,
        objective=values["objective"],
        classes=(
            JobClass(need=1, arrival_rate=p * rate, service_rate=mu1),
            JobClass(need=k, arrival_rate=(1 - p) * rate, service_rate=muk),
        ),
    )


def _multi_class(seed: int, values: Mapping[str, Any]) -> Instance:
    """Return a system of random classes: needs divide k, and small needs are more likely.

    Mean sizes are lognormal with standard deviation ``spread`` of the logarithm. The paper gives no
    such family; this one follows its remark that needs which divide k can use all servers (section
    6.3).
    """
    draw = stream(seed)
    k, count = values["k"], values["classes"]
    widths = divisors(k)[::-1]
    expected = f"at most {len(widths)}, the divisors of {k}"
    expect(count <= len(widths), expected, count, "option classes")
    needs = sorted(draw.choice(widths, size=count, replace=False).tolist())
    parts = draw.random(count) / np.array(needs, dtype=float)
    sizes = np.exp(values["spread"] * draw.standard_normal(count))
    rate = values["load"] * k / float(parts @ (np.array(needs) * sizes))
    return Instance(
        name=f"multi-class-{k}-{seed}",
        servers=k,
        objective=values["objective"],
        classes=tuple(
            JobClass(need=need, arrival_rate=float(part * rate), service_rate=float(1 / size))
            for need, part, size in zip(needs, parts, sizes, strict=True)
        ),
    )


def _base_options(k: int) -> dict[str, Option]:
    return {
        "k": Option(k, "a whole number from 2 to 10^6", lambda v: is_count(v, 10**6) and v > 1),
        "load": number(0.9, "a number between 0 and 1", lambda v: 0 < v < 1),
        "objective": one_of("mean", ("mean", "weighted"), "mean or weighted"),
    }


GENERATORS: dict[str, Recipe] = by_name(
    Recipe(
        "one-or-all",
        _one_or_all,
        {
            **_base_options(32),
            "p1": number(0.9, "a number between 0 and 1", lambda v: 0 < v < 1),
            "small_rate": number(1.0, "a number above 0", lambda v: v > 0),
            "large_rate": number(1.0, "a number above 0", lambda v: v > 0),
        },
        "jobs that need one server, and jobs that need all of them",
        "Chen et al., 2025, section 6.2",
        random=False,
    ),
    Recipe(
        "multi-class",
        _multi_class,
        {
            **_base_options(24),
            "classes": whole(4, 1, 100),
            "spread": number(0.5, "a number >= 0", lambda v: v >= 0),
        },
        "several classes whose needs divide k, with random rates and mean sizes",
        "our own",
    ),
    Recipe(
        "lublin-feitelson",
        make_log,
        OPTIONS,
        "a log: needs, run times that depend on them, and arrivals by the hour of the day",
        "Lublin and Feitelson, JPDC 63, 2003",
        beside=True,
    ),
)
