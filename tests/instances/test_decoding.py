"""What JSON and CSV may hold: numbers, control characters, dialects of spreadsheets."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from builders.refusals import changed, place_of, refusal

from schedopt.instances import files
from schedopt.instances.errors import InputError
from schedopt.instances.tables import TextTable

HEAD = '"problem":"dssp","name":"x","processors":2,"deadline":10'


def refused(text: str | bytes) -> InputError:
    error = refusal(files.parse, text.encode() if isinstance(text, str) else text)
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


PLAIN = "name,priority,cores,note\nalign,5,8.5,a;b\nsort,0,12,\n"


def saved(**dialect: Any) -> bytes:
    """Return the table as another program would have saved it."""
    text = io.StringIO(newline="")
    csv.writer(text, **{"lineterminator": "\n", **dialect}).writerows(csv.reader([*PLAIN.split()]))
    return text.getvalue().encode()


BOM = b"\xef\xbb\xbf"
SAVED = {
    "semicolons": saved(delimiter=";"),
    "tabs": saved(delimiter="\t"),
    "a first line of Excel": b"sep=;\n" + saved(delimiter=";"),
    "ends of Windows": saved(lineterminator="\r\n"),
    "byte order mark": BOM + saved(delimiter=";", lineterminator="\r\n"),
    "quotes": BOM + saved(quoting=csv.QUOTE_ALL),
    "blank lines": PLAIN.encode() + b"\n\n",
    "no end": PLAIN.rstrip("\n").encode(),
    "UTF-16": PLAIN.encode("utf-16"),
}


@pytest.mark.parametrize("dialect", SAVED)
def test_tables_are_read_the_same_in_every_dialect(dialect: str, tmp_path: Path) -> None:
    (tmp_path / "plain.csv").write_text(PLAIN)
    (tmp_path / "saved.csv").write_bytes(SAVED[dialect])
    plain, other = (TextTable.read(tmp_path / f"{name}.csv") for name in ("plain", "saved"))
    assert [cells for _, cells in other.rows] == [cells for _, cells in plain.rows]
    assert other.positions() == plain.positions()
