"""The registry of policies: name, problem, source and options of each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from schedopt.instances import plugins
from schedopt.instances.errors import InputError, quote
from schedopt.instances.files import module_path
from schedopt.instances.options import Option


class NotApplicableError(Exception):
    """A policy does not apply to an instance; the message gives the reason in one line."""


def single_night(nights: int, who: str) -> None:
    """Raise `NotApplicableError` if there are several nights and the policy is for one."""
    if nights > 1:
        raise NotApplicableError(f"{who} is for a single night, and there are {nights}")


class UnstableError(NotApplicableError):
    """A queue grows without bound under a policy; the message gives the load of each class."""


def as_array(found: Any, who: str, what: str, kind: type, *sizes: int) -> NDArray[Any]:
    """Return what a user's policy returned as an array of shape (size,).

    ``kind`` is bool or float; ``what`` names what the numbers are for, such as ``job``.
    `InputError` if it is no such array or has a NaN.
    """
    words = "a truth value" if kind is bool else "a number"
    expected = f"{words} for each {what} ({' or '.join(map(str, sizes))}) from {quote(who)}"
    try:
        array = np.asarray(found)
        fits = array.dtype.kind == "b" if kind is bool else array.dtype.kind in "biuf"
    except ValueError:  # lists of several lengths
        fits = False
    if not fits or array.shape not in [(size,) for size in sizes]:
        shape = f"{array.shape} of {array.dtype}" if isinstance(found, np.ndarray) else quote(found)
        raise InputError(expected, found=shape)
    if kind is float and np.isnan(array).any():
        raise InputError(expected, found="nan")
    return array if kind is bool else array.astype(np.float64, copy=False)


Suits = Literal["", "alone", "beside"]


@dataclass(frozen=True)
class Policy:
    """A registered policy.

    Attributes
    ----------
    name : str
        Its name on the command line.
    problem : str
        The problem that it is for.
    run : callable
        ``run(instance, **options)`` returns a solution record of the problem.
    source : str
        Where it is defined: paper and section, or book.
    summary : str
        What it does, in one line.
    options : mapping of str to Option
        Its options.
    random : bool
        Whether it draws random numbers, except when it replays a log; then ``run`` also takes a
        ``seed``.
    phase : {"", "choose", "dispatch", "both"}
        The phase of the policy in a problem that is solved in two phases. A policy that chooses and
        one that dispatches can be joined, as in ``greedy+lcpf``.
    suits : {"", "alone", "beside"}
        Whether it is for instances in one file or for those with a table in a file of its own; for
        both if empty.
    """

    name: str
    problem: str
    run: Callable[..., Any]
    source: str
    summary: str
    options: Mapping[str, Option] = field(default_factory=dict)
    random: bool = False
    phase: Literal["", "choose", "dispatch", "both"] = ""
    suits: Suits = ""


_POLICIES: dict[str, dict[str, Policy]] = {}


def register(policy: Policy) -> Policy:
    """Add a policy; `ValueError` if its problem has one of that name."""
    of_problem = _POLICIES.setdefault(policy.problem, {})
    if policy.name in of_problem:
        raise ValueError(f"{policy.problem} has a policy {policy.name!r} already")
    of_problem[policy.name] = policy
    return policy


_HOUSE: dict[str, frozenset[str]] = {}
"""The names of each problem's own policies."""


def settle(problem: str) -> None:
    """Mark all policies registered so far as the problem's own; later ones are the user's."""
    _HOUSE.setdefault(problem, frozenset(_POLICIES.get(problem, {})))


def is_own(problem: str, name: str) -> bool:
    """Return whether a policy is the problem's own, and not a user's."""
    return name in _HOUSE.get(problem, ())


def forget(policy: Policy) -> None:
    """Remove a policy."""
    of_problem = _POLICIES.get(policy.problem, {})
    if of_problem.get(policy.name) is policy:
        del of_problem[policy.name]


def all_policies() -> list[Policy]:
    """Return all registered policies of every problem."""
    return [policy for of_problem in _POLICIES.values() for policy in of_problem.values()]


def registered(problem: str) -> Mapping[str, Policy]:
    """Return the policies of a problem by name, in the order of registration.

    The mapping includes policies that are registered later.
    """
    _import(problem)
    return MappingProxyType(_POLICIES.setdefault(problem, {}))


@cache
def _import(problem: str) -> None:
    import importlib

    importlib.import_module(module_path("policies", problem))
    for point in plugins.of("policies", problem).values():
        plugins.load(point)
