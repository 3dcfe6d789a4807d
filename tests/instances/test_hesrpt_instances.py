"""hesrpt records: what is refused and where, speedups, fits, generators, bundled instances."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders.hesrpt import speedups, tables
from hypothesis import given
from hypothesis import strategies as st

import schedopt
from schedopt.instances.errors import InputError
from schedopt.instances.files import PROBLEMS, dump, load, parse
from schedopt.instances.hesrpt import Amdahl, Power, Table, Whole, fit
from schedopt.instances.hesrpt.generators import GENERATORS

FOLDER = Path(__file__).parents[2] / "instances" / "hesrpt"
BUNDLED = sorted(p for p in FOLDER.glob("*.json") if p.name != "schema.json")


def document(**more: Any) -> bytes:
    whole = {
        "problem": "hesrpt",
        "name": "n",
        "servers": 10,
        "speedup": {"kind": "power", "p": 0.5},
        "jobs": [{"name": "a", "size": 1}, {"name": "b", "size": 2, "groups": {"team": "fx"}}],
        **more,
    }
    return json.dumps(whole).encode()


def table(*points: Any) -> dict[str, Any]:
    return {"speedup": {"kind": "table", "points": points}}


REFUSED: list[tuple[dict[str, Any], list[str]]] = [
    ({"servers": 0}, ["servers", "found 0"]),
    ({"servers": 2.5}, ["servers"]),
    ({"jobs": []}, ["jobs"]),
    ({"jobs": [{"name": "a", "size": 0}]}, ["jobs[0].size", "> 0"]),
    ({"jobs": [{"name": "a", "size": -1}]}, ["jobs[0].size", "> 0"]),
    ({"jobs": [{"name": "a", "size": 1e200}]}, ["jobs[0].size"]),
    ({"jobs": [{"name": "a", "size": 1, "weight": 0}]}, ["jobs[0].weight"]),
    ({"jobs": [{"name": "a", "size": 1, "arrival": -1}]}, ["jobs[0].arrival"]),
    ({"jobs": [{"name": "a", "size": 1}, {"name": "a", "size": 1}]}, ["jobs[1].name"]),
    ({"jobs": [{"name": "a", "sice": 1}]}, ["jobs[0]", "sice"]),
    ({"speedup": {"kind": "power", "p": 0}}, ["speedup.p", "> 0"]),
    ({"speedup": {"kind": "power", "p": 1.5}}, ["speedup.p", "<= 1"]),
    ({"speedup": {"kind": "amdahl", "parallel": 0}}, ["speedup.parallel"]),
    ({"speedup": {"kind": "amdahl", "parallel": 1.1}}, ["speedup.parallel"]),
    ({"speedup": {"kind": "linear"}}, ["speedup"]),
    ({"speedup": None}, ["jobs[0]", "`speedup`"]),
    (table([1, 1], [2, 3]), ["speedup.points[1][1]", "concave"]),
    (table([1, 1], [1, 2]), ["speedup.points[1][0]"]),
    (table([1, 1], [2, 0.5]), ["speedup.points[1][1]"]),
    (table([0, 1], [2, 3]), ["speedup.points[0][1]"]),
    (table([0, 0]), ["speedup.points"]),
    ({"speedup": {"kind": "table", "points": []}}, ["speedup.points"]),
    ({"objective": "mean"}, ["objective"]),
    (
        {"constraints": [{"kind": "share", "jobs": ["c"], "at_most": 1}]},
        ["constraints[0].jobs[0]", "'c'"],
    ),
    ({"constraints": [{"kind": "share", "jobs": ["a"]}]}, ["constraints[0]", "at_most"]),
    (
        {"constraints": [{"kind": "share", "jobs": ["a"], "at_least": 0.5, "at_most": 0.2}]},
        ["constraints[0].at_least"],
    ),
    (
        {"constraints": [{"kind": "fair-share", "by": "team", "at_most": {"f": 1}}]},
        ["constraints[0].at_most.f", "'fx'"],
    ),
    (
        {
            "constraints": [
                {"kind": "fair-share", "by": "team", "at_most": {"fx": 1}, "of": "selected"}
            ]
        },
        ["constraints[0].of"],
    ),
    ({"constraints": [{"kind": "require", "jobs": ["a"]}]}, ["constraints[0]", "require"]),
]


@pytest.mark.parametrize(("more", "says"), REFUSED)
def test_bad_input_is_refused_with_its_place(more: dict[str, Any], says: list[str]) -> None:
    with pytest.raises(InputError) as error:
        parse(document(**more))
    for word in says:
        assert word in str(error.value)


def test_nan_is_refused_with_its_place() -> None:
    for key in (b'"p": 0.5', b'"size": 1'):
        with pytest.raises(InputError, match="NaN"):
            parse(document().replace(key, key.split(b":")[0] + b": NaN"))


@given(st.one_of(speedups, tables), st.floats(0.01, 40), st.floats(0.01, 40))
def test_speedups_rise_are_concave_and_can_be_turned_round(kind: Any, a: float, b: float) -> None:
    for speedup in (kind, Whole(kind)):
        low, high = speedup.at(min(a, b)), speedup.at(max(a, b))
        assert low <= high * (1 + 1e-12)
        assert speedup.at((a + b) / 2) >= (low + high) / 2 * (1 - 1e-12)
        needed = float(speedup.servers_for(low))
        assert needed <= min(a, b) * (1 + 1e-9)
        assert float(speedup.at(needed)) == pytest.approx(float(low), rel=1e-9)
    assert Whole(kind).at(3.0) == pytest.approx(float(kind.at(3.0)))
    assert float(kind.at(0.0)) == 0.0


@pytest.mark.parametrize("p", [0.89, 0.82, 0.69])
def test_fits_find_the_powers_of_figure_2(p: float) -> None:
    k = np.array([1, 2, 4, 8, 16, 32, 64])
    exact = fit(list(zip(k, k**p, strict=True)))
    assert isinstance(exact.speedup, Power) and exact.speedup.p == pytest.approx(p, abs=1e-9)
    assert exact.error < 1e-9
    law = fit([(float(n), n / (0.1 * n + 0.9)) for n in k], "amdahl")
    assert isinstance(law.speedup, Amdahl)
    assert law.speedup.parallel == pytest.approx(0.9, abs=1e-9)
    worse = fit([(float(n), n / (0.1 * n + 0.9)) for n in k], "power")
    assert worse.error > 0.1


def test_a_fit_is_no_worse_than_its_neighbours() -> None:
    points = [(2.0, 1.7), (4.0, 3.5), (8.0, 5.0), (16.0, 9.0)]
    best = fit(points)
    k, s = np.array(points).T
    for p in np.linspace(0.01, 1, 500):
        assert best.error <= np.sqrt(((k**p - s) ** 2).mean()) + 1e-12


@pytest.mark.parametrize("points", [[], [(1, 1)], [(2, -1)], [(0, 1)], [(2, float("nan"))]])
def test_points_that_say_nothing_are_refused(points: Any) -> None:
    with pytest.raises(InputError):
        fit(points)


@pytest.mark.parametrize("name", GENERATORS)
def test_generators_repeat_and_round_trip(name: str, tmp_path: Path) -> None:
    first, second = (schedopt.generate("hesrpt", name, seed=4) for _ in range(2))
    assert first == second != schedopt.generate("hesrpt", name, seed=5)
    dump(first, tmp_path / "i.json.gz")
    assert load(tmp_path / "i.json.gz") == first


@pytest.mark.parametrize("path", BUNDLED, ids=lambda p: p.stem)
def test_bundled_instances_load_under_their_names(path: Path) -> None:
    instance = load(path)
    assert instance.name == path.stem
    assert instance.description
    assert "hesrpt" in PROBLEMS


def test_tables_begin_at_nothing_and_end_level() -> None:
    measured = Table(points=((2, 3), (5, 6)))
    np.testing.assert_allclose(measured.at([0, 1, 2, 5, 99]), [0, 1.5, 3, 6, 6])
    assert measured.servers_for(7) == np.inf
