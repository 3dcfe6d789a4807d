"""Two methods agree on random instances of every kind of side constraint: a small `make agree`."""

import pytest

from benchmarks import agree


@pytest.mark.parametrize("kind", agree.KINDS)
def test_two_methods_agree(kind: str) -> None:
    told = agree.part(kind, 10**7, 2 if kind in agree.RARE else 12)
    assert told["quarrels"] == []
    assert told.get("withheld", 0) == 0


@pytest.mark.parametrize(
    ("kind", "seed"),
    [
        ("at-most", 907),
        ("at-least", 2751),
        ("imply", 1973),
        ("imply", 3883),
        ("fair-share cap of selected", 1445),
        ("at-most", 4899),
    ],
)
def test_where_highs_was_wrong(kind: str, seed: int) -> None:
    assert agree.verdict(kind, seed) == "agreed"


def test_a_quarrel_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agree, "_same", lambda *_: False)
    told = agree.part("none", 0, 3)
    assert told["disagreed"] == 3
    assert [seed for seed, _ in told["quarrels"]] == [0, 1, 2]
    assert agree.told([told]) == 3


def test_parts_are_one_of_each_kind_in_turn() -> None:
    parts = list(agree.todo(100_000))
    assert len(parts) == len(set(parts))
    assert {kind for kind, _ in parts} == set(agree.KINDS)
    assert sum(agree.PART for _ in parts) >= 100_000
