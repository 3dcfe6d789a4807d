"""Mutated instance files and results through the verbs, as the command line runs them."""

import contextlib
import io
import json
import random
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from schedopt import instances, list_policies
from schedopt.__main__ import main
from schedopt.instances.files import problem_of
from schedopt.problems import problems

BUNDLED = Path(str(instances.__file__)).parent
PATIENCE = 60  # seconds after which a verb, told to solve for one, counts as hanging
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


def documents(problem: str | None) -> list[bytes]:
    """Return the bundled instances that are small, of all problems or of one."""
    files = [p for p in sorted(BUNDLED.glob("*/*.json")) if p.name != "schema.json"]
    kept = [p.read_bytes() for p in files if p.stat().st_size < 20_000]
    texts = [text for text in kept if b'"problem"' in text] + [p.tiny for p in problems()]
    return [text for text in texts if problem in (None, problem_of(text))]


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
        where, key = draw.choice([*places(document)] or [({}, None)])
        change = draw.random()
        if key is None:
            break
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
    """Return a verb's exit status; `TimeoutError` if it goes on for too long."""

    def ring(*_: Any) -> None:
        raise TimeoutError

    before = sys.argv
    sys.argv = ["schedopt", *map(str, words)]
    signal.signal(signal.SIGALRM, ring)
    signal.alarm(PATIENCE)
    try:
        quiet = io.TextIOWrapper(io.BytesIO())
        with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(io.StringIO()):
            main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    finally:
        signal.alarm(0)
        sys.argv = before
    return 0


def attempt(kind: str, seed: int, problem: str | None = None) -> tuple[str, int | str, str]:
    """Try one mutated file; return what was tried, its status or what went wrong, and the text."""
    draw = random.Random(f"{kind} {seed}")  # noqa: S311
    source = draw.choice(documents(problem))
    problem = json.loads(source)["problem"]
    with tempfile.TemporaryDirectory() as folder:
        file, result = Path(folder) / "i.json", Path(folder) / "r.json"
        words: list[Any] = ["solve", file, "--time-limit", 1, "--json"]
        if kind == "result":
            file.write_bytes(source)
            status(*words[:-1], "--output", result)
            if not result.exists():
                return "check", 0, ""
            text = mutated(result.read_bytes(), draw)
            result.write_bytes(text)
            words = ["check", file, result]
        else:
            text = mutated(source, draw)
            file.write_bytes(text)
            if draw.random() < 0.5:
                policies = POLICIES.get(str(problem)) or ",".join(list_policies(str(problem)))
                words = ["evaluate", file, "--policy", policies, "--json"]
                words += ["--option", "arrivals=2000"] if problem == "msfq" else []
        try:
            return words[0], status(*words), text.decode(errors="replace")
        except BaseException:  # noqa: BLE001  whatever it is, it is the finding
            return words[0], traceback.format_exc(limit=-3), text.decode(errors="replace")
