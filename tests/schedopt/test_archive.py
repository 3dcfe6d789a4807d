"""The archive: its contents, their verification, and tampering."""

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from builders.cli import ROOT, refused, run

import schedopt
from schedopt import archive
from schedopt.instances import examples

QUICK = "epoch-planted-8x2"
Edit = Callable[[Any], Any]


@pytest.mark.parametrize("group", examples.groups())
def test_archive_verify_re_proves_the_first_entry_of_each_group(group: str) -> None:
    (verdict,) = archive.verify_entries(
        [f"{group}/{archive.describe(group)['entries'][0]['name']}"]
    )
    assert not verdict.wrong, verdict.wrong
    assert verdict.bound


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An archive of one group, which tests may spoil."""
    folder = tmp_path / "archive"
    folder.mkdir()
    shutil.copy(ROOT / "archive" / f"{QUICK}.zip", folder)
    monkeypatch.setenv(examples.PLACE, str(folder))
    return folder / f"{QUICK}.zip"


def edited(path: Path, changes: dict[str, Callable[[bytes], bytes | None]]) -> None:
    """Change files of a packed group; None removes a file."""
    files = {name: examples.read_packed(path, name) for name in examples.packed_names(path)}
    for name, change in changes.items():
        text = change(files.pop(name))
        files |= {} if text is None else {name: text}
    path.write_bytes(examples.pack(files))


def rewritten(path: Path, name: str, edit: Edit) -> None:
    """Change a JSON file of a packed group."""
    edited(path, {name: lambda text: json.dumps(edit(json.loads(text))).encode()})


def relined(path: Path, edit: Edit) -> None:
    """Change the first entry of a group."""

    def change(text: bytes) -> bytes:
        first, *others = text.splitlines()
        return b"\n".join([json.dumps(edit(json.loads(first))).encode(), *others])

    edited(path, {"entries.jsonl": change})


INSTANCE, RESULT = f"instances/{QUICK}-01.json", f"results/{QUICK}-01.json"


def spoiled_result(path: Path, edit: Edit) -> None:
    """Change a result, and the entry's digest with it."""
    rewritten(path, RESULT, edit)
    digest = hashlib.sha256(examples.read_packed(path, RESULT)).hexdigest()
    relined(path, lambda entry: entry | {"result": digest})


def better_bound(document: dict[str, Any]) -> dict[str, Any]:
    return document | {"objective": document["objective"] - 128, "bound": document["bound"] - 128}


SPOILED: dict[str, Callable[[Path], None]] = {
    "objective": lambda path: relined(path, lambda e: e | {"objective": e["objective"] - 128}),
    "instance": lambda path: rewritten(path, INSTANCE, lambda i: i | {"inequity": 3}),
    "both": lambda path: spoiled_result(path, better_bound),
    "proof": lambda path: spoiled_result(path, lambda r: r | {"certificate": {"kind": "epochs"}}),
}


@pytest.mark.parametrize("spoiled", SPOILED)
def test_archive_verify_names_a_tampered_entry(copied: Path, spoiled: str) -> None:
    SPOILED[spoiled](copied)
    done = run("archive", "verify", status=1)
    named = {line.split(":")[0] for line in done.stdout.splitlines() if line.startswith(QUICK)}
    assert named == {f"{QUICK}/{QUICK}-01"}


def test_archive_verify_reports_confirmed_entries() -> None:
    (verdict,) = archive.verify_entries(["dssp-fairshare-2388/dssp-fairshare-2388-01"])
    assert (verdict.status, verdict.bound, verdict.wrong) == ("confirmed", "confirmed by scip", [])
    (listed,) = [g for g in archive.list_groups() if g["group"] == "dssp-fairshare-2388"]
    assert (listed["proven"], listed["confirmed"], listed["believed"]) == (6, 6, 0)


def test_bench_measures_against_best_known_values(tmp_path: Path) -> None:
    rows = schedopt.bench(f"archive:{QUICK}", policies=["heuristic-epoch"], time_limit=0.0)
    for row, (_, entry) in zip(rows, archive.select_entries([QUICK]), strict=True):
        assert (row.reference, row.reference_bound) == (entry.objective, entry.bound)
        assert row.bound_checked
        assert row.gap is not None


def test_archive_suggests_the_nearest_name_of_a_missing_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "did you mean 'epoch-planted-8x2'" in refused("archive", "show", "epoch-planted-8x")
    assert "did you mean" in refused("solve", f"archive:{QUICK}/{QUICK}-1")
    monkeypatch.setenv(examples.PLACE, str(tmp_path / "nothing"))
    assert "comes with a clone of the repository" in refused("archive", "list")
