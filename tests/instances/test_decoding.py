"""What JSON may say and what it may not: doubled keys, whole numbers, numbers beyond all bounds."""

import json
import re
from typing import Any

import msgspec
import pytest
from builders.refusals import refusal
from hypothesis import given
from hypothesis import strategies as st

from schedopt.instances import decoding, files
from schedopt.instances.errors import InputError
from schedopt.solvers.result import Result

HEAD = '"problem":"dssp","name":"x","processors":2,"deadline":10'
DIGITS = "9" * 5000


def refused(text: str | bytes, wanted: Any = None) -> InputError:
    data = text.encode() if isinstance(text, str) else text
    error = refusal(decoding.decode, data, wanted) if wanted else refusal(files.parse, data)
    assert len(str(error)) < 80 * 24
    assert str(error).isprintable()
    return error


# --- the same key twice ----------------------------------------------------------------------

TWICE = {
    "at the top": (f'{{{HEAD},"deadline":20,"jobs":[]}}', "", "'deadline'"),
    "in a job": (
        f'{{{HEAD},"jobs":[{{"name":"a","reward":1,"stages":[[1]]}},'
        '{"name":"b","reward":1,"stages":[[1]],"reward":2}]}',
        "jobs[1]",
        "'reward'",
    ),
    "equal values": (f'{{{HEAD},"deadline":10,"jobs":[]}}', "", "'deadline'"),
    "in a dictionary": (
        f'{{{HEAD},"jobs":[{{"name":"a","reward":1,"stages":[[1]],'
        '"groups":{"team":"x","show":"s","team":"y"}}]}',
        "jobs[0].groups",
        "'team'",
    ),
    "escaped": (f'{{{HEAD},"jobs":[],"\\u006eame":"y"}}', "", "'name'"),
    "an escaped colon makes up for it": (
        f'{{{HEAD},"jobs":[],"description":"\\u003a\\u003A","deadline":9}}',
        "",
        "'deadline'",
    ),
    "colons in what is lost": (
        f'{{{HEAD},"jobs":[],"description":"a:b","description":"c"}}',
        "",
        "'description'",
    ),
    "the problem": (f'{{"problem":"dssp",{HEAD},"jobs":[]}}', "", "'problem'"),
}


@pytest.mark.parametrize("case", TWICE)
def test_a_repeated_key_is_named_with_its_place(case: str) -> None:
    text, place, key = TWICE[case]
    error = refused(text)
    assert (error.place, error.found) == (place, f"the key {key} twice")


@pytest.mark.parametrize("case", TWICE)
def test_it_is_named_in_a_large_text_too(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "LARGE", 0)
    test_a_repeated_key_is_named_with_its_place(case)


def test_colons_and_escapes_in_names_are_no_repeated_keys() -> None:
    text = (
        f'{{{HEAD},"description":"::\\u003a\\u003c",'
        '"jobs":[{"name":"a:b:c","reward":1,"stages":[[1]]}]}'
    )
    assert files.parse(text.encode()).jobs[0].name == "a:b:c"


keys = st.text("ab:\\\"'é", max_size=3)
plain = st.none() | st.booleans() | st.integers(-9, 9) | st.text('a:\\"{}[],\x00', max_size=5)
documents = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3)
)


@given(st.dictionaries(keys, documents, max_size=4), st.booleans())
def test_no_document_without_a_repeated_key_is_taken_for_one(
    document: dict[str, Any], escaped: bool
) -> None:
    text = json.dumps(document, ensure_ascii=escaped)
    assert decoding.decode(text.encode(), dict[str, Any]) == document


@given(st.dictionaries(keys, documents, min_size=1, max_size=4), documents, st.data())
def test_every_repeated_key_is_found(document: dict[str, Any], value: Any, data: Any) -> None:
    key = data.draw(st.sampled_from(sorted(document)))
    text = f"{json.dumps(document)[:-1]}, {json.dumps(key)}: {json.dumps(value)}}}"
    with pytest.raises(InputError, match="each key once"):
        decoding.decode(text.encode(), dict[str, Any])
    with pytest.raises(InputError, match="each key once"):
        decoding.decode(f'{{"in": [{text}]}}'.encode(), dict[str, Any])


bundled = st.sampled_from(["night", "teams", "two-shots", "together", "floors", "one-or-all"])


@given(bundled, st.data())
def test_a_key_repeated_anywhere_in_a_large_instance_is_found(name: str, data: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoding, "LARGE", 0)
        text = files.read_bytes(f"example:{name}")
        whole = files.parse(text)
        again = files.encode(whole)
        assert files.parse(again) == whole, "nulls that encoding adds are no repeated keys"
        at = data.draw(st.sampled_from([m.end() for m in re.finditer(rb'[{,]\s*"\w+":', again)]))
        key = re.findall(rb'[{,]\s*("\w+":)', again[:at])[-1]
        end = at + len(msgspec.json.encode(_first_value(again[at:])))
        with pytest.raises(InputError, match="each key once"):
            files.parse(again[:end] + b"," + key + again[at:end] + again[end:])


def _first_value(text: bytes) -> Any:
    value, _ = json.JSONDecoder().raw_decode(text.decode())
    return value


def test_a_large_instance_is_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "LARGE", 0)
    texts = [files.encode(files.load(f"example:{name}")) for name in ("night", "mixed", "fig8")]
    asked = []
    plain = msgspec.json.decode
    monkeypatch.setattr(
        msgspec.json, "decode", lambda text, **how: asked.append(how) or plain(text, **how)
    )
    for text in texts:
        files.parse(text)
    assert [list(how) for how in asked] == [["type"]] * 3, "never without a type, and once"


# --- whole numbers ---------------------------------------------------------------------------

WHOLE = {
    "dssp": ('{"problem":"dssp","name":"x","processors":%s,"deadline":9,"jobs":[]}', "processors"),
    "hesrpt": (
        '{"problem":"hesrpt","name":"x","servers":%s,"speedup":{"kind":"power","p":1.0},'
        '"jobs":[{"name":"a","size":1.5}]}',
        "servers",
    ),
    "epoch": (
        '{"problem":"epoch","name":"x","nodes":8,"inequity":1,"jobs":[{"name":"a","minimum":%s}]}',
        "jobs[0].minimum",
    ),
    "msfq": (
        '{"problem":"msfq","name":"x","servers":8,"classes":'
        '[{"need":%s,"arrival_rate":1,"service_rate":0.5}]}',
        "classes[0].need",
    ),
}


@pytest.mark.parametrize("problem", WHOLE)
@pytest.mark.parametrize("written", ["4", "4.0", "0.4e1", "4e0", "40e-1"])
def test_a_whole_number_however_it_is_written(problem: str, written: str) -> None:
    text, _ = WHOLE[problem]
    instance = files.parse((text % written).encode())
    assert instance == files.parse((text % 4).encode())
    assert b"4.0" not in files.encode(instance)


@pytest.mark.parametrize("problem", WHOLE)
@pytest.mark.parametrize("written", ["2.5", "1e-3", '"4"', "true", "null"])
def test_what_is_no_whole_number(problem: str, written: str) -> None:
    text, place = WHOLE[problem]
    error = refused(text % written)
    assert error.place == place
    assert "a whole number" in error.expected


def test_the_second_of_two_is_the_wrong_one() -> None:
    text = (
        '{"problem":"epoch","name":"x","nodes":8.0,"inequity":1e0,'
        '"jobs":[{"name":"a","minimum":4.0},{"name":"b","minimum":2.5}]}'
    )
    error = refused(text)
    assert (error.place, error.found) == ("jobs[1].minimum", "2.5")


def test_floats_stay_floats_beside_a_whole_number_written_as_one() -> None:
    text = (
        '{"problem":"dssp","name":"x","processors":2.0,"deadline":3.0,'
        '"jobs":[{"name":"a","reward":1e15,"stages":[[2.0,0.1]]}]}'
    )
    instance = files.parse(text.encode())
    assert type(instance.processors) is int
    assert type(instance.deadline) is float
    assert [type(length) for length in instance.jobs[0].stages[0]] == [float, float]


# --- numbers beyond all bounds ---------------------------------------------------------------

RESULT = (
    '{"instance":"x","problem":"dssp","termination":"optimal","solution_status":"optimal",'
    '"sense":"maximize","solution":{"selected":["a"],"shares":{"team":[1,{"fx":%s}]}}}'
)


@pytest.mark.parametrize("number", ["1e400", "-1e400", DIGITS, f"-{DIGITS}"])
def test_a_number_out_of_range_deep_in_a_result(number: str) -> None:
    error = refused(RESULT % number, Result)
    assert (error.place, error.found) == ("solution.shares.team[1].fx", "a number too large")


@pytest.mark.parametrize("problem", WHOLE)
@pytest.mark.parametrize("digits", [400, 5000])
def test_whole_numbers_of_hundreds_and_of_thousands_of_digits(problem: str, digits: int) -> None:
    text, place = WHOLE[problem]
    assert refused(text % ("1" + "0" * digits)).place == place


def test_a_huge_number_beside_another_fault() -> None:
    error = refused(f'{{{HEAD},"jobs":[{{"name":"a","reward":{DIGITS}}},{{"name":3}}]}}')
    assert error.place.startswith("jobs[")


def test_huge_numbers_in_what_a_type_leaves_out() -> None:
    class Part(msgspec.Struct):
        a: int

    for text in ('{"a":1.0,"b":1e400}', f'{{"a":1.0,"b":{DIGITS}}}'):
        refused(text, Part)
    for text in ('{"a":1,"b":1e400}', f'{{"a":1,"b":{DIGITS}}}'):
        assert decoding.decode(text.encode(), Part).a == 1


# --- messages --------------------------------------------------------------------------------


def test_a_long_key_and_a_long_value_do_not_make_a_long_message() -> None:
    long = "k" * 100_000
    refused(f'{{{HEAD},"{long}":1,"jobs":[]}}')
    refused(f'{{{HEAD},"jobs":[{{"name":"a","reward":1,"stages":[[1]],"groups":{{"{long}":1}}}}]}}')
    refused(f'{{{HEAD},"jobs":[{{"name":"{long}","reward":"{long}","stages":[[1]]}}]}}')
    refused(f'{{"problem":"{long}"}}')
    refused(f'{{{HEAD},"jobs":[],"x":"{long}","x":"{long}"}}')


def test_no_message_carries_what_a_terminal_acts_on() -> None:
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
