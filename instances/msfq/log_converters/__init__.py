"""Conversion of logs of other formats to instances with single jobs: SWF, and any CSV."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from schedopt.instances.errors import InputError, at_place, quote
from schedopt.instances.extras import require
from schedopt.instances.files import stem
from schedopt.instances.msfq.log_converters import cleaning, swf, table
from schedopt.instances.msfq.records import PLAIN, Instance, Partition
from schedopt.instances.options import Option, OptionsWith, check_options, one_of, text
from schedopt.instances.starts import Observed
from schedopt.instances.times import Dates, moment_of

READERS: dict[str, tuple[Callable[..., cleaning.RawLog], dict[str, Option]]] = {
    "swf": (swf.read, swf.OPTIONS),
    "csv": (table.read, table.OPTIONS),
}
"""The reader of each format, and its own options."""


def _part(key: str, value: Any) -> Partition:
    """Return the partition that a text such as ``64,gpu=8,memory=512000`` describes."""
    servers, *others = str(value).split(",")
    pairs = [other.partition("=") for other in others]
    try:
        resources = {name.strip(): int(amount) for name, _, amount in pairs}
        return Partition(servers=int(servers), resources=resources)
    except ValueError:  # or an `InputError`
        expected = "a number of processors, and perhaps ,NAME=AMOUNT of each resource"
        raise InputError(expected, found=quote(value), place=f"option {key}") from None


class UnknownMachineError(InputError):
    """Neither the options nor the log give the number of processors of the machine."""


BESIDE = ("partition:", "resource:", "need:")
EACH = Option(
    None,
    "an amount (resource:gpu=8), processors and amounts (partition:a100=64,gpu=8), or of a CSV a "
    "title (need:gpu=GPUs)",
    lambda value: type(value) is int or (isinstance(value, str) and bool(value)),
)
"""Options for resources beside processors, and the columns of their needs."""

COMMON = (
    cleaning.BOUNDS
    | cleaning.RULES
    | {
        "name": text("a name"),
        "format": one_of(None, READERS),
    }
)
"""Options of every format: the window, the machine, the rules."""

OPTIONS = OptionsWith(
    COMMON
    | {key: option for _, own in READERS.values() for key, option in own.items()}
    | {"need": text("of a CSV the title of a column, of SWF used, asked or nodes")},
    dict.fromkeys(BESIDE, EACH),
)


class Reading(NamedTuple):
    """How the rows of a log were read, and which of its jobs had not ended."""

    left_out: int  # rows that cannot be replayed
    reordered: bool  # whether jobs were sorted by submit
    observed: Observed  # the clock, and the jobs that waited or ran when the log was written


def convert(
    path: str | Path, tell: Callable[[str], None] | None = None, **options: Any
) -> Instance:
    """Return an instance with the jobs of a log: see `read_log`."""
    return read_log(path, tell, **options)[0]


def read_log(
    path: str | Path, tell: Callable[[str], None] | None = None, **options: Any
) -> tuple[Instance, Reading]:
    """Return an instance with the jobs of a log, and how its rows were read.

    A log is in the Standard Workload Format if its name ends in .swf or the option ``format`` says
    so, else a CSV; perhaps gzipped. The description of the instance says which jobs were left out
    or changed. ``tell`` is called with it, and with a line on the use of each column of a table.
    See `OPTIONS`: ``processors`` is the size of the machine where the log does not give it.
    """
    require("polars", str(path))
    path = Path(path)
    kind = options.get("format") or ("swf" if ".swf" in path.name.lower() else "csv")
    reader, own = READERS[kind]
    beside = BESIDE if kind == "csv" else BESIDE[:2]
    known = OptionsWith({**COMMON, **own}, dict.fromkeys(beside, EACH))
    asked = check_options(options, known, f"convert of {kind} to jobs")
    with at_place(file=path):
        raw = reader(path, **{k: v for k, v in asked.items() if k in own or k.startswith("need:")})
        bare = _machine(raw, asked)
        jobs = cleaning.clean_log(raw, bare, asked)
        zone = ZoneInfo(raw.zone or "UTC")
        dates = None if raw.zero is None else Dates(moment_of(raw.zero, zone))
    name = asked.get("name") or stem(path)
    log = f"{PLAIN.sub('-', name)}.parquet"
    machine = f" ({raw.computer})" if raw.computer else ""
    head = f"{len(jobs)} of {raw.rows} jobs of {stem(path)}{machine}"
    described = "; ".join([head, *raw.notes]) + "."
    if tell is not None:
        tell(described)
        width = max((len(title) for title, _ in raw.columns), default=0)
        for title, use in raw.columns:
            tell(f"{title:{width}}  {use}")
    start = f"{dates.start.isoformat()}[{raw.zone}]" if dates and raw.zone else None
    queue = msgspec.structs.replace(bare, name=name, description=described, log=log, start=start)
    observed = Observed(dates, raw.until, raw.waiting, raw.running)
    return queue.with_jobs(jobs), Reading(raw.rows - len(jobs), raw.reordered, observed)


def _machine(raw: cleaning.RawLog, given: Mapping[str, Any]) -> Instance:
    parts = {
        key.removeprefix("partition:"): _part(key, of)
        for key, of in given.items()
        if key.startswith("partition:")
    }
    resources = {
        key.removeprefix("resource:"): _part(key, of).servers
        for key, of in given.items()
        if key.startswith("resource:")
    }
    total = sum(part.servers for part in parts.values())
    servers = total or given.get("processors") or raw.processors or 0
    if not servers:
        expected = "how many processors the machine has"
        raise UnknownMachineError(expected, found=f"none: {raw.unsaid}", place="option processors")
    return Instance(
        name="log", servers=servers, log="log.csv", resources=resources, partitions=parts
    )
