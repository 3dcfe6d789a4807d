"""Looking a name up among those that are known."""

from __future__ import annotations

from collections.abc import Iterable

from instances.errors import InputError, listing, shown, suggestion


def pick(name: str, known: Iterable[str], what: str) -> str:
    """Return a name that is known.

    Raises
    ------
    InputError
        If it is not, with the nearest name, or with those that are.
    """
    names = list(known)
    if name not in names:
        raise InputError(f"{what}{suggestion(name, names) or listing(names)}", found=shown(name))
    return name
