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
    "memory": 9,
    "partition": 15,
}


def line(number: int, submit: float, run: float, used: float = 1, **more: float) -> str:
    """Make a line; what is not said is -1."""
    fields: list[float] = [-1] * 18
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


LINES = [
    line(1, 0, 60, 2, wait=0, planned=100, status=1, user=3, group=1),
    line(2, 10, 30, -1, wait=5, asked=4, status=1, user=4, group=1),
    line(3, 20, -1, 1, wait=0, user=3),
    line(4, 30, 0, 1, wait=0, status=5, user=3),
    line(5, 40, 50, -1, wait=0, asked=-1),
    line(6, 40, 25, 3, wait=0, status=0, user=3, group=2),
    line(6, 40, 10, 3, wait=0, status=2, user=3, group=2),
    line(7, 100, 10, 2, wait=20, planned=8, user=4),
]
"""Jobs that ran, and one of each sort that is left out."""
