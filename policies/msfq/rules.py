"""The admission rules, as plainly as they can be said: which class starts next, or none.

After each arrival and each completion a rule is asked until it says None. It sees only how many
jobs of each class wait and run, how many servers are free, and which job waits longest. The
compiled twins in `admission_kernels` are held to these by a test.

A rule with a memory is an object; the others are functions. Classes are positions in the instance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import Protocol

Rule = Callable[["State"], int | None]


class State(Protocol):
    """What a rule sees."""

    @property
    def needs(self) -> Sequence[int]:
        """Servers, by class."""
        ...

    @property
    def waiting(self) -> Sequence[int]:
        """Jobs that wait, by class."""
        ...

    @property
    def running(self) -> Sequence[int]:
        """Jobs that run, by class."""
        ...

    @property
    def free(self) -> int:
        """Servers that are free."""
        ...

    def oldest(self, among: Iterable[int]) -> int | None:
        """Return which of these classes' waiting jobs arrived first; None if none waits."""
        ...


def fitting(s: State) -> list[int]:
    """Return the classes that have a job waiting and servers enough."""
    return [c for c, need in enumerate(s.needs) if s.waiting[c] and need <= s.free]


def waiting(s: State) -> list[int]:
    """Return the classes that have a job waiting."""
    return [c for c in range(len(s.needs)) if s.waiting[c]]


def largest(s: State, among: Sequence[int]) -> int | None:
    """Return the class that needs most servers."""
    return max(among, key=lambda c: s.needs[c], default=None)


def fcfs(s: State) -> int | None:
    """First come, first served: who came first starts, or everyone waits (section 1.1)."""
    first = s.oldest(waiting(s))
    return first if first is not None and s.needs[first] <= s.free else None


def first_fit(s: State) -> int | None:
    """Of those that fit, who came first (section 1.1)."""
    return s.oldest(fitting(s))


def msf(s: State) -> int | None:
    """Most Servers First: of those that fit, who needs most (section 4.1)."""
    return largest(s, fitting(s))


class Msfq:
    """MSF Quickswap (section 4.2): drain the small jobs once at most l of them are left.

    ``lazy`` drains only when a large job waits, as the paper's authors' simulator does.
    """

    def __init__(self, small: int, large: int, threshold: int, lazy: bool) -> None:
        self.small, self.large, self.threshold, self.lazy = small, large, threshold, lazy
        self.draining, self.batch = False, 0

    def __call__(self, s: State) -> int | None:
        """Say what starts next."""
        if s.running[self.large]:
            return None  # phase 1
        if not s.running[self.small] and not self.batch:  # the servers are empty
            if s.waiting[self.large]:
                return self.large
            self.draining = not self.lazy and s.waiting[self.small] <= self.threshold
            self.batch = s.waiting[self.small] if self.draining else 0
        left = s.waiting[self.small] + s.running[self.small]
        if left <= self.threshold and (s.waiting[self.large] or not self.lazy):
            self.draining = True  # phase 4
        if self.draining:
            if not self.batch:
                return None
            self.batch -= 1
            return self.small
        return self.small if s.waiting[self.small] and s.free else None


class TwoThreshold:
    """Two thresholds instead of one: what the optimal policy looks like.

    With empty servers a large job starts if fewer small ones wait than b0 + b1·(large ones
    waiting). With c small jobs running and a large one waiting, no small one starts while c <= l
    and fewer than b2 of them wait.
    """

    def __init__(  # noqa: PLR0917
        self, small: int, large: int, threshold: int, b0: float = inf, b1: float = 0.0,
        b2: float = inf,
    ) -> None:  # fmt: skip
        self.small, self.large, self.threshold = small, large, threshold
        self.b0, self.b1, self.b2 = b0, b1, b2

    def __call__(self, s: State) -> int | None:
        """Say what starts next."""
        small, large, running = s.waiting[self.small], s.waiting[self.large], s.running[self.small]
        if s.running[self.large]:
            return None
        if not running and large and (not small or small < self.b0 + self.b1 * large):
            return self.large
        stop = running and large and running <= self.threshold and small < self.b2
        return self.small if small and s.free and not stop else None


class StaticQuickswap:
    """Static Quickswap (section 4.3): one class after the other, in a fixed cycle.

    A class works until none of it waits and at most l_i of it run; then the turn goes on to the
    next class that waits: once the last job has ended (``drain``, the paper's text), or at once, as
    servers free (``overlap``, its authors' simulator).
    """

    def __init__(
        self, order: Sequence[int], slots: Sequence[int], thresholds: Sequence[int], overlap: bool
    ) -> None:
        self.order, self.slots, self.thresholds = order, slots, thresholds
        self.overlap, self.turn, self.draining = overlap, 0, False

    def __call__(self, s: State) -> int | None:
        """Say what starts next."""
        while True:
            c = self.order[self.turn]
            if not self.draining:
                if s.waiting[c] and s.running[c] < self.slots[c]:
                    return c if s.needs[c] <= s.free else None
                if s.waiting[c] or s.running[c] > self.thresholds[c]:
                    return None
                self.draining = True
            if s.running[c] and not self.overlap:
                return None
            cycle = [(self.turn + 1 + i) % len(self.order) for i in range(len(self.order))]
            following = next((t for t in cycle if s.waiting[self.order[t]]), None)
            if following is None:
                return None
            self.turn, self.draining = following, False


class AdaptiveQuickswap:
    """Adaptive Quickswap (section 4.4): MSF, until it serves only what keeps others waiting.

    Where some waiting class is not in service, and no class in service waits, only the waiting job
    that needs most servers may start; once it has, MSF goes on.
    """

    def __init__(self) -> None:
        self.draining = False

    def __call__(self, s: State) -> int | None:
        """Say what starts next."""
        if self.draining:
            c = largest(s, waiting(s))
            if c is not None and s.needs[c] > s.free:
                return None
            self.draining = False
            if c is not None:
                return c
        following = msf(s)
        if following is None:
            classes = range(len(s.needs))
            left_out = any(s.waiting[c] and not s.running[c] for c in classes)
            useful = any(s.waiting[c] and s.running[c] for c in classes)
            self.draining = left_out and not useful
        return following


class Nmsr:
    """Nonpreemptive Markovian service rates: a cycle of schedules, blind to the queues.

    ``turn`` says whose servers they are for now; whoever simulates moves it on. A new class starts
    only as servers free. Source: Chen, Grosof and Berg, POMACS 9, 2025 (the paper's reference 12).
    """

    def __init__(self, slots: Sequence[int]) -> None:
        self.slots, self.turn = slots, 0

    def __call__(self, s: State) -> int | None:
        """Say what starts next."""
        c = self.turn
        fits = s.waiting[c] and s.running[c] < self.slots[c] and s.needs[c] <= s.free
        return c if fits else None
