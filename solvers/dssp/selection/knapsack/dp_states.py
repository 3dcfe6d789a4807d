"""The lists of states of a `Core`, and the tree of their sets, which grow as far as memory goes."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.dssp.selection.knapsack.items import Floats

_STATE_BYTES: Final = 2 * (8 + 8 + 4)  # room, reward and node, in two lists
_NODE_BYTES: Final = 4 + 4 + 4  # parent and item, and a place while sweeping


class CoreMemoryError(MemoryError):
    """The states of a `Core` do not fit into the memory that it may use."""


class DpStates:
    """What a search keeps: a cursor, two lists of states, and a tree."""

    _cursor: NDArray[Any]
    _states: tuple[Floats, Floats, NDArray[np.int32]]
    _tree: tuple[NDArray[np.int32], NDArray[np.int32]]
    _memory: int

    def _begin(self, room: float, reward: float, node: int) -> None:
        """Make lists of one state."""
        shape = (2, 1 << 12)
        self._states = np.empty(shape), np.empty(shape), np.empty(shape, dtype=np.int32)
        self._tree = np.empty(1 << 14, dtype=np.int32), np.empty(1 << 14, dtype=np.int32)
        self._states[0][0, 0], self._states[1][0, 0] = room, reward
        self._states[2][0, 0] = node

    def _grow_states(self) -> None:
        """Double the lists of states."""
        size = 2 * self._states[0].shape[1]
        # The old ones stand beside the new ones while they are copied.
        self._ask_for(3 * size // 2 * _STATE_BYTES + self._tree[0].size * _NODE_BYTES)
        self._states = (
            _longer(self._states[0], size),
            _longer(self._states[1], size),
            _longer(self._states[2], size),
        )

    def _grow_tree(self) -> None:
        """Drop unneeded nodes; if most are needed, double the room."""
        from schedopt.solvers.dssp.selection.knapsack import kernels

        kernels.sweep(self._cursor[0], self._states[2], self._tree)
        size = self._tree[0].size
        if self._cursor["nodes"][0] > size // 2:
            self._ask_for(self._states[0].shape[1] * _STATE_BYTES + 3 * size * _NODE_BYTES)
            self._tree = (_longer(self._tree[0], 2 * size), _longer(self._tree[1], 2 * size))

    def _ask_for(self, size: int) -> None:
        """Refuse to grow beyond the memory limit, or beyond what 32-bit node numbers can count."""
        if size > self._memory or self._tree[0].size >= 1 << 30:
            raise CoreMemoryError(
                f"the search has {int(self._cursor['length'][0])} states open and would need "
                f"{size / 2**30:.3g} GiB: more than the {self._memory / 2**30:.3g} GiB it may use"
            )


def _longer(array: NDArray[Any], size: int) -> NDArray[Any]:
    """Return a copy whose last axis has `size` entries; those beyond the old ones are unset."""
    copy = np.empty((*array.shape[:-1], size), dtype=array.dtype)
    copy[..., : array.shape[-1]] = array
    return copy
