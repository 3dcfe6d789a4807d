"""The settings of a farm, from keyword arguments, flags and a file; arguments and flags come first.

The fields of `Settings` are keyword arguments of `schedopt.plan`, flags of the command ``plan`` and
keys of a farm file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, cast, get_type_hints

from schedopt.instances.decimals import fraction_of
from schedopt.instances.dssp.records import SideConstraint
from schedopt.instances.encoding import convert, decode
from schedopt.instances.errors import InputError, quote, suggestion
from schedopt.instances.files import dump, read_bytes
from schedopt.instances.options import OptionNames
from schedopt.instances.times import NUMBER

Text = str | int | float
Pairs = str | Sequence[str] | Mapping[str, Any]
"""Values by name: ``{"houdini": 8}``, ``["houdini=8"]`` or ``"houdini=8"``."""
Texts = str | Sequence[str]
Worths = Mapping[str, Text]  # of words of a column of priorities


class Settings(TypedDict, total=False):
    """Settings of a farm that are also flags; `schedopt.plan` documents each of them."""

    processors: int | None
    from_: Text | None
    until: Text | None
    capacity: Pairs | None
    seats: Pairs | None
    resources: Pairs | None
    pools: Pairs | None
    cap: Pairs | None
    floor: Pairs | None
    must: Texts | None
    forbid: Texts | None
    column: Pairs | None
    keep: Texts | None
    where: Pairs | None
    duplicates: str | None
    missing: Pairs | None
    reward: str | Worths | None
    priority: str | None
    groups: str | None
    unit: str | None
    overhead: Text | None
    cloud: str | None
    budget: Text | None
    all_: bool | None


class Farm(Settings, total=False):
    """All settings that a farm file may contain."""

    constraints: tuple[SideConstraint, ...]
    template: str | None


FORMS = {
    "capacity": "TIME=N",
    "seats": "NAME=N",
    "resources": "NAME=N, or NAME=TIME=N,...",
    "pools": "NAME=N, or NAME=TIME=N,...",
    "column": "FIELD=TITLE",
    "where": "COLUMN=VALUE,...",
    "missing": "FIELD=VALUE, or FIELD=leave-out",
    "cap": "GROUPING:GROUP=SHARE, such as team:fx=40%",
    "floor": "GROUPING:GROUP=SHARE, such as team:fx=20%",
}
"""How the settings of several things are written as texts."""
REPLACED = ("capacity",)  # a flag replaces the file's in whole; others are joined by name


# --- files ------------------------------------------------------------------------------------


def read(file: str | Path | None) -> Farm:
    """Return the settings of a farm file; empty without a file."""
    if file is None:
        return Farm()
    name, kinds = str(file), {key.rstrip("_"): kind for key, kind in get_type_hints(Farm).items()}
    raw = decode(read_bytes(file), dict[str, Any], file=name)
    for key in raw:
        if key not in kinds:
            expected = f"only keys of the format{suggestion(key, kinds)}"
            raise InputError(expected, found=f"key {quote(key)}", file=name)
    read = {key: convert(value, kinds[key], key, file=name) for key, value in raw.items()}
    return cast("Farm", {_python_name(key): value for key, value in read.items()})


def save(farm: Farm, path: str | Path) -> None:
    """Write a farm file."""
    dump({key.rstrip("_"): value for key, value in farm.items() if value}, path, indent=1)


def merge(file: Farm, flags: Settings, names: OptionNames) -> Farm:
    """Merge the settings of a file and of flags; flags have priority.

    Values by name become mappings; those of flags are added to those of the file.
    """
    given = {key: value for key, value in flags.items() if value not in (None, (), [])}
    farm: dict[str, Any] = {**file, **given}
    for key, form in FORMS.items():
        if key in farm:
            earlier = {} if key in given and key in REPLACED else pairs(file.get(key), key, form)
            farm[key] = earlier | pairs(given.get(key), names.place(key), form)
    for key in ("keep", "must", "forbid"):
        texts = [*texts_in(file, key), *texts_in(flags, key)]
        farm |= {key: list(dict.fromkeys(texts))} if texts else {}
    return cast("Farm", farm)


def texts_in(settings: Farm | Settings, key: str) -> Sequence[str]:
    """Return the values of a setting that can be given several times."""
    given: Texts | None = cast("dict[str, Any]", settings).get(key)
    return _texts(given)


def _texts(given: Texts | None) -> Sequence[str]:
    return [given] if isinstance(given, str) else given or ()


def pairs(given: Any, place: str, form: str) -> dict[str, Any]:
    """Return the values of a setting by name, from a mapping or texts such as ``houdini=8``."""
    if isinstance(given, Mapping):
        return dict(given)
    amounts: dict[str, Any] = {}
    for text in _texts(given):
        name, sign, value = text.rpartition("=") if form.startswith("G") else text.partition("=")
        name, value = name.strip(), value.strip()
        if not sign or not name or not value or name in amounts:
            expected = f"{form}, each once" if name in amounts else form
            raise InputError(expected, found=quote(text), place=place)
        amounts[name] = as_number(value)
    return amounts


def pairs_of(farm: Farm, key: str) -> dict[str, Any]:
    """Return the values by name of a setting of a merged farm."""
    values: dict[str, Any] = cast("dict[str, Any]", farm).get(key) or {}
    return values


def texts_of(farm: Farm, key: str) -> dict[str, str]:
    """Return the values by name of a setting of a merged farm, as texts; lists have commas."""
    values = pairs_of(farm, key)
    return {
        name: ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        for name, value in values.items()
    }


def as_share(value: Any) -> float | None:
    """Return a share in (0, 1] that is given as a number or a percentage; otherwise None."""
    try:
        share = fraction_of(str(value))
    except (ValueError, OverflowError):
        return None
    return float(share) if 0 < share <= 1 else None


def as_number(text: Any) -> Any:
    """Return the number in a text; any other value unchanged."""
    if not isinstance(text, str) or not NUMBER.fullmatch(text.strip()):
        return text
    value = float(text)
    return int(value) if value.is_integer() else value


# --- names ------------------------------------------------------------------------------------

_FLAGS = {"start": "from", "deadline": "until", "end": "until", "holds": "resource"}
_FLAGS |= {"resources": "resource", "pools": "pool"}
_KEYWORDS = {"start": "from_", "deadline": "until", "end": "until", "holds": "resources"}
_KEYWORDS |= {"pool": "pools"}


def _python_name(key: str) -> str:
    return f"{key}_" if f"{key}_" in Settings.__annotations__ else key


def _flag(key: str, value: object = "") -> str:
    word, _, name = key.partition(":")
    setting = f"{name}={value}" if name and value else name or str(value)
    return f"--{_FLAGS.get(word, word).rstrip('_')} {setting}".rstrip()


def _keyword(key: str, value: object = "") -> str:
    word, _, name = key.partition(":")
    word = _KEYWORDS.get(word, word)
    if not value:
        return f"{word}[{name!r}]" if name else word
    return f"{word}={{{name!r}: {value!r}}}" if name else f"{word}={value!r}"


FLAGS = OptionNames(_flag, _flag)
"""How messages name settings on the command line."""
KEYWORDS = OptionNames(_keyword, _keyword)
"""How messages name settings in Python."""
