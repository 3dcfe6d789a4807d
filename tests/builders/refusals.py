"""What is refused: the one error that a call ends in, and good instances to be spoiled for it."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from schedopt.instances.errors import InputError

GOOD: dict[str, dict[str, Any]] = {
    name: {"problem": name, "name": "n"} | json.loads(text)
    for name, text in {
        "dssp": """{"processors": 2, "deadline": 10, "jobs": [
            {"name": "a", "reward": 1, "groups": {"team": "fx"}, "stages": [[1]]},
            {"name": "b", "reward": 2, "demand": 9, "critical_path": 6}]}""",
        "epoch": """{"nodes": 8, "inequity": 1, "jobs": [
            {"name": "a", "minimum": 3}, {"name": "b", "minimum": 2}]}""",
        "hesrpt": """{"servers": 10, "speedup": {"kind": "power", "p": 0.5}, "jobs": [
            {"name": "a", "size": 1}, {"name": "b", "size": 2, "groups": {"team": "fx"}}]}""",
        "msfq": """{"servers": 4, "classes": [
            {"need": 1, "arrival_rate": 1.0, "service_rate": 1.0},
            {"need": 4, "arrival_rate": 0.25, "service_rate": 1.0}]}""",
    }.items()
}
"""A small instance of each problem."""
GONE = ...


def changed(problem: str, key: str, value: Any) -> bytes:
    """Return a good instance with another value under a key such as ``jobs.0.size``, or none.

    For the key ``""``, or one that ends in a dot, the value says all that changes there.
    """
    document = copy.deepcopy(GOOD[problem])
    *way, last = [int(part) if part.isdigit() else part for part in key.split(".")]
    inner: Any = document
    for part in way:
        inner = inner[part]
    for name, one in value.items() if last == "" else [(last, value)]:
        inner[name] = one
        if one is GONE:
            del inner[name]
    return json.dumps(document).encode()


def place_of(key: str) -> str:
    """Return how messages write a key such as ``jobs.0.size``."""
    parts = (f"[{part}]" if part.isdigit() else f".{part}" for part in key.split("."))
    return "".join(parts).removeprefix(".")


def refusal(call: Callable[..., object], *args: Any, **options: Any) -> InputError:
    """Return the error that a call raises; it must raise one."""
    with pytest.raises(InputError) as caught:
        call(*args, **options)
    return caught.value


def raising(error: BaseException | type[BaseException]) -> Callable[..., Any]:
    """Return what takes anything, and raises an error."""

    def stub(*_: object, **__: object) -> Any:
        raise error

    return stub
