"""What searches over queues share: they work in stages, and pack values into certificates."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.clock import now

DONE = object()


class Staged:
    """A search that makes a stage after the other; stoppable between any two."""

    _stages: Iterator[object]
    _done = False

    def advance(self, seconds: float) -> bool:
        """Work for about that long; tell whether no stage is left."""
        began = now()
        while not self._done:
            if next(self._stages, DONE) is DONE:
                self._done = True
            elif now() - began > seconds:
                break
        return self._done


class FreeOfRules(Staged):
    """A search for a policy under no side constraints."""

    infeasible = False

    def holds(self, names: frozenset[str]) -> bool:
        """Tell that nothing can be in conflict where nothing is asked for."""
        return True


def packed(values: NDArray[np.float64], level: int) -> str:
    """Return doubles as a certificate holds them: least byte first, packed (zlib), in base 64."""
    return base64.b64encode(zlib.compress(values.astype("<f8").tobytes(), level)).decode()
