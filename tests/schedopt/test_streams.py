"""Where output goes: full disks, readers that have gone, terminals that act on names."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from builders.cli import COMMAND, ROOT, Ran, process, run

SHOTS = ROOT / "instances" / "dssp" / "two-shots.json"
VERBS = [["--help"], ["generate", "dssp"], ["evaluate", str(SHOTS), "--policy", "greedy"]]


def tail(*words: str, **more: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*COMMAND, *words], cwd=ROOT, check=False, stderr=-1, **more)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize(
    "words", [*VERBS, ["list", "--json"]], ids=lambda words: " ".join(words[:2])
)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_behind_standard_output_is_one_line(words: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = tail(*words, stdout=full)
    assert done.returncode == 2
    assert done.stderr.decode() == (
        "schedopt: standard output: found No space left on device; expected room to write\n"
    )


@pytest.mark.parametrize("words", VERBS, ids=lambda words: " ".join(words[:2]))
def test_a_reader_that_has_gone_ends_us_as_sigpipe_would(words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        done = tail(*words, stdout=pipe)
    assert done.returncode == 128 + 13
    assert b"Traceback" not in done.stderr
    assert b"schedopt:" not in done.stderr


def test_a_standard_output_that_is_closed() -> None:
    words = [*COMMAND, "evaluate", SHOTS, "--policy", "greedy"]
    assert process("sh", "-c", 'exec "$@" >&-', "sh", *words).stderr == ""


def test_a_report_is_made_though_nobody_reads_the_table(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    page, rows = tmp_path / "page.html", tmp_path / "rows.csv"
    words = ["bench", str(SHOTS), "--policy", "greedy", "--report", str(page), "-o", str(rows)]
    with os.fdopen(writing, "wb") as pipe:
        done = tail(*words, "--pictures", "0", stdout=pipe)
    assert done.returncode == 128 + 13
    assert page.exists()
    assert rows.exists()


EVIL = "\x1b]0;owned\x07\x1b[31m\u202e\x9b31mred:smile:[bold]\r\n"


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    """Write an instance whose every name acts on a terminal, or tries to."""
    document = json.loads(SHOTS.read_text())
    document["name"] += EVIL
    for job in document["jobs"]:
        job["name"] += EVIL
        job["groups"] = {f"team{EVIL}": EVIL}
    rule = {"kind": "fair-share", "name": f"cap{EVIL}", "by": f"team{EVIL}"}
    document["constraints"] = [rule | {"at_most": {EVIL: 0.1}}]
    path = tmp_path / "evil.json"
    path.write_text(json.dumps(document))
    return path


def harmless(done: Ran) -> str:
    text = done.stdout + done.stderr
    assert "Traceback" not in text
    for character in "\x1b\x07\r\x9b\u202e":
        assert character not in text
    return text


def test_no_name_reaches_a_terminal_raw(evil: Path, tmp_path: Path) -> None:
    result, several = tmp_path / "r.json", tmp_path / "s.json"
    for status, words in (
        (0, ["solve", evil, "-o", result]),
        (0, ["evaluate", evil, "--policy", "greedy,core", "-o", several]),
        (1, ["check", evil, several]),
        (0, ["bench", evil, "--policy", "greedy,core"]),
    ):
        done = run(*words, status=status)
        assert ":smile:" in harmless(done) or words[0] != "solve"
    document = json.loads(result.read_text())
    document["policy"] = document["formulation"] = EVIL
    document["objective"] = 1e9
    result.write_text(json.dumps(document))
    done = run("check", evil, result, status=2)
    assert "\\x1b]0;owned\\x07" in harmless(done)
    nothing = run("solve", f"{tmp_path}/{EVIL.strip()}.json", status=2)
    assert "\\x1b]0;owned\\x07" in harmless(nothing)


def test_json_on_standard_output_is_the_same_and_harmless(evil: Path) -> None:
    done = run("evaluate", evil, "--policy", "greedy", "--json")
    harmless(done)
    assert json.loads(done.stdout)["instance"].endswith(EVIL)
    done = run("bench", evil, "--policy", "greedy", "--json")
    harmless(done)
    assert json.loads(done.stdout)["instance"].endswith(EVIL)


def test_an_encoding_without_our_characters_is_no_error(evil: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = tail("evaluate", str(evil), "--policy", "greedy", stdout=-1, env=environment)
    assert done.returncode == 0, done.stderr
    done.stdout.decode("ascii")
