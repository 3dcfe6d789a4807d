"""The archive: what it holds, that it is true, that tampering is named, and how it is bettered."""

import gzip
import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from builders.cli import ROOT, refused, run

import schedopt
from schedopt.archive import judging
from schedopt.archive.entries import Entry, digest, group
from schedopt.instances import examples
from schedopt.verbs import archive

QUICK = "epoch-planted-8x2"
Edit = Callable[[Any], Any]


def test_it_holds_what_it_promises() -> None:
    found = archive.select_entries()
    assert {entry.status for _, entry in found} >= {"proven", "open"}
    assert len({entry.name for _, entry in found}) == len(found)
    for _, entry in found:
        assert (entry.gap == 0) or entry.status == "open" or entry.gap < 1e-6
        assert entry.objective_by.date
        assert entry.objective_by.by
        assert entry.made
    assert {entry["group"] for entry in archive.list_groups()} == set(examples.groups())
    assert all(group(name).licence for name in examples.groups())


@pytest.mark.parametrize("group", examples.groups())
def test_the_first_of_each_group_is_re_proved(group: str) -> None:
    (verdict,) = archive.verify_entries(
        [f"{group}/{archive.describe(group)['entries'][0]['name']}"]
    )
    assert not verdict.wrong, verdict.wrong
    assert verdict.bound


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An archive of one group, which tests may spoil."""
    shutil.copytree(ROOT / "archive" / QUICK, tmp_path / "archive" / QUICK)
    monkeypatch.setenv(examples.PLACE, str(tmp_path / "archive"))
    return tmp_path / "archive" / QUICK


def rewritten(path: Path, edit: Edit) -> None:
    """Change a gzipped JSON file."""
    document = json.loads(gzip.decompress(path.read_bytes()))
    path.write_bytes(gzip.compress(json.dumps(edit(document)).encode()))


def relined(folder: Path, edit: Edit) -> None:
    """Change the first entry of a group."""
    lines = (folder / "entries.jsonl").read_text().splitlines()
    lines[0] = json.dumps(edit(json.loads(lines[0])))
    (folder / "entries.jsonl").write_text("\n".join(lines) + "\n")


def spoiled_result(folder: Path, edit: Edit) -> None:
    """Change a result, and the entry's digest with it."""
    path = folder / "results" / f"{QUICK}-01.json.gz"
    rewritten(path, edit)
    relined(folder, lambda entry: entry | {"result": digest(path)})


def better_bound(document: dict[str, Any]) -> dict[str, Any]:
    return document | {"objective": document["objective"] - 128, "bound": document["bound"] - 128}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: relined(folder, lambda e: e | {"objective": e["objective"] - 128}),
        lambda folder: relined(folder, lambda e: e | {"certificate": "prices"}),
        lambda folder: relined(folder, lambda e: e | {"status": "open"}),
        lambda folder: rewritten(
            folder / "instances" / f"{QUICK}-01.json.gz", lambda i: i | {"inequity": 3}
        ),
        lambda folder: rewritten(folder / "results" / f"{QUICK}-01.json.gz", better_bound),
        lambda folder: (folder / "results" / f"{QUICK}-01.json.gz").unlink(),
        lambda folder: (folder / "entries.jsonl").write_text(
            (folder / "entries.jsonl").read_text().partition("\n")[2]
        ),
        lambda folder: spoiled_result(folder, better_bound),
        lambda folder: spoiled_result(folder, lambda r: r | {"certificate": {"kind": "epochs"}}),
    ],
    ids=["objective", "kind", "status", "instance", "result", "lost", "unlisted", "both", "proof"],
)
def test_a_tampered_entry_is_named(copied: Path, spoil: Callable[[Path], None]) -> None:
    spoil(copied)
    done = run("archive", "verify", status=1)
    named = {line.split(":")[0] for line in done.stdout.splitlines() if line.startswith(QUICK)}
    assert named == {f"{QUICK}/{QUICK}-01"}


@pytest.mark.parametrize("days", [1, -1])
def test_an_improvement_is_checked_and_its_line_takes_the_entrys_place(
    copied: Path, days: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By whatever clock: the day is what it says, and is no part of what is judged."""
    clock = datetime.now(UTC) + timedelta(days=days)
    monkeypatch.setattr(judging, "datetime", SimpleNamespace(now=clock.astimezone))
    path = f"archive:{QUICK}/{QUICK}-01"
    result = copied / "results" / f"{QUICK}-01.json.gz"
    done = run("archive", "submit", path, result, status=1)
    assert (done.stdout, "no better" in done.stderr) == ("", True)
    worse = 128.0
    relined(copied, lambda e: e | {"objective": e["objective"] + worse, "status": "open"})
    loose = copied.parent / "loose.json"
    claim = json.loads(gzip.decompress(result.read_bytes()))
    keep = {"certificate": {}, "bound": claim["bound"] - worse, "solution_status": "feasible"}
    claim |= keep | {"gap": worse / claim["objective"]}
    del claim["certificate"]
    loose.write_text(json.dumps(claim))
    kept = copied.parent / "kept.json.gz"
    words = (path, loose, "--by", "a patient reader", "--output", kept)
    entry = json.loads(run("archive", "submit", *words).stdout)
    assert entry["objective_by"]["by"] == "a patient reader"
    assert entry["objective_by"]["date"] == clock.date().isoformat()
    assert entry["bound_by"]["by"] != "a patient reader"
    assert (entry["status"], entry["certificate"] != "") == ("proven", True)
    relined(copied, lambda _: entry)
    shutil.copy(kept, result)
    assert not any(verdict.wrong for verdict in archive.verify_entries())
    rewritten(result, better_bound)
    done = run("archive", "submit", path, result, status=1)
    assert (done.stdout, "objective" in done.stderr) == ("", True)


def test_bench_measures_against_best_known_values(tmp_path: Path) -> None:
    rows = schedopt.bench(f"archive:{QUICK}", policies=["heuristic-epoch"], time_limit=0.0)
    known = {entry.name: entry for _, entry in archive.select_entries([QUICK])}
    assert len(rows) == len(known)
    for row in rows:
        entry: Entry = known[row.instance]
        assert (row.reference, row.reference_bound) == (entry.objective, entry.bound)
        assert row.bound_checked
        assert row.gap is not None


def test_what_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "did you mean 'epoch-planted-8x2'" in refused("archive", "show", "epoch-planted-8x")
    assert "did you mean" in refused("solve", f"archive:{QUICK}/{QUICK}-1")
    with pytest.raises(schedopt.InputError, match=r"^found 'hesrpt-unequal'; expected a group"):
        schedopt.bench("archive:hesrpt-unequal", policies=["equi"])
    monkeypatch.setenv(examples.PLACE, str(tmp_path / "nothing"))
    assert "comes with a clone of the repository" in refused("archive", "list")


def test_an_answer_to_another_question_is_no_improvement(tmp_path: Path) -> None:
    """A selection for a schedule, a policy for a log, one order for all orders."""

    def written(result: schedopt.Result) -> Path:
        path = tmp_path / "claim.json"
        schedopt.dump(result, path)
        return path

    open_schedule = "archive:dssp-schedule-open/dssp-schedule-open-03"
    chosen_alone = schedopt.evaluate(open_schedule, "core")
    said = refused("archive", "submit", open_schedule, written(chosen_alone))
    assert "a solution of formulation schedule" in said
    log = "archive:msfq-logs/msfq-logs-01"
    replayed = schedopt.evaluate(log, "easy")
    done = run("archive", "submit", log, written(replayed), status=1)
    assert (done.stdout, "no better" in done.stderr) == ("", True)
    jobs = "archive:hesrpt-unequal-12/hesrpt-unequal-12-02"
    names = [job.name for job in schedopt.load(jobs).jobs]
    given = schedopt.solve(jobs, options={"order": ",".join(names)}, certificate=True)
    done = run("archive", "submit", jobs, written(given), status=1)
    assert (done.stdout, "another question: options" in done.stderr) == ("", True)
    easy = f"archive:{QUICK}/{QUICK}-01"
    two = tuple(job.name for job in schedopt.load(easy).jobs[:2])
    ruled = schedopt.solve(easy, constraints=[schedopt.Apart(jobs=two)], time_limit=5)
    done = run("archive", "submit", easy, written(ruled), status=1)
    assert done.stdout == ""
    assert "added" in done.stderr or "no better" in done.stderr


def test_a_name_that_acts_on_a_terminal_is_not_taken(copied: Path) -> None:
    path, result = f"archive:{QUICK}/{QUICK}-01", copied / "results" / f"{QUICK}-01.json.gz"
    for character in "\x1b\x07\u202e":
        assert "characters that print" in refused(
            "archive", "submit", path, result, "--by", character
        )


def test_an_optimum_without_its_certificate_is_believed(copied: Path) -> None:
    spoiled_result(copied, lambda r: {key: r[key] for key in r if key != "certificate"})
    relined(copied, lambda e: e | {"certificate": ""})
    assert "1 believed to be optimal" in run("archive", "verify", status=0).stdout
