"""One side constraint of each kind as a file writes it, for messages, `explain` and the manual.

Jobs and groups are those of the instances that ``schedopt new`` writes, which take all of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

EXAMPLES: Mapping[str, dict[str, Any]] = {
    "fair-share": {"kind": "fair-share", "name": "fx cap", "by": "team", "at_most": {"fx": 0.4}},
    "share": {"kind": "share", "name": "storm floor", "jobs": ["storm"], "at_least": 0.25},
    "require": {"kind": "require", "name": "promised", "jobs": ["titles"]},
    "forbid": {"kind": "forbid", "name": "on hold", "jobs": ["forest"]},
    "imply": {"kind": "imply", "name": "needs the set", "if": "crowd", "then": "forest"},
    "together": {"kind": "together", "name": "one shot", "jobs": ["crowd", "forest"]},
    "apart": {"kind": "apart", "name": "one disk", "jobs": ["storm", "titles"]},
    "at-most": {"kind": "at-most", "name": "one of fx", "by": "team", "group": "fx", "count": 1},
    "at-least": {
        "kind": "at-least",
        "name": "two",
        "jobs": ["crowd", "forest", "titles"],
        "count": 2,
    },
    "resource": {
        "kind": "resource",
        "name": "scratch disk",
        "capacity": 4,
        "use": {"storm": 3, "crowd": 2},
    },
    "seats": {
        "kind": "seats",
        "name": "simulator",
        "capacity": 2,
        "use": {"storm": 1, "crowd": 1},
    },
    "response-time": {"kind": "response-time", "name": "large jobs", "need": 32, "at_most": 60},
}
