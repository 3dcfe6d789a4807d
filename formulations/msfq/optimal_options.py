"""What both formulations of optimal policies are asked with, and what they refuse."""

from __future__ import annotations

from collections.abc import Mapping

from schedopt.instances.options import Option, is_count, is_number

OPTIONS: Mapping[str, Option] = {
    "tolerance": Option(1e-6, "a number above 0", lambda v: is_number(v) and v > 0, asks=False),
    "most": Option(12_000_000, "a whole number of states", is_count, asks=False),
}

NOWHERE = "for an optimal policy (formulation threshold takes response-time)"
"""Where side constraints are refused."""
