"""Logs of other formats as instances that hold their jobs: SWF, ``sacct -P``, any CSV."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

from schedopt.instances.errors import InputError, placed
from schedopt.instances.extras import need
from schedopt.instances.files import check_kind, stem
from schedopt.instances.msfq.log_converters import cleaning, sacct, swf, table
from schedopt.instances.msfq.log_files import ENDINGS
from schedopt.instances.msfq.records import Instance
from schedopt.instances.options import Option, checked, one_of, text

READERS: dict[str, tuple[Callable[..., cleaning.Raw], dict[str, Option]]] = {
    "swf": (swf.read, swf.OPTIONS),
    "sacct": (sacct.read, sacct.OPTIONS),
    "csv": (table.read, table.OPTIONS),
}
"""How each format is read, and the options that are its own."""


def _is_log(value: Any) -> bool:
    return isinstance(value, str) and value.lower().endswith(ENDINGS)


COMMON = (
    cleaning.BOUNDS
    | cleaning.RULES
    | {
        "name": text("a name"),
        "format": one_of(None, READERS),
        "log": Option(None, f"a name that ends in {', '.join(ENDINGS)}", _is_log),
    }
)
"""Options of every format: the window, the machine, the rules, how the table is to be called."""

OPTIONS = COMMON | {key: option for _, own in READERS.values() for key, option in own.items()}


def convert(path: str | Path, **options: Any) -> Instance:
    """Make an instance of a log that holds its jobs, one by one.

    The log is in the Standard Workload Format, a dump of ``sacct -P``, or a CSV; perhaps gzipped.
    Options are those of `OPTIONS`: ``format`` where it cannot be told from the file; ``processors``
    where the log does not say how many the machine has; ``log``, the name of the table beside the
    instance. The description tells what was left out, cut off or shifted. `InputError` names the
    file and the line.
    """
    need("polars", str(path))
    path = Path(path)
    kind = options.get("format") or told(path)
    reader, own = READERS[kind]
    given = checked(options, COMMON | own, f"convert of {kind} to jobs")
    with placed(file=path):
        raw = reader(path, **{key: value for key, value in given.items() if key in own})
        servers = given.get("processors") or raw.processors
        if servers is None:
            expected = "option 'processors': this log does not say what the machine has"
            raise InputError(expected, place="option")
        jobs = cleaning.clean(raw, servers, given)
    name = given.get("name") or stem(path)
    log = given.get("log") or f"{name.replace('/', '-').replace(chr(92), '-')}.parquet"
    if log == path.name:
        expected = "another name than the log's own, which it would be written over"
        raise InputError(expected, found=log, place="option log", file=str(path))
    machine = f" ({raw.computer})" if raw.computer else ""
    head = f"{len(jobs)} of {raw.rows} jobs of {stem(path)}{machine}"
    described = "; ".join([head, *raw.notes]) + "."
    made = Instance(name=name, description=described, servers=servers, log=log)
    return made.with_jobs(jobs)


def told(path: Path) -> str:
    """Tell a log's format from its name, or from its first line."""
    endings = [ending.lower() for ending in path.suffixes]
    if ".swf" in endings:
        return "swf"
    try:
        check_kind(path)
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        with gzip.open(path) if packed else path.open("rb") as file:
            head = file.readline(2**16).decode("utf-8", "replace")
    except (OSError, EOFError, ValueError):
        return "csv"  # its reader says what is wrong with the file
    titles = head.strip().lower().split("|")
    if len(titles) > 1 and "submit" in titles and {"jobid", "elapsed", "elapsedraw"} & set(titles):
        return "sacct"
    return "csv"
