"""Tasks in a short notation: ``12x0.5h; 1x2h`` is a stage of twelve tasks, then one of one.

A semicolon ends a stage. A stage is one or more parts joined by ``+`` or a comma: ``12x0.5h`` is
twelve tasks of half an hour, ``2h`` is one task of two hours. ``×`` and ``*`` do for ``x``.
"""

from __future__ import annotations

import re

from schedopt.instances.dssp.clock import Clock
from schedopt.instances.dssp.jobs import Stages
from schedopt.instances.errors import InputError, shown

MOST = 1_000_000
"""Tasks of one job: more are a slip of the finger."""

EXPECTED = "stages such as 12x0.5h; 1x2h (or, with a column 'task_time', how many tasks there are)"
_PART = re.compile(r"(\d+)\s*[xX×*]\s*(.+)", re.ASCII)


def stages_of(text: str, clock: Clock) -> Stages:
    """Return the stages of a job, whose lengths a clock reads; `InputError` with the wrong part."""
    if re.fullmatch(r"\d+", text):
        raise InputError(EXPECTED, found=shown(text))
    written = text.removesuffix(";")
    made: list[tuple[float, ...]] = []
    room = MOST
    for stage in written.split(";"):
        tasks: list[float] = []
        for part in re.split(r"[+,]", stage):
            count, length = _part(part.strip(), clock, room)
            room -= count
            tasks += [length] * count
        made.append(tuple(tasks))
    return tuple(made)


def _part(text: str, clock: Clock, room: int) -> tuple[int, float]:
    found = _PART.fullmatch(text)
    digits, length = found.groups() if found else ("1", text)
    if len(digits) > 7 or not 1 <= int(digits) <= room:
        raise InputError(f"from 1 to {room} tasks", found=shown(text))
    try:
        return int(digits), clock.length(length.strip(), "tasks")
    except InputError:
        raise InputError(EXPECTED, found=shown(text) if text else "an empty part") from None
