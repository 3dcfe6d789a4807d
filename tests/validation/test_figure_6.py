"""The long run behind Figure 6: it goes on where it stopped, and one point is one answer."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks import borg
from benchmarks.tables import kept
from schedopt.instances.msfq import Simulated
from schedopt.validation.reproduce.msfq_figures import borg_point


def test_it_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(borg, "BORG_RATES", (4.0,))
    monkeypatch.setattr(borg, "COMPARED", {"msf": (), "first-fit": ()})
    played: list[str] = []

    def counted(rate: float, label: str, **how: Any) -> Simulated:
        played.append(label)
        return borg_point(rate, label, **how)

    monkeypatch.setattr(borg, "borg_point", counted)
    file = tmp_path / "points.jsonl"
    first = borg.simulate(file, 20_000, 1)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(lines[0] + lines[1][:40] + b"\n")
    again = borg.simulate(file, 20_000, 2)
    assert played == ["msf", "first-fit", "first-fit"]
    assert {key: point.found for key, point in first.items()} == {
        key: point.found for key, point in again.items()
    }
    assert {point.arrivals for point in kept(file, borg.Point)} == {20_000}
