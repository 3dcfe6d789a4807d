"""What a replay cost, compiled where it takes a walk over time."""

from __future__ import annotations

from typing import Any

from schedopt.policies.msfq.compiling import compiled


@compiled
def lost(
    submit: Any, need: Any, starts: Any, by_start: Any, ends: Any, by_end: Any, servers: int
) -> Any:
    """Return min(idle servers, servers that waiting jobs need), integrated over time.

    ``by_start`` and ``by_end`` are the jobs in the order of their starts and ends.
    """
    n = submit.size
    came = started = ended = 0
    now, total, idle, wanted = submit[0], 0.0, servers, 0
    while ended < n:
        at = ends[by_end[ended]]
        if started < n:
            at = min(at, starts[by_start[started]])
        if came < n:
            at = min(at, submit[came])
        total += (at - now) * min(idle, wanted)
        now = at
        while ended < n and ends[by_end[ended]] == at:
            idle += need[by_end[ended]]
            ended += 1
        while came < n and submit[came] == at:
            wanted += need[came]
            came += 1
        while started < n and starts[by_start[started]] == at:
            job = by_start[started]
            idle -= need[job]
            wanted -= need[job]
            started += 1
    return total
