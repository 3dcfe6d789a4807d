"""Rows for reports, and names that would do harm in a page that took them for markup."""

from typing import Any

import msgspec

from schedopt.sweep.rows import BenchRow

EVIL = (
    "</script><script>window.pwned = 1</script>",
    "<img src=x onerror='window.pwned = 2'>",
    '"><b onclick="window.pwned = 3">bold</b>',
    '<a href="javascript:window.pwned = 4">link</a>',
    "%{x} &lt;i&gt; $a_b$",
)


def row(**words: Any) -> BenchRow:
    """Return a row that is as said, and likely otherwise."""
    blank: dict[str, Any] = {
        "instance": "night",
        "problem": "dssp",
        "policy": "greedy",
        "objective": 8.0,
        "reference": 10.0,
        "reference_bound": 10.0,
        "reference_proven": True,
        "gap": 0.2,
        "seconds": 0.001,
        "seed": 0,
        "violations": (),
        "message": None,
        "reference_seconds": 0.01,
        "reference_formulation": "selection",
        "reference_solver": "core",
    }
    both = blank | words
    both.setdefault("file", f"{both['instance']}.json")
    told = ("problem", "file", "policy", "seed", "options")
    both["key"] = " ".join(str(both.get(name)) for name in told)
    if both["objective"] is None:
        both["gap"] = None
    return BenchRow(**both)


def timeless(rows: list[BenchRow]) -> list[BenchRow]:
    return [msgspec.structs.replace(row, seconds=0.0, reference_seconds=0.0) for row in rows]
