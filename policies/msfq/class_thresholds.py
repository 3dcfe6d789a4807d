"""Adaptive Quickswap with thresholds by class: when to leave, when to call for servers."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from schedopt.instances.errors import InputError, shown
from schedopt.instances.msfq import Instance
from schedopt.instances.options import Option, is_count
from schedopt.policies.msfq.registration import FEWEST_ARRIVALS, admission_rule
from schedopt.policies.msfq.rule import ANY, NONE, FlatRule, Seen, Twin, slots
from schedopt.policies.msfq.rules import PAPER

_EACH = "a whole number, or one for each class with commas between"


def _by_class(what: str) -> Option:
    return Option(None, f"{_EACH}; {what}", lambda v: is_count(v) or v == 0 or isinstance(v, str))


def class_thresholds(seen: Seen, free: int) -> int:
    """See `ClassThresholds`.

    The memory: draining, least first; by class leave, rest, call, and whether it left.
    """
    memory = seen.memory
    count = len(seen.needs)
    rest, call, left = 2 + count, 2 + 2 * count, 2 + 3 * count
    if memory[0]:
        drained = _drained(seen, free)
        if drained != ANY:
            return drained
    best = other = NONE
    called = stays = False
    for rank in range(count - 1, -1, -1):
        c = seen.by_need[rank]
        if seen.running[c] and (
            seen.running[c] > memory[2 + c] or seen.waiting[c] > memory[rest + c]
        ):
            stays = True
        if not seen.waiting[c]:
            continue
        fits = seen.needs[c] <= free
        if seen.running[c] or seen.waiting[c] >= memory[call + c]:
            if fits:
                if best < 0 or not memory[1]:
                    best = c
                stays = stays or not seen.running[c]
            called = called or not seen.running[c]
        elif fits and (other < 0 or not memory[1]):
            other = c
    if called and not stays:
        memory[0] = 1
        for c in range(count):
            memory[left + c] = seen.running[c] > 0
        return NONE
    return best if best >= 0 else other


def _drained(seen: Seen, free: int) -> int:
    """Return the class that a drain serves; `NONE` until it fits, `ANY` once none calls."""
    memory, count = seen.memory, len(seen.needs)
    for c in seen.by_need:
        left = memory[2 + 3 * count + c]
        enough = memory[2 + count + c] + 1 if left else memory[2 + 2 * count + c]
        if seen.waiting[c] and seen.waiting[c] >= enough:
            if seen.needs[c] > free:
                return NONE
            memory[0] = 0
            return c
    memory[0] = 0
    return ANY


@admission_rule(
    "class-thresholds",
    source=f"Adaptive Quickswap of {PAPER}, section 4.4, with thresholds by class",
    summary="Adaptive Quickswap with thresholds by class: when to leave, when to call for servers",
    twin=Twin(__name__, "class_thresholds"),
    suits="alone",
    leave=_by_class("all that fit where left out"),
    rest=_by_class("0 where left out"),
    call=_by_class("1 where left out"),
    first=Option(None, "most or least; most where left out", lambda v: v in ("most", "least")),
    tuned=Option(
        None,
        "a whole number from 1000 on: arrivals by which the thresholds are tuned",
        lambda v: is_count(v) and v >= FEWEST_ARRIVALS,
    ),
)
class ClassThresholds(FlatRule):
    """Start the largest (or least) need first, until the jobs in service fall to their thresholds.

    A class calls for servers once ``call`` of it wait. A class in service may leave once at most
    ``leave`` of it run and at most ``rest`` of it wait. Where a class calls that is not in service
    and nothing that calls fits, and all that are in service may leave, nothing starts until the one
    that needs most of those that call fits; those that leave call again only beyond ``rest``. Where
    nobody calls, whoever fits may start.

    By default it is Adaptive Quickswap: leave when none waits, call for a single job. Thresholds
    are one for all classes, or one for each in the instance's order with commas between. ``first``
    says which need starts first of those that call and fit. With ``tuned``, thresholds that are
    left out are searched for by simulations of so many arrivals each.
    """

    def __init__(
        self,
        queue: Instance,
        *,
        leave: int | str | None = None,
        rest: int | str | None = None,
        call: int | str | None = None,
        first: str | None = None,
        tuned: int | None = None,
    ) -> None:
        given = {"leave": leave, "rest": rest, "call": call, "first": first}
        if tuned is not None:
            if queue.log is not None:
                raise InputError("classes of jobs to tune by", found="a log", place="option tuned")
            given = dict(_tuned(msgspec.json.encode(queue), tuned, tuple(given.items())))
            self.note = " ".join(f"{name}={value}" for name, value in given.items())
        room = slots(queue)
        count = len(room)
        default = {"leave": room, "rest": (0,) * count, "call": (1,) * count}
        limits = [n for name, each in default.items() for n in _each(given[name], name, each)]
        least = int(given["first"] == "least")
        super().__init__(queue, class_thresholds, (0, least, *limits, *[0] * count))


def _each(value: int | str | None, name: str, default: tuple[int, ...]) -> tuple[int, ...]:
    """Return a threshold for each class; `InputError` unless whole, one for each or one for all."""
    if value is None:
        return default
    parts = str(value).split(",")
    if not all(part.strip().isdecimal() for part in parts) or len(parts) not in (1, len(default)):
        expected = f"{_EACH}, {len(default)} in all"
        raise InputError(expected, found=shown(value), place=f"option {name}")
    numbers = [int(part) for part in parts]
    if max(numbers) >= 2**31:
        raise InputError("numbers below 2^31", found=shown(value), place=f"option {name}")
    return tuple(numbers * len(default) if len(numbers) == 1 else numbers)


@cache
def _tuned(
    queue: bytes, arrivals: int, given: tuple[tuple[str, int | str | None], ...]
) -> Mapping[str, Any]:
    from schedopt.policies.msfq.tuning import tune_class_thresholds

    fixed = {name: value for name, value in given if value is not None}
    instance = msgspec.json.decode(queue, type=Instance)
    return tune_class_thresholds(instance, arrivals=arrivals, fixed=fixed, verdict=False).options
