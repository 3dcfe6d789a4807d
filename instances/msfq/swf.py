"""Conversion of a log to classes, or to single jobs."""

from collections import defaultdict
from collections.abc import Callable
from math import fsum
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from schedopt.instances.errors import InputError
from schedopt.instances.msfq import log_converters
from schedopt.instances.msfq.log_converters.cleaning import BOUNDS
from schedopt.instances.msfq.records import Empirical, Exponential, Instance, JobClass, Shape
from schedopt.instances.options import OptionsWith, check_options, complete, one_of, text

CLASSES = BOUNDS | {
    "name": text("a name"),
    "needs": one_of("exact", ("exact", "powers")),
    "sizes": one_of("exponential", ("exponential", "empirical")),
}
"""The options of `classes`."""
KIND = one_of("classes", ("classes", "jobs"))
OPTIONS = OptionsWith(
    {**log_converters.OPTIONS, **CLASSES, "as": KIND},
    dict.fromkeys(log_converters.BESIDE, log_converters.EACH),
)
"""The options of `convert`: classes or jobs, and those of either kind."""


def convert(
    path: str | Path, *, tell: Callable[[str], None] | None = None, **options: Any
) -> Instance:
    """Return an instance of a log: a class for each need or, with ``as=jobs``, every job.

    With ``as=jobs`` the log may also be a CSV. Options are those of `classes`, or of
    `instances.msfq.log_converters.convert`. ``tell`` is called with lines that describe the
    conversion.
    """
    rest = {key: value for key, value in options.items() if key != "as"}
    check_options({"as": options.get("as", "classes")}, {"as": KIND}, "convert")
    if options.get("as") == "jobs":
        return log_converters.convert(path, tell, **rest)
    queue = classes(path, **rest)
    if tell is not None and queue.description:
        tell(queue.description)
    return queue


def classes(path: str | Path, **options: Any) -> Instance:
    """Return a queue of classes: arrival rates and mean run times of a log's jobs, by need.

    The rate of a class is its number of jobs divided by the time from the first arrival to the
    last. Poisson arrivals are an assumption of the model.

    Parameters
    ----------
    path : path
        A log in the Standard Workload Format.
    **options
        ``needs=powers`` rounds needs up to powers of two, but not beyond the machine.
        ``sizes=empirical`` keeps the run times of the log as the distribution of sizes.
    """
    values = complete(options, CLASSES, "convert to msfq classes")
    powers = values["needs"] == "powers"
    window = {key: value for key in (*BOUNDS, "name") if (value := values[key]) is not None}
    log = log_converters.convert(path, format="swf", **window)
    jobs, _ = log.jobs.as_released()
    span = jobs.span
    if span <= 0:
        found = f"{len(jobs)} jobs at the same time"
        raise InputError("jobs with at least two submit times", found=found, file=str(path))
    need, run = jobs.need.tolist(), jobs.run.tolist()
    if powers:
        need = [min(log.servers, 1 << (n - 1).bit_length()) for n in need]
    runs_of: dict[int, list[float]] = defaultdict(list)
    for servers, length in zip(need, run, strict=True):
        runs_of[servers].append(length)
    kinds = []
    for servers, runs in sorted(runs_of.items()):
        empirical = values["sizes"] == "empirical"
        shape: Shape = Empirical(values=tuple(runs)) if empirical else Exponential()
        rate, mean = len(runs) / span, fsum(runs) / len(runs)
        kinds.append(JobClass(need=servers, arrival_rate=rate, service_rate=1 / mean, sizes=shape))
    words = (log.description or "").removesuffix(".")
    words += "; processors rounded up to powers of two" * powers
    return replace(log, log=None, start=None, classes=tuple(kinds), description=f"{words}.")
