"""A heap in two arrays, compiled: the least key first, of the same key the least item."""

from typing import Any

from schedopt.solvers.compiling import compiled


@compiled
def before(a: float, i: int, b: float, j: int) -> bool:
    """Tell whether an item with a key goes before another."""
    return a < b or (a == b and i < j)


@compiled
def push(keys: Any, items: Any, size: int, key: float, item: int) -> int:
    """Add an item, and return the new size."""
    at = size
    while at > 0:
        above = (at - 1) >> 1
        if not before(key, item, keys[above], items[above]):
            break
        keys[at], items[at] = keys[above], items[above]
        at = above
    keys[at], items[at] = key, item
    return size + 1


@compiled
def sink(keys: Any, items: Any, size: int, key: float, item: int) -> None:
    """Put an item in place of the first, which is gone."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        other = child + 1
        if other < size and before(keys[other], items[other], keys[child], items[child]):
            child = other
        if not before(keys[child], items[child], key, item):
            break
        keys[at], items[at] = keys[child], items[child]
        at = child
    keys[at], items[at] = key, item


@compiled
def pop(keys: Any, items: Any, size: int) -> int:
    """Take the first item out, and return the new size.

    The hole sinks to a leaf before the last item fills it: that one mostly belongs near a leaf.
    """
    size -= 1
    at, child = 0, 1
    while child < size:
        other = child + 1
        if other < size and before(keys[other], items[other], keys[child], items[child]):
            child = other
        keys[at], items[at] = keys[child], items[child]
        at = child
        child = 2 * at + 1
    push(keys, items, at, keys[size], items[size])  # from the hole it rises
    return size
