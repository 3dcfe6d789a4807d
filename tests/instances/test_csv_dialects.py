"""Tables as spreadsheets of all countries save them: read the same, or refused by name."""

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import schedopt
from schedopt.instances.errors import InputError
from schedopt.instances.protocol import identity
from schedopt.verbs import plan_table as plans

BOM = b"\xef\xbb\xbf"


def saved(text: str, *, marks: str = ".", **dialect: Any) -> bytes:
    """Return a table as another program would have saved it, with its mark in decimals."""
    rows = list(csv.reader(io.StringIO(text)))
    told = io.StringIO(newline="")
    numbers = [[c.replace(".", marks) if _is_number(c) else c for c in row] for row in rows]
    csv.writer(told, **{"lineterminator": "\n", **dialect}).writerows(numbers)
    return told.getvalue().encode()


def _is_number(cell: str) -> bool:
    return cell.replace(".", "", 1).isdecimal() and "." in cell


SAME: dict[str, Callable[[str], bytes]] = {
    "semicolons": lambda text: saved(text, delimiter=";"),
    "tabs": lambda text: saved(text, delimiter="\t"),
    "ends of Windows": lambda text: saved(text, lineterminator="\r\n"),
    "byte order mark": lambda text: BOM + saved(text, delimiter=";", lineterminator="\r\n"),
    "quotes": lambda text: BOM + saved(text, quoting=csv.QUOTE_ALL),
    "blank lines": lambda text: text.encode() + b"\n\n",
    "no end": lambda text: text.rstrip("\n").encode(),
}
REFUSED: dict[str, Callable[[str], bytes]] = {
    "UTF-16": lambda text: text.encode("utf-16"),
    "UTF-16 without a mark": lambda text: text.encode("utf-16-be"),
    "Latin 1": lambda text: text.replace("e", "\xe9").encode("latin-1"),
    "a NUL": lambda text: text.encode() + b"\0",
    "a line before": lambda text: b"sep=;\n" + saved(text, delimiter=";"),
}
EITHER: dict[str, Callable[[str], bytes]] = {
    "decimal commas": lambda text: saved(text, delimiter=";", marks=","),
    "ends of old": lambda text: saved(text, lineterminator="\r"),
}
NIGHT = schedopt.example("evening")
PLAN = schedopt.solve(NIGHT)
TABLE = schedopt.plan_table(NIGHT, PLAN)


def replanned(path: Path, **given: Any) -> Any:
    made = schedopt.replan(given.pop("plan", str(path)), at=1.5, instance=NIGHT, **given)
    return made.plan.to_dicts() if made.plan is not None else None


READERS: dict[str, Callable[[Path], Any]] = {
    "plan": replanned,
    "state": lambda path: replanned(path, plan=PLAN, state=path),
    "ready": lambda path: schedopt.ready(path, {"cores": 9, "gb": 20}, ["priority"]).start,
    "jobs": lambda path: identity(schedopt.convert(path, options={"processors": 6, "deadline": 9})),
}


def text_of(what: str, folder: Path) -> str:
    """Return a table of each kind as we write it."""
    file = folder / "ours.csv"
    if what == "plan":
        plans.write(TABLE, file)
    else:
        first = TABLE.filter(TABLE["start"] < 1.5)["job"].to_list()[0]
        file.write_text(
            {
                "state": f"job,status,start,end\n{first},running,,3.5\n",
                "ready": "name,priority,cores,gb\nalign,5,8,16.5\nsort,5,4,12\nplot,0,1,2\n",
                "jobs": "name,reward,demand,critical_path\na,2.5,4,1.5\nb,1,3,2\n",
            }[what]
        )
    return file.read_text()


@pytest.mark.parametrize("what", READERS)
def test_a_table_is_read_the_same_in_every_dialect_or_refused(what: str, tmp_path: Path) -> None:
    text, file = text_of(what, tmp_path), tmp_path / "table.csv"
    read = READERS[what]
    file.write_text(text)
    right = read(file)
    for name, other in (SAME | EITHER).items():
        file.write_bytes(other(text))
        try:
            assert read(file) == right, name
        except InputError as error:
            assert name in EITHER, (name, error)
            assert error.file == str(file)
    for name, other in REFUSED.items():
        file.write_bytes(other(text))
        with pytest.raises(InputError) as caught:
            read(file)
        assert caught.value.file == str(file), name
