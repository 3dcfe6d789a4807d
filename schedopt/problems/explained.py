"""Why an answer is as it is: each thing left out, what each rule costs, what more would bring."""

from __future__ import annotations

import msgspec

from schedopt.formats import number
from schedopt.problems.shown import ShownTable, Tables

NAMES = 6  # jobs that are named in a cell; of more, how many


class LeftOut(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why one job is left out."""

    job: str
    # ``never`` (it cannot be chosen, whatever else is), ``rule:NAME`` (this rule keeps it out) or
    # ``outbid``.
    reason: str
    words: str  # the same for people
    reward: float  # what it is worth
    # What it would have had to be worth to be in an optimum; None where nothing is enough, or
    # where it is not known.
    needed: float | None = None
    # The rules that keep it out: together they cannot hold with it, or without any one of them it
    # is chosen.
    rules: tuple[str, ...] = ()
    proven: bool = True  # whether it was solved again to a proof, so that ``needed`` is exact


class RulePrice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a rule costs."""

    rule: str
    # The reward lost to it: the optimum without it, less the optimum. None: not known.
    cost: float | None
    # Jobs that are chosen without it alone, and with it alone, in the optima that were found.
    gains: tuple[str, ...] = ()
    loses: tuple[str, ...] = ()
    # Where the rule is on a grouping: how much more reward each group's jobs bring without it.
    groups: dict[str, float] = {}
    proven: bool = True


class More(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What more of something brings: by solving again with it."""

    what: str  # such as ``1 more processor``
    worth: float | None  # how much more reward; None: not known
    proven: bool = True


class Explanation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why an answer is as it is."""

    left_out: tuple[LeftOut, ...]  # one for each job that is left out, in the file's order
    rules: tuple[RulePrice, ...]
    more: tuple[More, ...]
    unproven: int  # how many of these could not be solved to a proof in the time that there was
    seconds: float


def tables(explanation: Explanation) -> Tables:
    """Yield the tables of an explanation."""
    if explanation.left_out:
        yield ShownTable(
            title="left out",
            heads=("job", "reason", "worth", "needed", "why"),
            rows=tuple(
                (one.job, one.reason, number(one.reward), _known(one.needed, one.proven), one.words)
                for one in explanation.left_out
            ),
        )
    if explanation.rules:
        yield ShownTable(
            title="what each rule costs",
            heads=("rule", "reward lost", "in without it", "out without it", "groups"),
            rows=tuple(
                (
                    one.rule,
                    _known(one.cost, one.proven) or "unknown",
                    _named(one.gains),
                    _named(one.loses),
                    ", ".join(f"{group} {gain:+.6g}" for group, gain in one.groups.items() if gain),
                )
                for one in explanation.rules
            ),
        )
    yield ShownTable(
        title="what more would bring",
        heads=("more", "reward"),
        rows=tuple(
            (one.what, _known(one.worth, one.proven) or "unknown") for one in explanation.more
        ),
    )


def _known(value: float | None, proven: bool) -> str:
    if value is None:
        return ""
    return number(value) if proven else f"{number(value)} (not proven)"


def _named(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - NAMES} more" if len(names) > NAMES else ""
    return ", ".join(names[:NAMES]) + more
