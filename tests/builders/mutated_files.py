"""Mutated instance files and results through the verbs, as the command line runs them."""

import io
import json
import random
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from schedopt.__main__ import main
from schedopt.instances.examples import examples
from schedopt.problems import problems

STATUSES = {"solve": (0, 2, 3, 4), "evaluate": (0, 2), "check": (0, 1, 2)}
"""What each verb may end with. Status 1, that a check failed, is for results from elsewhere."""
POLICIES = {
    "dssp": "greedy,core,lcpf,greedy+cpa",
    "hesrpt": "hesrpt,helrpt,srpt,equi,hell",
    "epoch": "buddy,buddy-star,hybrid,equi-epoch,heuristic-epoch",
    "msfq": "fcfs,first-fit,msfq,adaptive-quickswap",
}
VALUES: tuple[Any, ...] = (
    *(0, -1, 1, 2, 3.5, 1e-9, 1e-308, 5e-324, 1e308, 1e15, 2**31, 2**53, 2**53 + 1, 2**63),
    *(10**30, 10**99, 10**400, -0.0, True, None, "", "a", "x" * 300, "NaN"),
    *([], {}, [[]], [1, 2], {"a": 1}),
)


def documents() -> list[bytes]:
    """Return the bundled instances that are small."""
    texts = [example.path.read_bytes() for example in examples().values()]
    small = [text for text in texts if text.startswith(b"{") and len(text) < 20_000]
    return [text for text in small if b'"problem"' in text] + [p.tiny for p in problems()]


def mutated(text: bytes, draw: random.Random) -> bytes:
    """Return a document with one to three things wrong, or perhaps nothing."""
    kind = draw.random()
    if kind < 0.05:
        return text[: draw.randrange(len(text))]
    if kind < 0.15:
        changed = bytearray(text)
        for _ in range(draw.randrange(1, 4)):
            changed[draw.randrange(len(changed))] = draw.randrange(256)
        return bytes(changed)
    document = json.loads(text)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        where, key = draw.choice([*places(document)] or [([None], 0)])
        change = draw.random()
        if change < 0.15:
            del where[key]
        elif change < 0.25 and isinstance(where, dict):
            where[f"{key}s"] = where.pop(key)
        elif change < 0.35 and isinstance(where, list):
            where.insert(0, deepcopy(where[key]))
        elif change < 0.6 and isinstance(where[key], int | float):
            where[key] = where[key] * draw.choice((-1, 0.5, 3, 1e-6, 1e6, 1e100))
        else:
            where[key] = deepcopy(draw.choice(VALUES))
    return json.dumps(document).replace('"NaN"', "NaN").encode()


def places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place of a document as what holds it, and its key or position there."""
    for key in list(node) if isinstance(node, dict) else range(len(node)):
        yield node, key
        if isinstance(node[key], dict | list):
            yield from places(node[key])


def status(*words: Any) -> int:
    """Return a verb's exit status."""
    out, err = redirect_stdout(io.TextIOWrapper(io.BytesIO())), redirect_stderr(io.StringIO())
    with out, err, patch.object(sys, "argv", ["schedopt", *map(str, words)]):
        try:
            main()
        except SystemExit as ended:
            return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


@cache
def solved(source: bytes) -> bytes:
    """Return the result of an instance, or nothing if it has none."""
    with tempfile.TemporaryDirectory() as folder:
        file, result = Path(folder) / "i.json", Path(folder) / "r.json"
        file.write_bytes(source)
        status("solve", file, "--time-limit", 1, "--output", result)
        return result.read_bytes() if result.exists() else b""


def attempt(kind: str, seed: int) -> tuple[str, int | str, str]:
    """Try one mutated file; return what was tried, its status or what went wrong, and the text."""
    draw = random.Random(f"{kind} {seed}")  # noqa: S311
    source = draw.choice(documents())
    problem = json.loads(source)["problem"]
    with tempfile.TemporaryDirectory() as folder:
        file, result = Path(folder) / "i.json", Path(folder) / "r.json"
        words: list[Any] = ["solve", file, "--time-limit", 1, "--json"]
        if kind == "result":
            file.write_bytes(source)
            words, target = ["check", file, result], result
            text = mutated(solved(source) or b"{}", draw)
        else:
            text, target = mutated(source, draw), file
            if draw.random() < 0.5:
                words = ["evaluate", file, "--policy", POLICIES[problem], "--json"]
                words += ["--option", "arrivals=2000"] if problem == "msfq" else []
        target.write_bytes(text)
        try:
            return words[0], status(*words), text.decode(errors="replace")
        except Exception:  # noqa: BLE001  whatever it is, it is the finding
            return words[0], traceback.format_exc(limit=-3), text.decode(errors="replace")
