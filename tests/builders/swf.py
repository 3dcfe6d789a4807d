"""Logs in the Standard Workload Format, a line at a time."""

import gzip
from pathlib import Path

from schedopt.instances.msfq import Instance

HEADER = "; Version: 2.2\n; Computer: Toy\n; MaxNodes: 4\n; MaxProcs: 8\n; Note: made up\n"
PLACES = {
    "wait": 2,
    "asked": 7,
    "planned": 8,
    "status": 10,
    "user": 11,
    "group": 12,
    "queue": 14,
    "nodes": 20,
    "memory": 9,
    "partition": 15,
}


def line(number: int, submit: float, run: float, used: float = 1, **more: float) -> str:
    """Make a line; what is not said is -1."""
    fields: list[float] = [-1] * (21 if "nodes" in more else 18)
    fields[0], fields[1], fields[3], fields[4] = number, submit, run, used
    for key, value in more.items():
        fields[PLACES[key]] = value
    return " ".join(f"{value:g}" for value in fields)


def saved(folder: Path, *lines: str, name: str = "toy.swf") -> Path:
    """Write a log; its lines of numbers begin at line 6."""
    path = folder / name
    data = (HEADER + "\n".join(lines) + "\n\n").encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def said(queue: Instance) -> list[str]:
    """Return the notes of a description, without its head."""
    return (queue.description or "").removesuffix(".").split("; ")[1:]
