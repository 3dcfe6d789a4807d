"""Parsing of Slurm's output: job ids, states, trackable resources (TRES) and memory."""

from __future__ import annotations

import re
from typing import NamedTuple

STATUS = {
    **dict.fromkeys(("COMPLETED",), "done"),
    **dict.fromkeys(("RUNNING", "COMPLETING", "SUSPENDED", "STOPPED"), "running"),
    **dict.fromkeys(("RESIZING", "SIGNALING", "STAGE_OUT"), "running"),
    **dict.fromkeys(("PENDING", "REQUEUED", "REQUEUE_HOLD", "CONFIGURING"), "waiting"),
    **dict.fromkeys(("REQUEUE_FED", "RESV_DEL_HOLD", "SPECIAL_EXIT"), "waiting"),
    **dict.fromkeys(("FAILED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "BOOT_FAIL"), "failed"),
    **dict.fromkeys(("LAUNCH_FAILED", "RECONFIG_FAIL"), "failed"),
    **dict.fromkeys(("DEADLINE", "PREEMPTED", "REVOKED", "CANCELLED"), "failed"),
}
"""What each of Slurm's states says of a job; one that failed before it started never ran."""

MEGABYTES = {"K": 1 / 1024, "": 1.0, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}
MOST_TASKS = 4_000_001  # the largest array that Slurm can be configured for
_JOB_ID = re.compile(
    r"(\d+)(?:_(?:(\d+)|\[([\d,:-]+)(?:\.\.\.)?(?:%\d+)?\]))?(?:\+(\d+))?(?:\.(\w+))?", re.ASCII
)
_TASKS = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?", re.ASCII)
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)([KMGTP]?)([cn]?)", re.ASCII)


class JobID(NamedTuple):
    """A job id: ``7``, ``7_2``, ``7_[1-3,8%2]``, ``7+1`` or a step such as ``7.batch``."""

    submission: str
    tasks: tuple[int, ...]  # of a job array; none where it is no array
    component: str  # of a heterogeneous job, or empty
    step: str


def parse_job_id(text: str) -> JobID | None:
    """Return the parts of a job id, or None if the text is not one."""
    if (match := _JOB_ID.fullmatch(text)) is None:
        return None
    submission, task, listed, component, step = match.groups("")
    tasks: list[int] = [int(task)] if task else []
    for part in filter(None, listed.split(",")):
        if (span := _TASKS.fullmatch(part)) is None:
            return None
        first, last = int(span[1]), int(span[2] or span[1])
        if last - first >= MOST_TASKS:
            return None
        tasks += range(first, last + 1, int(span[3] or 1) or 1)
    return JobID(submission, tuple(tasks), component, step)


def status_of(state: str) -> str | None:
    """Return the status of a job from the state that ``sacct`` prints; None if unknown."""
    words = state.split()
    return STATUS.get(words[0].rstrip("+").upper()) if words else None


def parse_tres(text: str) -> dict[str, float] | None:
    """Return the amounts in a text such as ``cpu=8,mem=16G,gres/gpu=2``; None if it is not one.

    Memory is in megabytes under the key ``memory``. The prefixes ``gres/`` and ``license/`` are
    removed.
    """
    amounts: dict[str, float] = {}
    for part in filter(None, text.split(",")):
        name, _, amount = part.partition("=")
        match = _AMOUNT.fullmatch(amount)
        if match is None or match[3]:
            return None
        if name == "mem":
            amounts["memory"] = float(match[1]) * MEGABYTES[match[2]]
        else:  # a suffix of a count is of 1024, too
            plain = name.removeprefix("gres/").removeprefix("license/")
            amounts[plain] = float(match[1]) * (MEGABYTES[match[2]] * 1024**2 if match[2] else 1)
    return amounts


def parse_memory(text: str) -> tuple[float, str] | None:
    """Return megabytes, and whether they are for each CPU (``c``), each node (``n``) or the job."""
    match = _AMOUNT.fullmatch(text)
    return None if match is None else (float(match[1]) * MEGABYTES[match[2]], match[3])
