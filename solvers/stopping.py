"""What ends a command before its time: Ctrl-C, and the signals by which systems end jobs.

A signal raises `KeyboardInterrupt` where it finds the main thread, which engines catch to keep what
they have. That it came stays known until the command ends, so that nothing is begun after it.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

ENDING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""Ctrl-C; what batch systems send before they kill; what a terminal that closes leaves behind."""


class Stop:
    """Whether a command was told to end, and by which signal.

    While `held`, signals are noted and raise nothing: what is under way is finished first.
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
        # A terminal that closes may say so twice, a batch system more often: only people insist.
        if (number == signal.SIGINT or not again) and not self.held:
            raise KeyboardInterrupt


_running: Stop | None = None


@contextmanager
def stoppable(*signals: int) -> Iterator[Stop]:
    """Note the signals that come meanwhile: those that nobody else has a handler for.

    Inside another, and in threads and processes that are not told of signals, it changes nothing.
    """
    global _running  # noqa: PLW0603  a process has one command, and one handler of each signal
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
    _running = stop if before else None
    try:
        yield stop
    finally:
        _running = None
        for number, handler in before.items():
            signal.signal(number, handler)


def stopped() -> bool:
    """Tell whether the command that runs was told to end."""
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
    before = stopped()
    with finishing():
        yield
    if stopped() and not before and _running and not _running.held:
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
