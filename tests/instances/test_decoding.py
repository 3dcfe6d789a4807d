"""What JSON and CSV may hold: numbers, control characters, dialects of spreadsheets."""

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from builders.refusals import changed, place_of, refusal

import schedopt
from schedopt.instances import encoding, files
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.errors import InputError
from schedopt.instances.protocol import identity
from schedopt.solvers.result import Result

HEAD = '"problem":"dssp","name":"x","processors":2,"deadline":10'


def refused(text: str | bytes, wanted: Any = None) -> InputError:
    data = text.encode() if isinstance(text, str) else text
    error = refusal(encoding.decode, data, wanted) if wanted else refusal(files.parse, data)
    assert str(error).isprintable()
    return error


# --- whole numbers ---------------------------------------------------------------------------

WHOLE = {
    "dssp": "processors",
    "hesrpt": "servers",
    "epoch": "jobs.0.minimum",
    "msfq": "classes.0.need",
}


def written(problem: str, number: str) -> bytes:
    """Return a good instance with a number that is whole written otherwise."""
    return changed(problem, WHOLE[problem], "@").replace(b'"@"', number.encode())


@pytest.mark.parametrize("problem", WHOLE)
@pytest.mark.parametrize("number", ["3.0", "0.3e1", "30e-1"])
def test_decode_reads_a_whole_number_however_it_is_written(problem: str, number: str) -> None:
    instance = files.parse(written(problem, number))
    assert instance == files.parse(written(problem, "3"))
    assert b"3.0" not in files.encode(instance)


@pytest.mark.parametrize("problem", WHOLE)
@pytest.mark.parametrize("number", ["2.5", '"4"', "true", "null", "1e400"])
def test_decode_names_the_place_of_what_is_no_whole_number(problem: str, number: str) -> None:
    assert refused(written(problem, number)).place == place_of(WHOLE[problem])


# --- numbers beyond all bounds ---------------------------------------------------------------

RESULT = (
    '{"instance":"x","problem":"dssp","termination":"optimal","solution_status":"optimal",'
    '"sense":"maximize","solution":{"selected":["a"],"shares":{"team":[1,{"fx":%s}]}}}'
)


@pytest.mark.parametrize("number", ["1e400", "-1e400"])
def test_decode_refuses_a_number_out_of_range_in_a_result(number: str) -> None:
    error = refused(RESULT % number, Result)
    assert error.place.startswith("solution")
    assert "out of range" in str(error)


# --- messages --------------------------------------------------------------------------------


def test_decode_errors_escape_control_characters() -> None:
    evil = "\\u001b[31m\\u202e\\n\\u009b"
    for text in (
        f'{{{HEAD},"{evil}":1,"jobs":[]}}',
        f'{{"problem":"{evil}"}}',
        f'{{{HEAD},"jobs":[{{"name":"a","reward":1,"stages":[[1]],"groups":{{"{evil}":1}}}}]}}',
        f'{{{HEAD},"jobs":[],"constraints":[{{"kind":"require","jobs":["{evil}"]}}]}}',
    ):
        error = refused(text)
        assert "\x1b" not in str(error)
    error = InputError("a file", file="a\x1b]0;x\x07.json", place="\udc80")
    assert str(error) == "a\\x1b]0;x\\x07.json: \\udc80: expected a file"


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
EITHER: dict[str, Callable[[str], bytes]] = {
    "sep": lambda text: b"sep=;\n" + saved(text, delimiter=";"),
    "UTF-16": lambda text: text.encode("utf-16"),
    "decimal commas": lambda text: saved(text, delimiter=";", marks=","),
    "ends of old": lambda text: saved(text, lineterminator="\r"),
}
NIGHT = Instance(
    name="n",
    processors=1,
    deadline=9,
    jobs=(
        Job(name="a", reward=2, stages=((3.0,),)),
        Job(name="b", reward=1, stages=((4.0,),), release=2),
    ),
)
PLAN = schedopt.plan(NIGHT).result
READERS: dict[str, Callable[[Path], Any]] = {
    "state": lambda path: schedopt.replan(PLAN, at=1.5, instance=NIGHT, state=path).rows,
    "ready": lambda path: schedopt.ready(path, {"cores": 9, "gb": 20}, ["priority"]).start,
    "jobs": lambda path: identity(schedopt.convert(path, options={"processors": 6, "deadline": 9})),
}


def text_of(what: str) -> str:
    """Return a table of each kind as we write it."""
    return {
        "state": "job,status,start,end\na,running,,3.5\n",
        "ready": "name,priority,cores,gb\nalign,5,8,16.5\nsort,5,4,12\nplot,0,1,2\n",
        "jobs": "name,reward,demand,critical_path\na,2.5,4,1.5\nb,1,3,2\n",
    }[what]


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what each reader returns of the table as we write it."""
    file = tmp_path_factory.mktemp("tables") / "table.csv"
    read = {}
    for what, reader in READERS.items():
        file.write_text(text_of(what))
        read[what] = reader(file)
    return read


@pytest.mark.parametrize("dialect", SAME | EITHER)
@pytest.mark.parametrize("what", READERS)
def test_tables_are_read_the_same_in_every_dialect(
    what: str, dialect: str, right: dict[str, Any], tmp_path: Path
) -> None:
    file = tmp_path / "table.csv"
    file.write_bytes((SAME | EITHER)[dialect](text_of(what)))
    try:
        assert READERS[what](file) == right[what]
    except InputError as error:
        assert dialect in EITHER, error
        assert error.file == str(file)
