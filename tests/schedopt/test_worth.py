"""What jobs are worth in a plan: priorities, strict order, chosen jobs, caps, and what-ifs."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from builders.cli import refused, run

PRIORITIES = (
    "name,priority,frames,frame_time,show\n"
    "client delivery,100,60,1h,NightOwl\ntest a,0,30,1h,Tide\ntest b,0,30,1h,Tide\n"
)
SHOWS = (
    "name,reward,tasks,show\na,5,4x1h,owl\nb,4,4x1h,owl\n"
    "c,3,4x1h,tide\nd,2,4x1h,tide\ne,1,4x1h,fox\n"
)


def planned(folder: Path, text: str, *words: object, status: int = 0) -> Any:
    """Return the document of a plan of a table on six processors."""
    (folder / "jobs.csv").write_text(text)
    until = [] if "--until" in words else ["--until", "10h"]
    given = [folder / "jobs.csv", "--processors", 6, *until, *words, "--json", "--threads", 1]
    return msgspec.json.decode(run("plan", *given, status=status).stdout)


def runs(document: Any) -> set[str]:
    return {row["job"] for row in document["plan"] if row["run"]}


@pytest.mark.parametrize(
    ("words", "jobs", "reward"),
    [
        ([], {"client delivery"}, 100),
        (["--priority", "lower"], {"test a", "test b"}, 200),
        (["--reward", "strict"], {"client delivery"}, 3),
        (["--until", "15h"], {"client delivery", "test a"}, 100),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_plan_prefers_priority_and_fills_up_with_priority_zero(
    words: list[str], jobs: set[str], reward: float, tmp_path: Path
) -> None:
    document = planned(tmp_path, PRIORITIES, *words)
    assert len(runs(document)) == len(jobs)
    assert ("client delivery" in runs(document)) == ("client delivery" in jobs)
    assert document["objective"] == document["bound"] == reward
    assert document["solution_status"] == "optimal"
    assert not document["violations"]


def test_strict_order_of_more_levels_than_one_number_can_hold(tmp_path: Path) -> None:
    """Each of 35 levels outweighs all below it, so that the first twelve of equal jobs run."""
    text = "name,priority,tasks\n" + "".join(f"j{i},{i},1x5h\n" for i in range(35))
    document = planned(tmp_path, text, "--reward", "strict", "--time-limit", 60)
    assert runs(document) == {f"j{i}" for i in range(23, 35)}
    assert document["solution_status"] == "optimal"


def test_must_and_forbid_come_from_flags_farm_and_columns(tmp_path: Path) -> None:
    farm = tmp_path / "farm.json"
    first = planned(tmp_path, SHOWS, "--until", "1h", "--must", "e", "--save-farm", farm)
    assert runs(first) == {"e"}
    assert msgspec.json.decode(farm.read_bytes())["must"] == ["e"]
    more = planned(tmp_path, SHOWS, "--until", "2h", "--farm", farm, "--forbid", "a")
    assert runs(more) == {"b", "c", "e"}
    table = "name,reward,tasks,must\na,9,6x10h,\nb,1,6x5h,yes\nc,1,6x5h,no\n"
    assert runs(planned(tmp_path, table)) == {"b", "c"}
    words = ["--until", "1h", "--must", "a", "--must", "b"]
    assert set(planned(tmp_path, SHOWS, *words, status=3)["conflict"]) == {"must a", "must b"}


def test_cap_of_each_group_gives_way_to_a_group_of_its_own(tmp_path: Path) -> None:
    words = ["--cap", "show:*=20%"]
    shares = planned(tmp_path, SHOWS, "--until", "4h", *words)["solution"]["shares"]["show"]
    assert shares == {"owl": pytest.approx(1 / 6), "tide": pytest.approx(1 / 6)} | {
        "fox": pytest.approx(1 / 6)
    }
    words += ["--cap", "show:owl=0.4"]
    assert runs(planned(tmp_path, SHOWS, "--until", "4h", *words)) == {"a", "b", "c", "e"}


def test_why_names_the_smallest_changes_in_the_words_of_the_night(tmp_path: Path) -> None:
    text = "name,reward,tasks,team\na,5,6x1h,fx\nb,3,6x1h,fx\n"
    words = ["--from", "2026-11-22T20:00+01:00", "--until", "22:00", "--cap", "team:fx=50%"]
    document = planned(tmp_path, text, *words, "--why", "b", "--explain", "--time-limit", 60)
    changes = {one["change"]: one for one in document["explanation"]["changes"]}
    assert {name: one["needed"] for name, one in changes.items()} == {
        "deadline": None,
        "processors": "12 (6 more)",
        "cap team fx": "100%",
        "reward": "5",
    }
    assert all(one["proven"] for one in changes.values())
    assert document["explanation"]["rules"] == [
        {"rule": "cap team:fx", "cost": 3.0, "gains": ["b"], "loses": [], "proven": True}
    ]
    words = ["--from", "2026-11-22T20:00+01:00", "--until", "21:00"]
    changes = planned(tmp_path, text, *words, "--why", "b", "--why", "a")["explanation"]["changes"]
    assert ("deadline", "22:00") in {(one["change"], one["needed"]) for one in changes}
    assert changes[-1]["words"] == "the plan runs it"
    text = "name,reward,tasks\na,5,6x1h\nb,0,6x1h\n"  # the only job without a reward
    changes = planned(tmp_path, text, "--until", "1h", "--why", "b")["explanation"]["changes"]
    assert ("reward", "5") in {(one["change"], one["needed"]) for one in changes}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--must", "f"], "--must: found 'f'; expected the name of a job"),
        (["--why", "a", "--risk", "mean"], "--why: expected a plan without risk"),
        (["--cap", "show:*=140%"], "--cap show:*: found '140%'; expected a share above 0"),
        (["--reward", "linear"], "--reward: found 'linear'; expected priority, strict"),
    ],
    ids=lambda words: "" if isinstance(words, str) else " ".join(words),
)
def test_plan_refuses_wrong_rewards_and_names(words: list[str], said: str, tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text(SHOWS)
    given = [tmp_path / "jobs.csv", "--processors", 6, "--until", "10h"]
    assert said in refused("plan", *given, *words)
