"""Malformed input, kept: each gives one `InputError` with the exact place and key words."""

import gzip
from pathlib import Path

import pytest
from builders.refusals import refusal

from schedopt.instances import files
from schedopt.instances.errors import InputError

HEAD = '"problem":"dssp","name":"x"'
SIZE = '"processors":2,"deadline":10'
A = '{"name":"a","reward":1,"groups":{"team":"fx"},"stages":[[1]]}'
B = '{"name":"b","reward":1,"stages":[[1]]}'


def night(jobs: str = f"{A},{B}", size: str = SIZE, more: str = "") -> str:
    return f'{{{HEAD},{size},"jobs":[{jobs}]{more}}}'


def staged(stages: str) -> str:
    return night(f'{{"name":"a","reward":1,"stages":{stages}}}')


def ruled(*constraints: str) -> str:
    return night(more=f',"constraints":[{",".join(constraints)}]')


DEEP = "[" * 100_000

# id: (text, place, found, words of what was expected)
TEXTS: dict[str, tuple[str | bytes, str, str | None, str]] = {
    # the JSON itself
    "empty": (b"", "", None, "JSON"),
    "blank": (b" \n ", "", None, "JSON"),
    "truncated": (night()[:-20], "", None, "the text ends too early"),
    "trailing text": (night(B) + " x", "line 1, column 108", "'x'", "trailing characters"),
    "trailing object": (night(B) + "{}", "line 1, column 107", "'{}'", "trailing characters"),
    "trailing comma": (night(B)[:-1] + ",}", "line 1, column 107", "'}'", "trailing comma"),
    "second line": ('{\n"problem": dssp}', "line 2, column 12", "'dssp}'", "JSON"),
    "single quotes": ("{'problem': 1}", "line 1, column 2", "\"'problem': 1\"", "double quotes"),
    "not utf-8": (b'{"problem":"d\xffssp"}', "line 1, column 14", "bytes that are not", "UTF-8"),
    "utf-16": ("{}".encode("utf-16"), "line 1, column 1", "bytes that are not", "UTF-8"),
    "lone surrogate": (
        night().replace('"x"', '"\\ud800"'),
        "line 1, column 33",
        "'\",\"processor'",
        "JSON",
    ),
    "deep list": (DEEP, "", "brackets nested thousands deep", "JSON"),
    "deep jobs": (night(DEEP + "]" * 100_000), "", "brackets nested thousands deep", "JSON"),
    "deep unknown key": (
        night(more=f',"extra":{DEEP}{"]" * 100_000}'),
        "",
        "brackets nested thousands deep",
        "JSON",
    ),
    "NaN": (staged("[[1,NaN]]"), "line 1, column 103", "NaN", "a finite number"),
    "Infinity": (staged("[[1,Infinity]]"), "line 1, column 103", "Infinity", "a finite number"),
    "-Infinity": (staged("[[1,-Infinity]]"), "line 1, column 103", "-Infinity", "a finite number"),
    "1e999": (staged("[[1,1e999]]"), "jobs[0].stages[0][1]", "a number too large", "finite"),
    "leading zero": (staged("[[01]]"), "line 1, column 102", "'1]]}]}'", "JSON"),
    # the document
    "list": ("[]", "", "[]", "an object"),
    "no problem": ('{"name":"x"}', "", "{'name': 'x'}", "a key 'problem'"),
    "unknown problem": ('{"problem":"dsp"}', "problem", "'dsp'", "did you mean 'dssp'?"),
    "problem a number": ('{"problem":1}', "problem", "1", "a string"),
    "unknown key": (night(more=',"constraint":[]'), "", "key 'constraint'", "mean 'constraints'?"),
    "no jobs": (f"{{{HEAD},{SIZE}}}", "", "", "a key 'jobs'"),
    "jobs an object": (
        f'{{{HEAD},{SIZE},"jobs":{{"a":1}}}}',
        "jobs",
        "{'a': 1}",
        "a list",
    ),
    "empty name": ('{"problem":"dssp","name":"",' + SIZE + ',"jobs":[]}', "name", "''", "length"),
    "zero processors": (night(size='"processors":0,"deadline":1'), "processors", "0", ">= 1"),
    "half a processor": (
        night(size='"processors":2.5,"deadline":1'),
        "processors",
        "2.5",
        "a whole number",
    ),
    "too many processors": (
        night(size='"processors":10000000000000000000000,"deadline":1'),
        "processors",
        "10000000000000000000000",
        "<= 1000000000",
    ),
    "zero deadline": (night(size='"processors":2,"deadline":0'), "deadline", "0", "> 0"),
    "negative deadline": (night(size='"processors":2,"deadline":-3'), "deadline", "-3", "> 0"),
    "capacity overflows": (
        night(size='"processors":1000000000,"deadline":1e308'),
        "deadline",
        "an overflow",
        "a finite P·D",
    ),
    # jobs
    "unknown key of a job": (
        night('{"name":"a","rewards":1,"stages":[[1]]}'),
        "jobs[0]",
        "key 'rewards'",
        "did you mean 'reward'?",
    ),
    "no reward": (night(f'{A},{{"name":"b","stages":[[1]]}}'), "jobs[1]", "", "a key 'reward'"),
    "reward a string": (
        night('{"name":"a","reward":"1","stages":[[1]]}'),
        "jobs[0].reward",
        "'1'",
        "a number",
    ),
    "negative reward": (
        night('{"name":"a","reward":-1,"stages":[[1]]}'),
        "jobs[0].reward",
        "-1",
        ">= 0",
    ),
    "no work": (night('{"name":"a","reward":1}'), "jobs[0]", None, "`stages`, or both"),
    "demand alone": (
        night('{"name":"a","reward":1,"demand":1}'),
        "jobs[0]",
        None,
        "`critical_path`",
    ),
    "no stages": (staged("[]"), "jobs[0].stages", "[]", "length >= 1"),
    "empty stage": (staged("[[1],[]]"), "jobs[0].stages[1]", "[]", "length >= 1"),
    "negative length": (staged("[[1],[2,-2]]"), "jobs[0].stages[1][1]", "-2", ">= 0"),
    "length a string": (staged('[[1],[2,"2"]]'), "jobs[0].stages[1][1]", "'2'", "a number"),
    "length null": (staged("[[null]]"), "jobs[0].stages[0][0]", "null", "a number"),
    "length true": (staged("[[true]]"), "jobs[0].stages[0][0]", "true", "a number"),
    "stage a number": (staged("[3]"), "jobs[0].stages[0]", "3", "a list"),
    "lengths overflow": (staged("[[1e308],[1e308]]"), "jobs[0].stages", "an overflow", "finite"),
    "rewards overflow": (
        night(f"{A},{B}".replace('"reward":1', '"reward":1e308')),
        "jobs",
        "an overflow",
        "finite",
    ),
    "group a number": (
        night('{"name":"a","reward":1,"stages":[[1]],"groups":{"team":"fx","show":3}}'),
        "jobs[0].groups.show",
        "3",
        "a string",
    ),
    "group without a name": (
        night('{"name":"a","reward":1,"stages":[[1]],"groups":{"":"fx"}}'),
        "jobs[0].groups",
        "an empty key",
        "length >= 1",
    ),
    "job names": (night(f"{A},{B},{A}"), "jobs[2].name", "'a'", "jobs[0] has it already"),
    # constraints
    "no kind": (ruled('{"jobs":["a"]}'), "constraints[0]", "{'jobs': ['a']}", "a key 'kind'"),
    "unknown kind": (
        ruled('{"kind":"requires","jobs":["a"]}'),
        "constraints[0].kind",
        "'requires'",
        "did you mean 'require'?",
    ),
    "unknown key of a constraint": (
        ruled('{"kind":"require","job":["a"]}'),
        "constraints[0]",
        "key 'job'",
        "mean 'jobs'?",
    ),
    "constraint of no job": (
        ruled('{"kind":"require","jobs":[]}'),
        "constraints[0].jobs",
        "[]",
        "length >= 1",
    ),
    "unknown job": (
        ruled('{"kind":"forbid","jobs":["a"]}', '{"kind":"apart","jobs":["a","c"]}'),
        "constraints[1].jobs[1]",
        "'c'",
        "the name of a job",
    ),
    "unknown job implied": (
        ruled('{"kind":"imply","if":"a","then":"z"}'),
        "constraints[0].then",
        "'z'",
        "a job",
    ),
    "unknown user of a resource": (
        ruled('{"kind":"resource","name":"r","capacity":1,"use":{"a":1,"zz":1}}'),
        "constraints[0].use.zz",
        "'zz'",
        "the name of a job",
    ),
    "negative use": (
        ruled('{"kind":"resource","name":"r","capacity":1,"use":{"a":1,"b":-1}}'),
        "constraints[0].use.b",
        "-1",
        ">= 0",
    ),
    "unknown grouping": (
        ruled('{"kind":"fair-share","by":"taem","at_most":{"fx":0.5}}'),
        "constraints[0].by",
        "'taem'",
        "a grouping that some job has (one of 'team')",
    ),
    "unknown group": (
        ruled('{"kind":"fair-share","by":"team","at_most":{"fx":0.5,"gf":0.5}}'),
        "constraints[0].at_most.gf",
        "'gf'",
        "a group of 'team'",
    ),
    "unknown group of a count": (
        ruled('{"kind":"at-most","count":1,"by":"team","group":"gf"}'),
        "constraints[0].group",
        "'gf'",
        "a group of 'team'",
    ),
    "share over 1": (
        ruled('{"kind":"fair-share","by":"team","at_least":{"fx":1.5}}'),
        "constraints[0].at_least.fx",
        "1.5",
        "<= 1",
    ),
    "share below 0": (
        ruled('{"kind":"fair-share","by":"team","at_most":{"gf":1,"fx":-0.5}}'),
        "constraints[0].at_most.fx",
        "-0.5",
        ">= 0",
    ),
    "fair share of nothing": (
        ruled('{"kind":"fair-share","by":"team"}'),
        "constraints[0]",
        None,
        "`at_most`",
    ),
    "floor above ceiling": (
        ruled('{"kind":"fair-share","by":"team","at_most":{"fx":0.2},"at_least":{"fx":0.3}}'),
        "constraints[0].at_least.fx",
        "0.3",
        "at most 0.2",
    ),
    "share of something else": (
        ruled('{"kind":"fair-share","by":"team","at_most":{"fx":1},"of":"demand"}'),
        "constraints[0].of",
        "'demand'",
        "one of 'capacity', 'selected'",
    ),
    "jobs and group": (
        ruled('{"kind":"at-most","count":1,"jobs":["a"],"by":"team","group":"fx"}'),
        "constraints[0]",
        None,
        "either `jobs`, or `by` and `group`",
    ),
    "grouping without group": (
        ruled('{"kind":"at-least","count":1,"by":"team"}'),
        "constraints[0]",
        None,
        "either `jobs`",
    ),
    "negative count": (
        ruled('{"kind":"at-most","count":-1,"jobs":["a"]}'),
        "constraints[0].count",
        "-1",
        ">= 0",
    ),
    "constraint names": (
        ruled(
            '{"kind":"require","name":"n","jobs":["a"]}',
            '{"kind":"forbid","name":"n","jobs":["b"]}',
        ),
        "constraints[1].name",
        "'n'",
        "constraints[0] has it already",
    ),
}


@pytest.mark.parametrize("case", TEXTS)
def test_text(case: str, tmp_path: Path) -> None:
    text, place, found, expected = TEXTS[case]
    path = tmp_path / "night.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    error = refusal(files.load, path)
    assert error.place == place
    if found != "":  # "": whatever the object was
        assert error.found == found
    assert expected in error.expected
    assert str(error).startswith(f"{path}: ")
    assert "\n" not in str(error)
    assert len(str(error)) < 400 + len(str(path))


def refused(path: Path) -> InputError:
    error = refusal(files.load, path)
    assert error.file == str(path)
    return error


def test_a_missing_file(tmp_path: Path) -> None:
    error = refused(tmp_path / "nothing.json")
    assert (error.found, error.expected) == ("nothing", "a file that exists")


def test_a_directory(tmp_path: Path) -> None:
    assert refused(tmp_path).found == "a directory"


def test_a_path_through_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("{}")
    assert refused(tmp_path / "a" / "b.json").expected == "a readable file"


def test_a_truncated_gzip(tmp_path: Path) -> None:
    path = tmp_path / "night.json.gz"
    path.write_bytes(gzip.compress(night().encode())[:-12])
    assert refused(path).expected == "an intact gzip file"


def test_a_gzip_with_a_flipped_byte(tmp_path: Path) -> None:
    data = bytearray(gzip.compress(night().encode()))
    data[-6] ^= 255  # in the check sum
    path = tmp_path / "night.json.gz"
    path.write_bytes(data)
    assert refused(path).expected == "an intact gzip file"


def test_the_largest_size_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"0" * 100)
    assert len(files.read_bytes(path, most=100)) == 100
    with pytest.raises(InputError):
        files.read_bytes(path, most=99)


@pytest.mark.parametrize("length", [0, 1, 10, 40, 80, 120, 150])
def test_no_cut_of_a_file_is_taken_for_a_whole_one(tmp_path: Path, length: int) -> None:
    path = tmp_path / "night.json"
    path.write_text(night()[:length])
    refused(path)
