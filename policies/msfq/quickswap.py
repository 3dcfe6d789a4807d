"""Static Quickswap: the classes take turns in a fixed cycle."""

from schedopt.instances.errors import InputError, quote
from schedopt.instances.msfq import Instance
from schedopt.instances.options import Option, is_count
from schedopt.policies.msfq.registration import admission_rule
from schedopt.policies.msfq.rule import NONE, FlatRule, FlatState, slots
from schedopt.policies.msfq.rules import PAPER, is_level

HANDOVERS = ("drain", "overlap", "authors")
"""Numbered in this order in the memory."""
DRAIN, AUTHORS = 0, 2


def static_quickswap(state: FlatState, free: int) -> int:
    """Return the class that starts next under `StaticQuickswap`.

    The memory: turn, draining (with handover authors: whether this event was handled), handover;
    then, by class, the limits, the cycle, and the waiting jobs after the last event.
    """
    memory, waiting, running = state.memory, state.waiting, state.running
    count = len(state.needs)
    if memory[2] == AUTHORS:
        return _next_of_two_classes(state, free)
    while True:
        c = memory[3 + count + memory[0]]
        if not memory[1]:
            if waiting[c] and running[c] < state.slots[c]:
                return c if state.needs[c] <= free else NONE
            if waiting[c] or running[c] > memory[3 + c]:
                return NONE
            memory[1] = 1
        if running[c] and memory[2] == DRAIN:
            return NONE
        if not _pass_turn(state):
            return NONE
        memory[1] = 0


def _next_of_two_classes(state: FlatState, free: int) -> int:
    """Return the class that starts next if at most two classes may run at the same time."""
    memory, waiting = state.memory, state.waiting
    count = len(state.needs)
    remaining = 3 + 2 * count
    if not memory[1]:  # the first call after an event
        memory[1] = 1
        anyone = another = False
        for c in range(count):
            if waiting[c] > memory[remaining + c]:
                anyone = True
                another = another or c != memory[3 + count + memory[0]]
        if another and _may_pass(state):
            _pass_turn(state)
        if anyone and not waiting[memory[3 + count + memory[0]]]:
            _pass_turn(state)
    c = memory[3 + count + memory[0]]
    if waiting[c] and state.needs[c] <= free:
        return c
    if _may_pass(state):
        _pass_turn(state)
    memory[1] = 0
    for i in range(count):
        memory[remaining + i] = waiting[i]
    return NONE


def _may_pass(state: FlatState) -> bool:
    """Return True if no other class runs and at most l_i jobs of the class in turn."""
    turn = state.memory[3 + len(state.needs) + state.memory[0]]
    for c in range(len(state.needs)):
        if c != turn and state.running[c]:
            return False
    return bool(state.running[turn] <= state.memory[3 + turn])


def _pass_turn(state: FlatState) -> bool:
    """Pass the turn to the next class with a waiting job; return False if there is none."""
    count = len(state.needs)
    for step in range(1, count + 1):
        turn = (state.memory[0] + step) % count
        if state.waiting[state.memory[3 + count + turn]]:
            state.memory[0] = turn
            return True
    return False


@admission_rule(
    "static-quickswap",
    source=f"{PAPER}, section 4.3: drain; its authors' simulator (StaticMSF): authors",
    summary="the classes take turns; a class hands over when at most l_i of its slots are used",
    threshold=Option(
        None,
        "a whole number of slots, or one for each class with commas between",
        lambda v: is_level(v) or isinstance(v, str),
    ),
    handover=Option("overlap", "overlap, drain or authors", lambda v: v in HANDOVERS),
    order=Option(
        "descending",
        "descending, ascending, or the needs with commas between",
        lambda v: isinstance(v, str) or is_count(v),
    ),
)
class StaticQuickswap(FlatRule):
    """Static Quickswap: the classes of jobs are served in turns (section 4.3).

    A class works until none of its jobs waits and at most l_i run. Then the turn passes to the next
    class with a waiting job. The handover says when that class starts:

    ``drain``
        After the last job of the previous class has ended: the paper's text.
    ``overlap``
        At once, as servers become idle. The turn may pass on while jobs of several classes still
        run, which keeps servers busy: some 10% better than ``authors`` on the classes of Figure 5.
    ``authors``
        As servers become idle, but (a) the turn stays while a job of another class runs, (b) an
        arrival passes the turn on from a class without waiting jobs, whatever runs, and (c) after
        a pass the next class starts only at the next event. This is the authors' simulator.

    ``threshold`` is l_i in slots: one number for all classes, or one for each, separated by commas.
    By default it is floor(k/i) - 1, so that a class hands over as soon as it cannot fill its slots.
    ``order`` is ``descending`` or ``ascending`` need, or the needs separated by commas.
    """

    def __init__(
        self,
        queue: Instance,
        threshold: int | str | None = None,
        handover: str = "overlap",
        order: str | int = "descending",
    ) -> None:
        room, cycle = slots(queue), _class_cycle(queue, str(order))
        mode, zeros = HANDOVERS.index(handover), [0] * len(room)
        memory = (0, 0, mode, *_class_limits(room, threshold), *cycle, *zeros)
        super().__init__(queue, static_quickswap, memory)


def _class_limits(room: tuple[int, ...], threshold: int | str | None) -> tuple[int, ...]:
    """Return the threshold l_i of each class, in slots; see `StaticQuickswap`."""
    if threshold is None:
        return tuple(most - 1 for most in room)
    if isinstance(threshold, int):
        if threshold >= max(room):
            expected = f"a whole number from 0 to {max(room) - 1}"
            raise InputError(expected, found=quote(threshold), place="option threshold")
        return tuple(min(threshold, most - 1) for most in room)
    limit = _whole_number(threshold, "option threshold")
    if len(limit) != len(room) or any(
        not 0 <= l < most for l, most in zip(limit, room, strict=False)
    ):
        expected = f"one for each class, below {', '.join(map(str, room))}"
        raise InputError(expected, found=quote(threshold), place="option threshold")
    return limit


def _class_cycle(queue: Instance, order: str) -> tuple[int, ...]:
    """Return the classes in the order of their turns."""
    needs = [job.need for job in queue.classes]
    by_need = sorted(range(len(needs)), key=lambda c: needs[c])
    if order in ("descending", "ascending"):
        return tuple(by_need if order == "ascending" else by_need[::-1])
    whole = _whole_number(order, "option order")
    if sorted(whole) != sorted(needs):
        expected = f"the needs {', '.join(map(str, needs))}, each once"
        raise InputError(expected, found=quote(order), place="option order")
    return tuple(needs.index(need) for need in whole)


def _whole_number(text: str, place: str) -> tuple[int, ...]:
    """Parse integers that are separated by commas."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InputError(
            "whole numbers separated by commas", found=quote(text), place=place
        ) from None
