"""The stages of a solve: the time that each may take, and took."""

from collections.abc import Callable
from dataclasses import replace

import msgspec

from schedopt.instances.errors import InputError
from schedopt.solvers.clock import compiling, now
from schedopt.solvers.result import Limits, Result
from schedopt.solvers.stopping import stopped

NOTICED = 0.5  # seconds of compiling from which on a result speaks of it
OVER, SHARE = 1.0, 0.1
"""Time that a solve may take beyond its limit: seconds or a share, whichever is more."""


class Stages:
    """The clock of a solve: each stage beyond the search has an equal share of the limit."""

    def __init__(self, limits: Limits, beyond: int) -> None:
        self.limits, self._beyond = limits, beyond
        self._began, self._compiled = now(), compiling.seconds()
        self._spent: dict[str, float] = {}
        self._cut: list[str] = []

    def limits_left(self) -> Limits:
        """Return the limits of the stage that begins now."""
        limit = self.limits.time_limit
        if limit is None:
            return self.limits
        limits_left = max(0.0, limit - (now() - self._began))
        return replace(self.limits, time_limit=limits_left / (1 + self._beyond))

    def seconds_to_check(self) -> float | None:
        """Return the seconds that a check may take, None where it may take any."""
        limit = self.limits.time_limit
        if stopped():
            return OVER
        if limit is None:
            return None
        return limit + max(OVER, SHARE * limit) - (now() - self._began)

    def search(self, search: Callable[[Limits], Result]) -> Result:
        """Return what the first stage finds, after the formulation was built."""
        built = now() - self._began
        result = search(self.limits_left())
        spent = now() - self._began
        build = min(max(built, result.seconds.build), spent)
        self._spent |= {"build": build, "solve": spent - build}
        with_seconds = result.options | {"time_limit": self.limits.time_limit}
        return msgspec.structs.replace(result, options=with_seconds)

    def run_stage(
        self, name: str, result: Result, stage: Callable[[Result, Limits], Result]
    ) -> Result:
        """Return a result after a stage beyond the search; what was found is never lost."""
        began = now()
        self._beyond -= 1
        try:
            if not stopped():
                result = stage(result, self.limits_left())
        except KeyboardInterrupt:
            pass
        except InputError as refused:  # such as an engine that is not installed
            result = with_note(result, f"{name}: {refused}")
        if stopped():
            self._cut.append(name)
        self._spent[name] = now() - began
        return result

    def run_check(self, result: Result, check: Callable[[Result], Result]) -> Result:
        """Return a result as judged by the checker; an interrupted check judges nothing."""
        began = now()
        try:
            result = check(result)
        except KeyboardInterrupt:
            result = with_note(result, "not checked: interrupted")
        self._spent["check"] = self._spent.get("check", 0.0) + now() - began
        return result

    def with_seconds(self, result: Result) -> Result:
        """Return a result with the seconds of each stage; the rest is the search's."""
        spent = self._spent
        rest = now() - self._began - sum(spent.values())
        compiled = compiling.seconds() - self._compiled
        more = {"compile": compiled} if compiled >= NOTICED else {}
        seconds = msgspec.structs.replace(
            result.seconds, **spent | more | {"solve": spent["solve"] + max(0.0, rest)}
        )
        note = f"interrupted before the end of: {', '.join(self._cut)}" if self._cut else ""
        return with_note(msgspec.structs.replace(result, seconds=seconds), note)


def with_note(result: Result, *notes: str | msgspec.UnsetType) -> Result:
    """Return a result with a note added to its message."""
    said = [str(note) for note in (result.message, *notes) if note]
    return msgspec.structs.replace(result, message="; ".join(said) or msgspec.UNSET)
