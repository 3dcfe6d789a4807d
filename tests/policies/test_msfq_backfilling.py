"""The archive's set backfilling, against the plain definitions of its policies."""

import csv
from pathlib import Path

import pytest
from builders import log_oracle
from builders.cli import ROOT, run

import schedopt
from schedopt.instances import examples
from schedopt.instances.files import load
from schedopt.verbs.starts import log_of

PACKED = ROOT / "archive" / "backfilling.zip"
SET = examples.unpack(PACKED, "")
NAMES = sorted(path.name.removesuffix(".csv") for path in (SET / "starts").glob("*.csv"))


@pytest.mark.parametrize("name", NAMES)
def test_backfilling_set_equals_plain_definitions(name: str) -> None:
    queue = load(SET / "instances" / f"{name}.json")
    with (SET / "starts" / f"{name}.csv").open() as file:
        stored = list(csv.DictReader(file))
    for policy in ("fcfs", "easy", "conservative", "saf"):
        for _, rows, one in queue.parts():  # type: ignore[attr-defined]
            starts = log_oracle.played(one, policy).starts
            assert starts == [int(stored[row][policy]) for row in rows]


def test_backfilling_set_verify_names_a_wrong_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {name: examples.read_packed(PACKED, name) for name in examples.packed_names(PACKED)}
    starts = f"starts/{NAMES[0]}.csv"
    files[starts] = files[starts].replace(b"\n4,6,6,", b"\n4,6,7,")
    (tmp_path / "backfilling.zip").write_bytes(examples.pack(files))
    monkeypatch.setenv("SCHEDOPT_ARCHIVE", str(tmp_path))
    entry = f"backfilling/{NAMES[0]}"
    said = run("archive", "verify", entry, status=1).stdout
    assert "job 4 starts at 7, and should at 6 under easy" in " ".join(said.split())


def test_backfilling_set_swf_equals_its_instance() -> None:
    for path in sorted((SET / "swf").glob("*.swf")):
        lines = [line.split() for line in path.read_text().splitlines()[2:]]
        if {line[15] for line in lines} == {"-1"}:  # no partitions, of which SWF says no sizes
            starts = SET / "starts" / f"{path.stem}.csv"
            assert schedopt.check_starts(log_of(path), starts, "easy") is None
