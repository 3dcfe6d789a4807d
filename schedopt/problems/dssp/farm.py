"""The farm: what an operator says beside tonight's jobs, in flags or in a file for every night.

Its words are those of the options of `instances.dssp.jobtable`, which read them, but for ``from``
and ``until``: the night's start, and its deadline, after which nothing runs either.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from schedopt.instances.constraints import Constraint, FairShare
from schedopt.instances.decoding import decode
from schedopt.instances.dssp import Instance, jobtable
from schedopt.instances.dssp.clock import TONIGHT
from schedopt.instances.dssp.columns import HOLDS, POOL, SEATS
from schedopt.instances.dssp.jobrows import BY_WORD
from schedopt.instances.dssp.records import SideConstraint
from schedopt.instances.errors import InputError, placed, shown
from schedopt.instances.files import read_bytes
from schedopt.instances.naming import pick
from schedopt.instances.tables import Source
from schedopt.instances.times import NUMBER

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
        found: dict[str, Text | None] = {
            "processors": self.processors,
            "start": f"{TONIGHT}{began}" if plain else began,
            "deadline": until,
            "end": until,
            "capacity": _listed(self.capacity),
            "reward": self.reward if isinstance(self.reward, str) else None,
        }
        for key in ("unit", "groups", "priority"):
            found[key] = getattr(self, key)
        if isinstance(self.reward, Mapping):
            found["reward"] = f"{BY_WORD}{_listed(self.reward)}"
        for key, prefix in PREFIXES.items():
            for name, amount in getattr(self, key).items():
                found[f"{prefix}{name}"] = _amount(_listed(amount) or 0)
        return {key: value for key, value in found.items() if value is not None}


def _listed(given: Text | Pairs | None) -> Text | None:
    """Return pairs as options have them: ``02:00=20,03:00=30``."""
    if not isinstance(given, Mapping):
        return given
    return ",".join(f"{key}={value}" for key, value in given.items())


def _amount(given: Text) -> Text:
    if not isinstance(given, str) or not NUMBER.fullmatch(given.strip()):
        return given
    value = float(given)
    return int(value) if value.is_integer() else value


def pairs(given: object, flag: str, form: str, *, last: bool = False) -> dict[str, Text]:
    """Return what a flag says of several things: a mapping, or texts such as ``houdini=8``."""
    if isinstance(given, Mapping):
        return dict(given)
    found: dict[str, Text] = {}
    texts: Iterable[str] = [given] if isinstance(given, str) else given or ()  # type: ignore[assignment]
    for text in texts:
        name, sign, value = text.rpartition("=") if last else text.partition("=")
        name, value = name.strip(), value.strip()
        if not sign or not name or not value or name in found:
            expected = f"{form}, each once" if name in found else form
            raise InputError(expected, found=shown(text), place=flag)
        found[name] = _amount(value)
    return found


def merge_farm(file: str | Path | None, given: Mapping[str, object]) -> Farm:
    """Return a farm as its file says, but for what is given beside it."""
    farm = Farm() if file is None else decode(read_bytes(file), Farm, file=str(file))
    named = {
        "seats": pairs(given.get("seats"), "--seats", "NAME=N"),
        "resources": pairs(given.get("resources"), "--resource", "NAME=N, or NAME=TIME=N,..."),
        "pools": pairs(given.get("pools"), "--pool", "NAME=N, or NAME=TIME=N,..."),
    }
    for key, found in named.items():
        named[key] = getattr(farm, key) | found
    told: dict[str, object] = dict(given) | named
    if told.get("capacity") and not isinstance(told["capacity"], str):
        told["capacity"] = pairs(told["capacity"], "--capacity", "TIME=N")
    for key in told.keys() - set(Farm.__struct_fields__):
        pick(key, Farm.__struct_fields__, "a word of plan")
    own = {key: value for key, value in told.items() if value is not None and value != ()}
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
    found = []
    for flag, given in (("cap", caps), ("floor", floors)):
        for key, value in given.items():
            by, _, group = key.partition(":")
            with placed(f"--{flag}"):
                pick(by, night.groups, "GROUPING:GROUP=SHARE of a grouping")
                pick(group, night.groups[by], f"a group of {shown(by)}")
            share = _amount(value)
            if not isinstance(share, int | float) or not 0 < share <= 1:
                expected = "a share above 0 and up to 1, such as 0.4"
                raise InputError(expected, found=shown(value), place=f"--{flag} {key}")
            bound: Any = {"at_most" if flag == "cap" else "at_least": {group: float(share)}}
            found.append(FairShare(by=by, name=f"{flag} {key}", **bound))
    return found


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
