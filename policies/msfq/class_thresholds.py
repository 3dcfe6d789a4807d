"""Switching thresholds by class: Adaptive Quickswap with what it takes to leave and to call."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from schedopt.instances.errors import InputError, shown
from schedopt.instances.msfq import Instance
from schedopt.instances.options import Option, is_count
from schedopt.policies.msfq.registration import FEWEST_ARRIVALS, admission_rule
from schedopt.policies.msfq.rule import Rule, Twin, slots
from schedopt.policies.msfq.rules import PAPER
from schedopt.policies.msfq.state import State

_EACH = "a whole number, or one for each class with commas between"


def _by_class(what: str) -> Option:
    return Option(None, f"{_EACH}; {what}", lambda v: is_count(v) or v == 0 or isinstance(v, str))


@admission_rule(
    "class-thresholds",
    source=f"Adaptive Quickswap of {PAPER}, section 4.4, with thresholds by class",
    summary="Adaptive Quickswap with thresholds by class: when to leave, when to call for servers",
    twin=Twin("schedopt.policies.msfq.threshold_kernels", "class_thresholds"),
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
class ClassThresholds(Rule):
    """Start who needs most (or least), until what is served has come down to its thresholds.

    A class calls for servers once ``call`` of it wait. A class in service may leave once at most
    ``leave`` of it run and at most ``rest`` of it wait. Where a class calls that is not in service
    and nothing that calls fits, and all that are in service may leave, nothing starts until the
    one that needs most of those that call fits; those that leave call again only beyond ``rest``.
    Where nobody calls, whoever fits may start.

    By default it is Adaptive Quickswap: leave when none waits, call for a single job.

    Parameters
    ----------
    queue : Instance
    leave, rest, call : int or str, optional
        One for all classes, or one for each in the instance's order with commas between.
    first : {"most", "least"}
        Of those that call and fit, which need starts first.
    tuned : int, optional
        Look for the thresholds that are left out, by simulations of so many arrivals each.
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
        self.leave = _each(given["leave"], "leave", room)
        self.rest = _each(given["rest"], "rest", (0,) * len(room))
        self.call = _each(given["call"], "call", (1,) * len(room))
        self.first = min if given["first"] == "least" else max
        self.draining = False
        self.left = [False] * len(room)
        least = int(given["first"] == "least")
        self.memory = (0, least, *self.leave, *self.rest, *self.call, *self.left)

    def __call__(self, state: State) -> int | None:
        """Return what starts next."""
        if self.draining:
            kind = state.largest([c for c in state.queued() if self._calls_again(state, c)])
            if kind is not None and state.needs[kind] > state.free:
                return None
            self.draining = False
            if kind is not None:
                return kind
        calling = [
            c for c in state.queued() if state.running[c] or state.waiting[c] >= self.call[c]
        ]
        new = [c for c in calling if not state.running[c]]
        fitting = [c for c in calling if state.needs[c] <= state.free]
        if new and not set(new) & set(fitting) and self._may_all_leave(state):
            self.draining = True
            self.left = [running > 0 for running in state.running]
            return None
        return self.first(fitting or state.fitting(), key=lambda c: state.needs[c], default=None)

    def _calls_again(self, state: State, c: int) -> bool:
        enough = self.rest[c] + 1 if self.left[c] else self.call[c]
        return state.waiting[c] >= enough

    def _may_all_leave(self, state: State) -> bool:
        return all(
            running <= self.leave[c] and state.waiting[c] <= self.rest[c]
            for c, running in enumerate(state.running)
            if running
        )


def _each(value: int | str | None, name: str, default: tuple[int, ...]) -> tuple[int, ...]:
    """Return a threshold for each class.

    Raises
    ------
    InputError
        If they are not whole numbers from 0 on, one for each class or one for all.
    """
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
