"""What verbs write, and where: never over what they read; full disks, readers that have gone."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from builders.cli import COMMAND, ROOT, Ran, process, refused, run, started

from schedopt.instances import files
from schedopt.instances.errors import InputError
from schedopt.verbs.bench import bench

BUNDLED = Path(files.__file__).parent
RULES = '{"kind": "forbid", "name": "none", "jobs": ["shot-a"]}'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write a folder with a file of each kind that verbs read, under an ending that they write."""
    shutil.copy(BUNDLED / "dssp" / "two-shots.json", tmp_path / "night.json")
    shutil.copy(BUNDLED / "dssp" / "jobs.csv", tmp_path / "jobs.csv")
    jobs = [job.name for job in files.load(tmp_path / "night.json").jobs]
    (tmp_path / "rules.json").write_text(RULES.replace("shot-a", jobs[0]))
    for name, target in (("hard.json", "night.json"), ("hard.csv", "jobs.csv")):
        (tmp_path / name).hardlink_to(tmp_path / target)
    (tmp_path / "soft.json").symlink_to("night.json")
    (tmp_path / "page.html").symlink_to("night.json")
    (tmp_path / "rows.csv").symlink_to("night.json")
    (tmp_path / "plot.png").symlink_to("night.json")
    (tmp_path / "into.csv").symlink_to("rules.json")
    return tmp_path


OVER = [
    "solve night.json -o night.json",
    "solve night.json -o hard.json",
    "solve night.json -o soft.json",
    "solve night.json --constraints rules.json -o rules.json",
    "evaluate night.json --policy greedy -o night.json",
    "plot night.json -o plot.png",
    "bench night.json --report page.html",
    "bench night.json --output rows.csv",
    "bench night.json --constraints rules.json --output into.csv",
]
ENDINGS = [
    "solve night.json -o plan.ods",
    "evaluate night.json --policy greedy -o runs.yaml",
    "generate dssp -o night.yaml",
    "plot night.json -o night.gif",
    "bench night.json -o rows.json",
    "bench night.json --report page.pdf",
]


@pytest.mark.parametrize("words", [*OVER, *ENDINGS])
def test_outputs_never_overwrite_inputs_nor_take_unknown_endings(
    folder: Path, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    if words in ENDINGS:
        (folder / "night.json").write_text("{")  # were it read first, the message would say so
    before = {path.name: path.read_bytes() for path in folder.glob("*.*")}
    says = "expected a name ending in ." if words in ENDINGS else "another file than what is read"
    assert says in refused(*words.split())
    assert {path.name: path.read_bytes() for path in folder.glob("*.*")} == before


@pytest.mark.parametrize("words", [["generate", "dssp", "--count", "2"], ["reproduce", "epoch"]])
def test_output_folder_that_is_a_file_is_refused(folder: Path, words: list[str]) -> None:
    assert "a folder to write to" in refused(*words, "-o", folder / "night.json")


def test_json_is_printed_when_the_output_disk_is_full(folder: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("a disk that is full, as Linux has one")
    done = started("solve", "night.json", "--json", "-o", full, directory=folder, status=2)
    assert json.loads(done.stdout)["objective"] == 9
    assert "No space left on device" in done.stderr


# --- rows are not taken for what they are not ------------------------------------------------

NOT_ROWS = {
    "notes.jsonl": b'{"mine": 1}\n{"mine": 2',
    "one-line.jsonl": b'{"problem": "dssp", "name": "n"}',
    "jobs.csv": b"name,reward,demand,critical_path\na,1,1,1\n",
    "text.parquet": b"dear diary",
}


@pytest.mark.parametrize("name", NOT_ROWS)
def test_bench_leaves_a_file_of_other_contents_alone(folder: Path, name: str) -> None:
    path = folder / name
    path.unlink(missing_ok=True)
    path.write_bytes(NOT_ROWS[name])
    with pytest.raises(InputError):
        bench(folder / "night.json", policies=["greedy"], output=path)
    assert path.read_bytes() == NOT_ROWS[name]
    assert not Path(f"{path}.journal.jsonl").exists()


SHOTS = ROOT / "instances" / "dssp" / "two-shots.json"
VERBS = [["--help"], ["evaluate", str(SHOTS), "--policy", "greedy"]]


def tail(*words: str, **more: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*COMMAND, *words], cwd=ROOT, check=False, stderr=-1, **more)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize("words", [*VERBS, ["list", "--json"]], ids=lambda words: words[0])
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_full_disk_behind_standard_output_is_one_message(words: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = tail(*words, stdout=full)
    assert done.returncode == 2
    assert done.stderr.decode() == (
        "schedopt: standard output: found No space left on device; expected room to write\n"
    )


def test_closed_standard_output_is_no_error() -> None:
    words = [*COMMAND, "evaluate", SHOTS, "--policy", "greedy"]
    assert process("sh", "-c", 'exec "$@" >&-', "sh", *words).stderr == ""


def test_closed_pipe_exits_141_and_bench_writes_its_report(
    tmp_path: Path,
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    page, rows = tmp_path / "page.html", tmp_path / "rows.csv"
    words = ["bench", str(SHOTS), "--policy", "greedy", "--report", str(page), "-o", str(rows)]
    with os.fdopen(writing, "wb") as pipe:
        done = tail(*words, stdout=pipe)
    assert done.returncode == 128 + 13
    assert b"Traceback" not in done.stderr
    assert page.exists()
    assert rows.exists()


@pytest.mark.parametrize("words", [["--help"], ["solve", "--help"], ["explain", "selection"]])
def test_help_whose_reader_has_gone_ends_as_sigpipe_would(words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        done = tail(*words, stdout=pipe)
    assert (done.returncode, done.stderr) == (128 + 13, b"")


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


def test_control_characters_in_names_are_escaped_on_a_terminal(evil: Path, tmp_path: Path) -> None:
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


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="no /dev/null here")
@pytest.mark.parametrize(
    "words",
    [
        "solve example:two-shots",
        "plan example:evening",
        "evaluate example:two-shots --policy greedy",
        "plot example:two-shots",
        "generate dssp",
        "convert example:jobs.csv --option processors=20 --option deadline=46800",
    ],
)
def test_output_to_a_device_needs_no_ending(words: str) -> None:
    run(*words.split(), "--output", "/dev/null")
