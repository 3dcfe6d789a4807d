"""Interruption of a run: Ctrl-C, signals of batch systems, and requests of the caller.

A signal raises `KeyboardInterrupt` in the main thread; engines catch it and keep the incumbent.
`stopped` stays true until the command ends, so that no other engine starts. A `Request` raises
nothing: engines call `stopped` at each step.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

ENDING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""Ctrl-C, the signal that batch systems send before they kill, and that of a closed terminal."""


class Stop:
    """The signal that ends the command, if one was received.

    While `held`, signals are recorded and raise nothing.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self.held = False

    @property
    def status(self) -> int:
        """The exit status of a command that a signal ended."""
        return 128 + (self.signal or 0)

    def _receive(self, number: int, _: object) -> None:
        again = self.signal is not None
        self.signal = self.signal or number
        # SIGHUP and SIGTERM may be sent repeatedly; only a repeated Ctrl-C is meant.
        if (number == signal.SIGINT or not again) and not self.held:
            raise KeyboardInterrupt


_running: list[Stop] = []
"""The `Stop` of the outermost `stoppable`, if there is one."""


@contextmanager
def stoppable(*signals: int) -> Iterator[Stop]:
    """Record the signals that arrive inside, unless another handler is set for them.

    Nested uses share one `Stop`. In threads other than the main thread it has no effect.
    """
    if threading.current_thread() is not threading.main_thread():
        yield Stop()  # Python calls signal handlers in the main thread only
        return
    if _running:
        yield _running[0]
        return
    stop, before = Stop(), {}
    for number in signals or (signal.SIGINT,):
        handler = signal.getsignal(number)
        if handler in (signal.SIG_DFL, signal.default_int_handler):
            before[number] = signal.signal(number, stop._receive)
    _running.extend([stop] if before else [])
    try:
        yield stop
    finally:
        _running.clear()
        for number, handler in before.items():
            signal.signal(number, handler)


Watch = Callable[[float, float | None, float | None], bool | None]
"""Called while a solver runs, with the seconds so far, the incumbent and the bound, or None.

If it returns True, the run ends and keeps the incumbent.
"""


class Event(Protocol):
    """An event that another thread may set, such as `threading.Event`."""

    def is_set(self) -> bool:
        """Return whether the event is set."""


class Request:
    """The caller's request to end a solve: an event, or what ``watch`` returns or raises."""

    def __init__(self, event: Event | None, watch: Watch | None, outer: Request | None) -> None:
        self._event, self._watch, self._outer = event, watch, outer
        self._made = False
        self._error = ""

    @property
    def made(self) -> bool:
        """Whether the solve must end."""
        made = self._made or (self._event is not None and self._event.is_set())
        return made or (self._outer is not None and self._outer.made)

    @property
    def error(self) -> str:
        """The exception that ``watch`` raised, in words; empty if there is none."""
        return self._error or (self._outer.error if self._outer else "")

    @property
    def watch(self) -> Watch | None:
        """The caller's ``watch``, guarded: an exception in it ends the run."""
        return None if self._watch is None else self._guarded

    def _guarded(self, seconds: float, best: float | None, bound: float | None) -> None:
        if self._watch is None or self.made:
            return
        try:
            self._made = self._watch(seconds, best, bound) is True
        except Exception as error:  # noqa: BLE001  the incumbent is kept, whatever it is
            self._made, self._error = True, f"watch raised {type(error).__name__}: {error}"


_request: ContextVar[Request | None] = ContextVar("request", default=None)


@contextmanager
def stoppable_by(event: Event | None, watch: Watch | None) -> Iterator[Request]:
    """End the solve of this thread when the event is set or ``watch`` returns True.

    Engines call the ``watch`` of the request that is yielded.
    """
    request = Request(event, watch, _request.get())
    token = _request.set(request)
    try:
        yield request
    finally:
        _request.reset(token)


def stopped() -> bool:
    """Return True if the command, or the solve of this thread, must end."""
    request = _request.get()
    signalled = any(stop.signal is not None for stop in _running)
    return signalled or (request is not None and request.made)


@contextmanager
def finishing() -> Iterator[None]:
    """Hold signals back until the block ends, such as while a result is written."""
    stop = _running[0] if _running else Stop()
    before, stop.held = stop.held, True
    try:
        yield
    finally:
        stop.held = before


def ignore_signals() -> None:
    """Ignore the signals that end a command: the parent process handles them."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


@contextmanager
def signals_blocked() -> Iterator[None]:
    """Block signals while processes start, until these have called `ignore_signals`."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
