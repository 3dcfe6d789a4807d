"""Quickswap for any classes: in a fixed cycle, or adaptive with thresholds by class."""

from schedopt.instances.errors import InputError, shown
from schedopt.instances.msfq import Instance
from schedopt.instances.options import Option, is_count
from schedopt.policies.msfq.registration import admission_rule
from schedopt.policies.msfq.rule import NONE, FlatRule, Seen, Twin, slots
from schedopt.policies.msfq.rules import PAPER, is_level

HANDOVERS = ("drain", "overlap", "authors", "paper")
"""In the order of their numbers in the memory."""
DRAIN, AUTHORS = 0, 2
ANY = -2
"""Returned where any class may start."""


def static_quickswap(seen: Seen, free: int) -> int:
    """See `StaticQuickswap`.

    The memory: turn, draining (or, by turns, whether this event has been seen to), handover; by
    class the limits, the cycle, and how many waited after the last event.
    """
    memory, waiting, running = seen.memory, seen.waiting, seen.running
    count = len(seen.needs)
    if memory[2] >= AUTHORS:
        return _by_turns(seen, free)
    while True:
        c = memory[3 + count + memory[0]]
        if not memory[1]:
            if waiting[c] and running[c] < seen.slots[c]:
                return c if seen.needs[c] <= free else NONE
            if waiting[c] or running[c] > memory[3 + c]:
                return NONE
            memory[1] = 1
        if running[c] and memory[2] == DRAIN:
            return NONE
        if not _goes_on(seen):
            return NONE
        memory[1] = 0


def _by_turns(seen: Seen, free: int) -> int:
    """Return what starts next where two classes run at the most."""
    memory, waiting = seen.memory, seen.waiting
    count = len(seen.needs)
    left = 3 + 2 * count
    if not memory[1]:  # the first question after an event
        memory[1] = 1
        anyone = another = False
        for c in range(count):
            if waiting[c] > memory[left + c]:
                anyone = True
                another = another or c != memory[3 + count + memory[0]]
        if another and _may_go_on(seen):
            _goes_on(seen)
        if anyone and not waiting[memory[3 + count + memory[0]]]:
            _goes_on(seen)
    while True:
        c = memory[3 + count + memory[0]]
        if waiting[c] and seen.needs[c] <= free:
            return c
        moved = _may_go_on(seen) and _goes_on(seen)
        if not moved or memory[2] == AUTHORS:
            memory[1] = 0
            for i in range(count):
                memory[left + i] = waiting[i]
            return NONE


def _may_go_on(seen: Seen) -> bool:
    """Tell whether no other class runs, and at most l_i of the class whose turn it is."""
    turn = seen.memory[3 + len(seen.needs) + seen.memory[0]]
    for c in range(len(seen.needs)):
        if c != turn and seen.running[c]:
            return False
    return bool(seen.running[turn] <= seen.memory[3 + turn])


def _goes_on(seen: Seen) -> bool:
    """Give the turn to the next class that waits, and tell whether there is one."""
    count = len(seen.needs)
    for step in range(1, count + 1):
        turn = (seen.memory[0] + step) % count
        if seen.waiting[seen.memory[3 + count + turn]]:
            seen.memory[0] = turn
            return True
    return False


@admission_rule(
    "static-quickswap",
    source=f"{PAPER}, section 4.3: drain; its authors' simulator (StaticMSF): authors",
    summary="one class after the other; hands over once at most l_i of its slots are used",
    twin=Twin(__name__, "static_quickswap"),
    threshold=Option(
        None,
        "a whole number of slots, or one for each class with commas between",
        lambda v: is_level(v) or isinstance(v, str),
    ),
    handover=Option("overlap", "overlap, drain, authors or paper", lambda v: v in HANDOVERS),
    order=Option(
        "descending",
        "descending, ascending, or the needs with commas between",
        lambda v: isinstance(v, str) or is_count(v),
    ),
)
class StaticQuickswap(FlatRule):
    """One class after the other (section 4.3).

    A class works until none of it waits and at most l_i of it run; then the turn goes on to the
    next class that waits. When that class starts is the handover:

    ``drain``
        Once the last job of the class before has ended: the paper's text.
    ``overlap``
        At once, as servers free. The turn may go on while jobs of several classes still run, which
        keeps servers busy: some 10% better than the authors' on the classes of Figure 5.
    ``authors``
        As servers free, but (a) the turn stays while a job of another class runs, (b) an arrival
        moves it off a class of which nobody waits, whatever runs, and (c) once the turn has gone
        on, the next class starts only at the next event. So in the authors' simulator.
    ``paper``
        (a) and (b) with an immediate start: (c) idles servers for no reason that the paper gives.

    ``threshold`` is l_i in slots: one for all classes, or one for each with commas between; by
    default floor(k/i) - 1, so that a class hands over as soon as it cannot fill its slots.
    ``order`` is ``descending`` or ``ascending`` needs, or the needs with commas between.
    """

    def __init__(
        self,
        queue: Instance,
        threshold: int | str | None = None,
        handover: str = "overlap",
        order: str | int = "descending",
    ) -> None:
        room, cycle = slots(queue), _cycle(queue, str(order))
        mode, nobody = HANDOVERS.index(handover), [0] * len(room)
        memory = (0, 0, mode, *_limits(room, threshold), *cycle, *nobody)
        super().__init__(queue, static_quickswap, memory)


def _limits(room: tuple[int, ...], threshold: int | str | None) -> tuple[int, ...]:
    if threshold is None:
        return tuple(most - 1 for most in room)
    if isinstance(threshold, int):
        if threshold >= max(room):
            expected = f"a whole number from 0 to {max(room) - 1}"
            raise InputError(expected, found=shown(threshold), place="option threshold")
        return tuple(min(threshold, most - 1) for most in room)
    given = _whole(threshold, "option threshold")
    if len(given) != len(room) or any(
        not 0 <= l < most for l, most in zip(given, room, strict=False)
    ):
        expected = f"one for each class, below {', '.join(map(str, room))}"
        raise InputError(expected, found=shown(threshold), place="option threshold")
    return given


def _cycle(queue: Instance, order: str) -> tuple[int, ...]:
    needs = [job.need for job in queue.classes]
    by_need = sorted(range(len(needs)), key=lambda c: needs[c])
    if order in ("descending", "ascending"):
        return tuple(by_need if order == "ascending" else by_need[::-1])
    given = _whole(order, "option order")
    if sorted(given) != sorted(needs):
        expected = f"the needs {', '.join(map(str, needs))}, each once"
        raise InputError(expected, found=shown(order), place="option order")
    return tuple(needs.index(need) for need in given)


def _whole(text: str, place: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InputError(
            "whole numbers with commas between", found=shown(text), place=place
        ) from None


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
    says which need starts first of those that call and fit.
    """

    def __init__(
        self,
        queue: Instance,
        *,
        leave: int | str | None = None,
        rest: int | str | None = None,
        call: int | str | None = None,
        first: str | None = None,
    ) -> None:
        given = {"leave": leave, "rest": rest, "call": call, "first": first}
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
