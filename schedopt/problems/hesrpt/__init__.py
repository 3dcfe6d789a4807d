"""What the application knows of hesrpt: how to share servers between parallelizable jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from schedopt.problems.record import Problem

if TYPE_CHECKING:
    from schedopt.formulations.protocol import Formulation

STARTS = ("hesrpt", "equi")
"""Policies that are tried one after the other for a start; the last always applies."""


class Hesrpt(Problem):
    """The record of hesrpt."""

    name = "hesrpt"
    title = "how to share servers between parallelizable jobs"
    objective = "flow time"
    tiny = (
        b'{"problem":"hesrpt","name":"tiny","servers":10,"speedup":{"kind":"power","p":0.5},'
        b'"jobs":[{"name":"a","size":1},{"name":"b","size":2}]}'
    )
    warming = (("mixed", {"jobs": 61}),)
    formulation_homes: ClassVar = {
        "allocation": "schedopt.formulations.hesrpt.allocation:Allocation"
    }
    printed: ClassVar = {
        "hesrpt": "heSRPT",
        "helrpt": "heLRPT",
        "srpt": "SRPT",
        "equi": "EQUI",
        "hell": "HELL",
        "knee": "KNEE",
    }

    def hint(self, model: Formulation, seconds: float | None = None) -> Any | None:
        """Return what the first policy that applies makes; policies see no side constraints."""
        from schedopt.policies.registry import NotApplicableError, registered

        if model.side():
            return None
        for policy in map(registered("hesrpt").__getitem__, STARTS):
            try:
                return policy.run(model.instance)
            except NotApplicableError:
                continue
        return None


RECORD = Hesrpt()
