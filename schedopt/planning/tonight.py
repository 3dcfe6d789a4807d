"""Tonight: a table of jobs planned on a farm, and how good that is.

A farm is what an operator says beside tonight's jobs, in flags or in a file for every night. Its
words are those of the options of `instances.dssp.jobtable`, which read them, but for ``from`` and
``until``: the night's start, and its deadline, after which nothing runs either.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from schedopt.formats import count_of, number
from schedopt.instances.constraints import Constraint, FairShare, Forbid
from schedopt.instances.decoding import decode
from schedopt.instances.dssp import Instance, Selected, jobtable
from schedopt.instances.dssp.clock import TONIGHT
from schedopt.instances.dssp.columns import HOLDS, POOL, SEATS
from schedopt.instances.dssp.jobrows import BY_WORD
from schedopt.instances.dssp.records import SideConstraint
from schedopt.instances.errors import InputError, at_place, quote
from schedopt.instances.files import read_bytes
from schedopt.instances.naming import pick_name
from schedopt.instances.tables import Source
from schedopt.instances.times import NUMBER
from schedopt.planning.plan_rows import as_dispatched
from schedopt.problems.summary import Solve, Tonight
from schedopt.solvers.result import Result

TIMING = 2.0
"""Most seconds for the schedule of jobs that are chosen under risk."""
Text = str | int | float
Pairs = dict[str, Text]  # such as times with processors
Tell = Callable[[str], None]
PREFIXES = {"seats": SEATS, "resources": HOLDS, "pools": POOL}
"""Keys for things with names, and what stands before these in options."""
FLAG_OF = {"start": "from", "deadline": "until", "end": "until", "holds": "resource"}
"""Options that `plan` calls otherwise."""
_OPTION = re.compile(r"(?:`?convert )?(?:--option |option )'?(\w+)(?:([:=])([^\s',;`]*))?'?`?")


class Farm(
    msgspec.Struct,
    forbid_unknown_fields=True,
    omit_defaults=True,
    kw_only=True,
    rename={"from_": "from"},
):
    """What is the same every night; each key is what the flag of its name says."""

    processors: int | None = None
    from_: Text | None = None
    until: Text | None = None
    capacity: str | Pairs | None = None
    seats: Pairs = {}
    resources: dict[str, Text | Pairs] = {}
    pools: dict[str, Text | Pairs] = {}
    constraints: tuple[SideConstraint, ...] = ()
    reward: str | Pairs | None = None
    template: str | None = None
    unit: str | None = None
    groups: str | None = None
    priority: str | None = None

    def options(self) -> dict[str, Text]:
        """Return the options by which the converter reads a table."""
        began = None if self.from_ is None else str(self.from_).strip()
        plain = began is not None and re.fullmatch(r"\d?\d:\d\d(:\d\d)?", began)
        until = None if self.until is None else str(self.until)
        options: dict[str, Text | None] = {
            "processors": self.processors,
            "start": f"{TONIGHT}{began}" if plain else began,
            "deadline": until,
            "end": until,
            "capacity": _as_option(self.capacity),
            "reward": self.reward if isinstance(self.reward, str) else None,
        }
        for key in ("unit", "groups", "priority"):
            options[key] = getattr(self, key)
        if isinstance(self.reward, Mapping):
            options["reward"] = f"{BY_WORD}{_as_option(self.reward)}"
        for key, prefix in PREFIXES.items():
            for name, amount in getattr(self, key).items():
                options[f"{prefix}{name}"] = _amount(_as_option(amount) or 0)
        return {key: value for key, value in options.items() if value is not None}


def _as_option(given: Text | Pairs | None) -> Text | None:
    """Return pairs as options have them: ``02:00=20,03:00=30``."""
    if not isinstance(given, Mapping):
        return given
    return ",".join(f"{key}={value}" for key, value in given.items())


def _amount(given: Text) -> Text:
    if not isinstance(given, str) or not NUMBER.fullmatch(given.strip()):
        return given
    value = float(given)
    return int(value) if value.is_integer() else value


def pairs(given: Any, flag: str, form: str, *, last: bool = False) -> dict[str, Text]:
    """Return what a flag says of several things: a mapping, or texts such as ``houdini=8``."""
    if isinstance(given, Mapping):
        return dict(given)
    amounts: dict[str, Text] = {}
    texts: Iterable[str] = [given] if isinstance(given, str) else given or ()
    for text in texts:
        name, sign, value = text.rpartition("=") if last else text.partition("=")
        name, value = name.strip(), value.strip()
        if not sign or not name or not value or name in amounts:
            expected = f"{form}, each once" if name in amounts else form
            raise InputError(expected, found=quote(text), place=flag)
        amounts[name] = _amount(value)
    return amounts


def merge_farm(file: str | Path | None, given: Mapping[str, object]) -> Farm:
    """Return a farm as its file says, but for what is given beside it."""
    farm = Farm() if file is None else decode(read_bytes(file), Farm, file=str(file))
    named = {
        "seats": pairs(given.get("seats"), "--seats", "NAME=N"),
        "resources": pairs(given.get("resources"), "--resource", "NAME=N, or NAME=TIME=N,..."),
        "pools": pairs(given.get("pools"), "--pool", "NAME=N, or NAME=TIME=N,..."),
    }
    for key, values in named.items():
        named[key] = getattr(farm, key) | values
    merged: dict[str, object] = dict(given) | named
    if merged.get("capacity") and not isinstance(merged["capacity"], str):
        merged["capacity"] = pairs(merged["capacity"], "--capacity", "TIME=N")
    own = {key: value for key, value in merged.items() if value is not None and value != ()}
    return msgspec.structs.replace(farm, **own)


def read(table: Source, farm: Farm, tell: Tell | None = None) -> Instance:
    """Read a table of jobs into the night of a farm."""
    said = (lambda line: tell(options_as_flags(line))) if tell else None
    with name_flags():
        if not farm.processors and not farm.pools:
            raise InputError("--processors N, which a table cannot tell")
        if farm.until is None:
            raise InputError("--until TIME, such as 06:00 or 10h, which a table cannot tell")
        read: Callable[..., Instance] = jobtable.convert
        return read(table, tell=said, **farm.options())


@contextmanager
def name_flags() -> Iterator[None]:
    """Name flags in errors in place of the options that they stand for."""
    try:
        yield
    except InputError as error:
        place = "" if error.place == "option" else error.place
        error.place, error.expected = options_as_flags(place), options_as_flags(error.expected)
        raise


def options_as_flags(text: str) -> str:
    """Return a text with flags in place of options."""

    def flag(found: re.Match[str]) -> str:
        key, sign, rest = found[1], found[2] or "", found[3] or ""
        word = FLAG_OF.get(key, key)
        if sign == ":":
            return f"--{word} {rest}" + ("=N" if "=" not in rest else "")
        return f"--{word}" + (f" {rest}" if sign else "")

    return _OPTION.sub(flag, text)


def shares(
    night: Instance, caps: Mapping[str, Text], floors: Mapping[str, Text]
) -> list[FairShare]:
    """Return the rules of ``--cap`` and ``--floor``: shares of the machine by group."""
    rules = []
    for flag, texts in (("cap", caps), ("floor", floors)):
        for key, value in texts.items():
            by, _, group = key.partition(":")
            with at_place(f"--{flag}"):
                pick_name(by, night.groups, "GROUPING:GROUP=SHARE of a grouping")
                pick_name(group, night.groups[by], f"a group of {quote(by)}")
            share = _amount(value)
            if not isinstance(share, int | float) or not 0 < share <= 1:
                expected = "a share above 0 and up to 1, such as 0.4"
                raise InputError(expected, found=quote(value), place=f"--{flag} {key}")
            bound: Any = {"at_most" if flag == "cap" else "at_least": {group: float(share)}}
            rules.append(FairShare(by=by, name=f"{flag} {key}", **bound))
    return rules


def rules_tonight(
    rules: Iterable[Constraint], night: Instance, tell: Tell | None
) -> list[Constraint]:
    """Return the rules of every night without the groups of which there is no job tonight."""
    kept: list[Constraint] = []
    for rule in rules:
        if not isinstance(rule, FairShare):
            kept.append(rule)
            continue
        there = {*night.groups.get(rule.by, ()), *rule.past}
        gone = [group for group in (*rule.at_most, *rule.at_least) if group not in there]
        if gone and tell:
            named = ", ".join(dict.fromkeys(gone))
            tell(f"farm: no job tonight of {rule.by} {named}: no share is kept for it")
        most = {group: share for group, share in rule.at_most.items() if group in there}
        least = {group: share for group, share in rule.at_least.items() if group in there}
        if most or least or (rule.each and there):
            kept.append(msgspec.structs.replace(rule, at_most=most, at_least=least))
    return kept


def plan(what: Any, given: Mapping[str, Any], solve: Solve) -> Tonight:
    """Plan a table of jobs, or an instance, on a farm."""
    given = dict(given)
    file, risk, rules = given.pop("farm"), given.pop("risk"), given.pop("constraints")
    tell = given.pop("tell")
    caps, floors = (
        pairs(given.pop(key, None), f"--{key}", "GROUPING:GROUP=SHARE", last=True)
        for key in ("cap", "floor")
    )
    farm = merge_farm(file, given)
    if isinstance(what, Instance):
        for key in (key for key, value in given.items() if value and key != "template"):
            flag = f"--{FLAG_OF.get(key, key).rstrip('_')}"
            raise InputError("a table: an instance says that itself", place=flag)
        night = what
    else:
        night = read(what, farm, tell)
    with at_place(file=file):
        lasting = rules_tonight(farm.constraints, night, tell)
    own = shares(night, caps, floors)
    before = {rule.name for rule in own}
    farm.constraints = (*(rule for rule in farm.constraints if rule.name not in before), *own)
    together = [*(rule for rule in lasting if rule.name not in before), *own, *rules(night)]
    kind = "selection" if risk else "schedule"
    with name_flags():
        result = solve(night, formulation=kind, risk=risk, constraints=together)
    run = None
    if result.solution is not None:
        run = schedule_chosen(night, result, solve) if risk else result
    return Tonight(night, result, run, quality_line(night, result, run), farm, farm.template)


def quality_line(instance: Instance, result: Result, run: Result | None) -> str:
    """Say in a line how good a plan is, and how good any plan can be."""
    if run is None or run.solution is None:
        if result.conflict:
            return f"no plan: these rules cannot hold together: {', '.join(result.conflict)}"
        return f"no plan ({result.termination})"
    value = float(run.objective or 0.0)
    done = f"{len(run.solution.completion):,} of {count_of(len(instance.jobs), 'job')}"
    line = f"{done}, reward {number(value)}"
    if result.termination == "error":
        return f"{line}; {result.message}"
    if risk := result.options.get("risk"):
        line += f"; under {risk} it is worth {number(result.objective)}"
        value = float(result.objective or 0.0)
    if result.bound is None:
        return f"{line}; how much more a plan could earn is not known"
    if result.proven:
        return f"{line}; no plan {'is worth' if risk else 'earns'} more"
    more = f" ({(result.bound - value) / value:.1%} more)" if value > 0 else ""
    return (
        f"{line}; no plan {'is worth' if risk else 'earns'} more than {number(result.bound)}{more}"
    )


def schedule_chosen(night: Instance, result: Result[Selected], solve: Solve) -> Result | None:
    """Return a choice under risk as the best schedule of its jobs, none of them late, runs it."""
    chosen = {*result.solution.selected} if result.solution else set()
    others = tuple(name for name in night.index if name not in chosen)
    rules = [*result.constraints, *([Forbid(name="not chosen", jobs=others)] if others else [])]
    timed = solve(night, formulation="schedule", constraints=rules, time_limit=TIMING)
    if timed.solution is None:
        return None
    return as_dispatched(result, "schedule", timed.objective or 0.0, timed.solution, "all in time")
