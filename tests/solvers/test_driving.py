"""The loop that drives every search of our own: each way to end, and what is kept."""

import pytest

from schedopt.solvers.result import Limits, Termination
from schedopt.solvers.running import Run, drive

Step = tuple[float | None, float | None, bool] | BaseException


class Scripted:
    """A search that plays a script of (value, bound, done)."""

    def __init__(self, *steps: Step) -> None:
        self.steps = list(steps)
        self.value: float | None = None
        self.bound: float | None = None

    def advance(self, seconds: float) -> bool:
        step = self.steps.pop(0)
        if isinstance(step, BaseException):
            raise step
        self.value, self.bound, done = step
        return done


@pytest.mark.parametrize(
    ("steps", "limits", "ends"),
    [
        ([(9.0, 4.0, False), (5.0, 5.0, False)], Limits(), "optimal"),
        ([(9.0, 4.0, False), (9.0, 8.5, False)], Limits(gap=0.1), "optimal"),
        ([(9.0, 4.0, False), (9.0, 8.5, True)], Limits(), "completed"),
        ([(None, None, True)], Limits(), "optimal"),
        ([(9.0, 4.0, False), (9.0, 8.0, False)], Limits(time_limit=0.0), "time-limit"),
        ([(9.0, 4.0, False), KeyboardInterrupt()], Limits(), "interrupted"),
        ([(9.0, 4.0, False), MemoryError("full")], Limits(), "error"),
    ],
)
def test_each_way_to_end(steps: list[Step], limits: Limits, ends: Termination) -> None:
    run, search = Run(limits), Scripted(*steps)
    stopped, message = drive(search, run)
    assert stopped == ends
    assert message == ("full" if ends == "error" else "")
    assert run.trace[-1][1:] == (search.value, search.bound)


def test_what_is_known_is_watched_and_traced_once() -> None:
    seen: list[tuple[float | None, float | None]] = []
    limits = Limits(watch=lambda seconds, best, bound: seen.append((best, bound)))
    run = Run(limits)
    drive(Scripted((None, 1.0, False), (None, 1.0, False), (2.0, 2.0, True)), run)
    assert seen == [(None, 1.0), (None, 1.0), (2.0, 2.0)]
    assert [entry[1:] for entry in run.trace] == [(None, 1.0), (2.0, 2.0)]
