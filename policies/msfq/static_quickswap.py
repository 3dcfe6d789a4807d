"""Static Quickswap: one class after the other, in a fixed cycle."""

from __future__ import annotations

from instances.errors import InputError, shown
from instances.msfq import Instance
from instances.options import Option, is_count
from policies.msfq.one_or_all import is_level
from policies.msfq.registration import admission_rule
from policies.msfq.rule import Rule, Twin, slots
from policies.msfq.rules import KERNELS, PAPER
from policies.msfq.state import State


@admission_rule(
    "static-quickswap",
    source=f"{PAPER}, section 4.3; overlap: its authors' simulator",
    summary="one class after the other; hands over once at most l_i of its slots are used",
    twin=Twin(KERNELS, "static_quickswap"),
    threshold=Option(
        None,
        "a whole number of slots, or one for each class with commas between",
        lambda v: is_level(v) or isinstance(v, str),
    ),
    handover=Option("overlap", "overlap or drain", lambda v: v in ("overlap", "drain")),
    order=Option(
        "descending",
        "descending, ascending, or the needs with commas between",
        lambda v: isinstance(v, str) or is_count(v),
    ),
)
class StaticQuickswap(Rule):
    """One class after the other (section 4.3).

    A class works until none of it waits and at most l_i of it run; then the turn goes on to the
    next class that waits: once the last job has ended (``drain``, the paper's text), or at once, as
    servers free (``overlap``).

    Parameters
    ----------
    queue : Instance
    threshold : int or str, optional
        l_i in slots: one for all classes, or one for each with commas between; floor(k/i) - 1 by
        default, so that a class hands over as soon as it cannot fill its slots.
    handover : {"overlap", "drain"}
        Whether the next class enters as servers free.
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
        self.overlap, self.draining = handover == "overlap", False
        self.memory = (0, 0, int(self.overlap), *self.limits, *self.order)

    def __call__(self, state: State) -> int | None:
        """Return what starts next."""
        while True:
            kind = self.order[self.turn]
            if not self.draining:
                if state.waiting[kind] and state.running[kind] < self.slots[kind]:
                    return kind if state.needs[kind] <= state.free else None
                if state.waiting[kind] or state.running[kind] > self.limits[kind]:
                    return None
                self.draining = True
            if state.running[kind] and not self.overlap:
                return None
            count = len(self.order)
            cycle = [(self.turn + 1 + i) % count for i in range(count)]
            following = next((t for t in cycle if state.waiting[self.order[t]]), None)
            if following is None:
                return None
            self.turn, self.draining = following, False


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
