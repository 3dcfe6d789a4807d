"""A log as a queue: a class for each need and the trace itself, or all its jobs, one by one."""

from collections.abc import Callable
from math import fsum
from pathlib import Path
from typing import Any, Unpack

from schedopt.instances.errors import InputError
from schedopt.instances.files import keep, write_bytes
from schedopt.instances.msfq import log_converters
from schedopt.instances.msfq.records import AnyShape, Instance, JobClass
from schedopt.instances.msfq.sizes import Empirical, Exponential
from schedopt.instances.msfq.traces import COLUMNS
from schedopt.instances.options import Option, OptionsWith, checked, one_of, taking
from schedopt.instances.swf import WINDOW, Entry, LogRange, read_log

CLASSES = WINDOW | {
    "needs": one_of("exact", ("exact", "powers")),
    "sizes": one_of("exponential", ("exponential", "empirical")),
    "trace": Option(None, "a .csv to write", lambda v: isinstance(v, str) and v.endswith(".csv")),
}
"""The options of `classes`."""
KIND = one_of("classes", ("classes", "jobs"))
OPTIONS = OptionsWith(
    {**log_converters.OPTIONS, **CLASSES, "as": KIND},
    prefix=log_converters.BESIDE,
    each=log_converters.EACH,
)
"""The options of `convert`: what the log is to become, and those of either kind."""


def convert(
    path: str | Path, *, tell: Callable[[str], None] | None = None, **options: Any
) -> Instance:
    """Make an instance of a log: a class for each need, or with ``as=jobs`` every job.

    As jobs it may also be a dump of ``sacct -P`` or a CSV. Options are those of `classes`, or of
    `instances.msfq.log_converters.convert`; errors are those of either. ``tell`` is called with
    lines on what became of the log.
    """
    given = {key: value for key, value in options.items() if key != "as"}
    checked({"as": options.get("as", "classes")}, {"as": KIND}, "convert")
    if options.get("as") == "jobs":
        return log_converters.convert(path, tell, **given)
    made = classes(path, **checked(given, CLASSES, "convert to msfq classes"))
    if tell is not None and made.description:
        tell(made.description)
    return made


@taking("swf", CLASSES)
def classes(
    path: str | Path,
    *,
    name: str | None = None,
    needs: str = "exact",
    sizes: str = "exponential",
    trace: str | None = None,
    **window: Unpack[LogRange],
) -> Instance:
    """Make a queue of a log: arrival rates and mean run times of its jobs, by server need.

    A class's rate is its number of jobs over the time from the first arrival to the last. Poisson
    arrivals are the model's, not the log's: the trace keeps the log's own.

    With ``needs=powers`` there is a class for each power of two, to which needs are rounded up
    (never beyond the machine), rather than for each need. ``sizes=empirical`` keeps the log's run
    times as the distribution of sizes. ``trace`` is a CSV to write the arrivals to, for the
    policies' option ``trace``; ``window`` is as in `instances.swf.read_log`. `InputError` names the
    file and the line.
    """
    if trace is not None:
        keep([path], trace)
    log = read_log(path, **window)
    span = log.entries[-1].submit - log.entries[0].submit
    if span <= 0:
        found = f"{len(log.entries)} at once"
        raise InputError("jobs that come at two times or more", found=found, file=log.file)

    def need(entry: Entry) -> int:
        if needs == "exact":
            return entry.processors
        return min(log.processors, 1 << (entry.processors - 1).bit_length())

    classes = []
    by_need: dict[int, list[float]] = {}
    for entry in log.entries:
        by_need.setdefault(need(entry), []).append(entry.run)
    for servers, runs in sorted(by_need.items()):
        shape: AnyShape = Empirical(values=tuple(runs)) if sizes == "empirical" else Exponential()
        rate, mean = len(runs) / span, fsum(runs) / len(runs)
        classes.append(
            JobClass(need=servers, arrival_rate=rate, service_rate=1 / mean, sizes=shape)
        )
    if trace is not None:  # the arrivals, in the order and at the times of the log
        rows = [f"{entry.submit!r},{need(entry)},{entry.run!r}" for entry in log.entries]
        write_bytes(trace, ("\n".join([",".join(COLUMNS), *rows]) + "\n").encode())
    rounded = ("processors rounded up to powers of two",) if needs == "powers" else ()
    return Instance(
        name=name or log.stem,
        description=log.described(*rounded),
        servers=log.processors,
        classes=tuple(classes),
    )
