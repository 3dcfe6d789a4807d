"""What ends a run before its time: Ctrl-C, signals by which systems end jobs, a caller's request.

A signal raises `KeyboardInterrupt` where it finds the main thread, which engines catch to keep what
they have. That it came stays known until the command ends, so that nothing is begun after it. A
request (see `Request`) raises nothing: engines ask `stopped` at each step.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

ENDING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""Ctrl-C; what batch systems send before they kill; what a terminal that closes leaves behind."""

AGAIN = 0.01  # seconds until a signal whose exception was ignored is sent again


class Stop:
    """Whether a command was told to end, and by which signal.

    While `held`, signals are noted and raise nothing: what is under way is finished first. A
    `KeyboardInterrupt` in a finalizer or a callback, where Python ignores it, is raised again.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self.held = self._ignored = False

    @property
    def status(self) -> int:
        """The exit status of a command that a signal ended."""
        return 128 + (self.signal or 0)

    def _receive(self, number: int, _: object) -> None:
        again, self._ignored = self.signal is not None and not self._ignored, False
        self.signal = self.signal or number
        # A terminal that closes may say so twice, a batch system more often: only people insist.
        if (number == signal.SIGINT or not again) and not self.held:
            raise KeyboardInterrupt

    def _raise_ignored(self, ignored: sys.UnraisableHookArgs) -> None:
        """Send the signal again whose exception Python ignored, as `sys.unraisablehook`."""
        if self.signal is None or ignored.exc_type is not KeyboardInterrupt:
            sys.__unraisablehook__(ignored)
            return
        self._ignored = True
        thread = threading.main_thread().ident
        send = getattr(signal, "pthread_kill", lambda _, number: signal.raise_signal(number))
        again = threading.Timer(AGAIN, send, (thread, self.signal))
        again.daemon = True
        again.start()


_running: Stop | None = None


@contextmanager
def stoppable(*signals: int) -> Iterator[Stop]:
    """Note the signals that come meanwhile: those that nobody else has a handler for.

    Inside another, and in threads and processes that are not told of signals, it changes nothing.
    """
    global _running
    if threading.current_thread() is not threading.main_thread():
        yield Stop()  # Python calls handlers of signals in the main thread alone
        return
    if _running is not None:
        yield _running
        return
    stop, before = Stop(), {}
    for number in signals or (signal.SIGINT,):
        handler = signal.getsignal(number)
        if handler in (signal.SIG_DFL, signal.default_int_handler):
            before[number] = signal.signal(number, stop._receive)
    _running, hook = stop if before else None, sys.unraisablehook
    if before:
        sys.unraisablehook = stop._raise_ignored
    try:
        yield stop
    finally:
        _running, sys.unraisablehook = None, hook
        for number, handler in before.items():
            signal.signal(number, handler)


Watch = Callable[[float, float | None, float | None], bool | None]
"""Called while a solver runs, with seconds so far, incumbent and bound (None: unknown).

Where it returns True, the run ends and keeps the incumbent.
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
        """Whether the solve is to end."""
        made = self._made or (self._event is not None and self._event.is_set())
        return made or (self._outer is not None and self._outer.made)

    @property
    def error(self) -> str:
        """What ``watch`` raised; empty if it raised nothing."""
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
    """End what is solved inside, in this thread, when the event is set or ``watch`` returns True.

    Engines are to call the ``watch`` of the request that is yielded.
    """
    request = Request(event, watch, _request.get())
    token = _request.set(request)
    try:
        yield request
    finally:
        _request.reset(token)


def stopped() -> bool:
    """Tell whether the command, or the solve that runs in this thread, was told to end."""
    request = _request.get()
    return _signalled() or (request is not None and request.made)


def _signalled() -> bool:
    return _running is not None and _running.signal is not None


@contextmanager
def finishing() -> Iterator[None]:
    """Finish what is inside, such as writing what is in hand, before a signal ends the command."""
    stop = _running or Stop()
    before, stop.held = stop.held, True
    try:
        yield
    finally:
        stop.held = before


@contextmanager
def as_one_piece() -> Iterator[None]:
    """Do what is inside as a whole, as compiled code is: a signal that comes meanwhile ends it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = _signalled()
    with finishing():
        yield
    if _signalled() and not before and _running and not _running.held:
        raise KeyboardInterrupt


def leave_signals_to_parent() -> None:
    """Leave the signals that end a command to the process that began this one."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


@contextmanager
def signals_blocked() -> Iterator[None]:
    """Begin processes that no signal reaches before they have called `leave_signals_to_parent`."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
