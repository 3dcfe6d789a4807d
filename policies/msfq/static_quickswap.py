"""Static Quickswap: one class after the other, in a fixed cycle."""

from __future__ import annotations

from schedopt.instances.errors import InputError, shown
from schedopt.instances.msfq import Instance
from schedopt.instances.options import Option, is_count
from schedopt.policies.msfq.one_or_all import is_level
from schedopt.policies.msfq.registration import admission_rule
from schedopt.policies.msfq.rule import Rule, Twin, slots
from schedopt.policies.msfq.rules import KERNELS, PAPER
from schedopt.policies.msfq.state import State

HANDOVERS = ("drain", "overlap", "authors", "paper")
"""In the order of their numbers in the twin's memory."""


@admission_rule(
    "static-quickswap",
    source=f"{PAPER}, section 4.3: drain; its authors' simulator (StaticMSF): authors",
    summary="one class after the other; hands over once at most l_i of its slots are used",
    twin=Twin(KERNELS, "static_quickswap"),
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
class StaticQuickswap(Rule):
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

    Parameters
    ----------
    queue : Instance
    threshold : int or str, optional
        l_i in slots: one for all classes, or one for each with commas between; floor(k/i) - 1 by
        default, so that a class hands over as soon as it cannot fill its slots.
    handover : {"overlap", "drain", "authors", "paper"}
        When the next class starts.
    order : str
        ``descending`` or ``ascending`` needs, or the needs with commas between.
    """

    def __init__(
        self,
        queue: Instance,
        threshold: int | str | None = None,
        handover: str = "overlap",
        order: str | int = "descending",
    ) -> None:
        self.slots = slots(queue)
        self.limits = _limits(self.slots, threshold)
        self.order = _cycle(queue, str(order))
        self.handover, self.draining = handover, False
        self.asked, self.left = False, [0] * len(self.slots)
        mode = HANDOVERS.index(handover)
        self.memory = (0, 0, mode, *self.limits, *self.order, *self.left)

    def __call__(self, state: State) -> int | None:
        """Return what starts next."""
        if self.handover in ("authors", "paper"):
            return self._by_turns(state)
        while True:
            kind = self.order[self.turn]
            if not self.draining:
                if state.waiting[kind] and state.running[kind] < self.slots[kind]:
                    return kind if state.needs[kind] <= state.free else None
                if state.waiting[kind] or state.running[kind] > self.limits[kind]:
                    return None
                self.draining = True
            if state.running[kind] and self.handover == "drain":
                return None
            if not self._goes_on(state):
                return None
            self.draining = False

    def _by_turns(self, state: State) -> int | None:
        """Return what starts next where two classes run at the most."""
        if not self.asked:  # the first question after an event
            self.asked = True
            came = [kind for kind, n in enumerate(state.waiting) if n > self.left[kind]]
            if any(kind != self.order[self.turn] for kind in came) and self._may_go_on(state):
                self._goes_on(state)
            if came and not state.waiting[self.order[self.turn]]:
                self._goes_on(state)
        while True:
            kind = self.order[self.turn]
            if state.waiting[kind] and state.needs[kind] <= state.free:
                return kind
            moved = self._may_go_on(state) and self._goes_on(state)
            if not moved or self.handover == "authors":
                self.asked, self.left = False, list(state.waiting)
                return None

    def _may_go_on(self, state: State) -> bool:
        """Tell whether no other class runs, and at most l_i of the class whose turn it is."""
        kind = self.order[self.turn]
        alone = sum(state.running) == state.running[kind]
        return alone and state.running[kind] <= self.limits[kind]

    def _goes_on(self, state: State) -> bool:
        """Give the turn to the next class that waits, and tell whether there is one."""
        count = len(self.order)
        for step in range(1, count + 1):
            turn = (self.turn + step) % count
            if state.waiting[self.order[turn]]:
                self.turn = turn
                return True
        return False


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
