"""Random nights and seasons of a few tasks, as files hold them: every feature in any mixture."""

import json
from collections.abc import Callable, Collection
from fractions import Fraction
from random import Random
from typing import Any

from schedopt.instances import files
from schedopt.instances.errors import InputError

GRIDS = ("1", "1", "1/2", "1/3", "1/10", "2")
SIZES = (1, 1, 1, 1, 1, 3600, Fraction(1, 1000), 10**6)
FEATURES = (
    "release",
    "deadline",
    "late",
    "after",
    "max_processors",
    "processors",
    "holds",
    "pools",
    "capacity",
    "down",
    "numbers",
    "end",
    "predicted",
    "seats",
    "rules",
)
TEAMS = ("fx", "light", "anim")
MOST = 6


class Drawn:
    """A night as it is drawn: times of tasks on one grid, times of changes on another."""

    def __init__(self, draw: Random, features: set[str], nights: int, most: int) -> None:
        self.draw, self.features, self.nights, self.most = draw, features, nights, most
        size = Fraction(draw.choice(SIZES))
        self.task, self.change = (size * Fraction(draw.choice(GRIDS)) for _ in range(2))
        grid = draw.choice((self.task, self.change))
        horizon = draw.choice((1, 2, 2, 3, 3, 4, 5, 6)) * max(self.task, self.change)
        horizon = (horizon // grid + draw.randint(1, 3)) * grid
        self.deadline, self.span = self.written(horizon), int(horizon / self.change) + 1
        self.longest = max(1, int(horizon / self.task / 2))

    def has(self, feature: str, odds: float = 0.5) -> bool:
        """Tell whether a feature is used here."""
        return feature in self.features and self.draw.random() < odds

    def written(self, time: Fraction | float) -> float:
        """Return a time with six places, or as many figures."""
        return float(f"{float(time):.6f}" if 1 <= time < 10**5 else f"{float(time):.6g}")

    def when(self, least: int = 0) -> float:
        """Draw a time of change."""
        return self.written(self.draw.randint(least, max(least, self.span)) * self.change)

    def steps(self, most: int) -> list[list[float]]:
        """Draw amounts from some times on."""
        times = sorted({self.when() for _ in range(self.draw.randint(1, 3))})
        draw = self.draw
        return [[t, draw.choice((0, *range(1, most + 1), *range(1, most + 1)))] for t in times]

    def down(self, sizes: dict[str, int], widest: int) -> dict[str, Any]:
        """Draw which processors are down: how many of a pool, or single ones."""
        draw, count = self.draw, sum(sizes.values()) or widest
        if self.has("numbers") and count:
            return {"numbers": draw.sample(range(int(count)), draw.randint(1, int(min(2, count))))}
        pool = {"pool": draw.choice([*sizes])} if sizes else {}
        return {"processors": draw.randint(1, 2), **pool}

    def file(self) -> dict[str, Any]:
        """Draw a file."""
        draw = self.draw
        file: dict[str, Any] = {"problem": "dssp", "name": "judged", "deadline": self.deadline}
        sizes: dict[str, int] = {}
        if self.has("pools", 0.8):
            file["pools"] = {}
            for name in "xyz"[: draw.randint(1, 3)]:
                profile = draw.random() < 0.4
                file["pools"][name] = self.steps(2) if profile else draw.randint(1, 2)
        else:
            file["processors"] = draw.choice((1, 1, 2, 3))
            if self.has("capacity", 0.8):
                file["capacity"] = self.steps(3)
        sizes = {
            name: max(n for _, n in size) if isinstance(size, list) else size
            for name, size in file.get("pools", {}).items()
        }
        widest = max([*sizes.values(), file.get("processors", 0)])
        widest = max([widest, *(n for _, n in file.get("capacity", ()))])
        if self.has("down", 0.8):
            file["down"] = [
                {
                    "start": (first := self.when()),
                    "end": self.written(max(first, self.when()) + self.written(self.change)),
                    **self.down(sizes, widest),
                }
                for _ in range(draw.randint(1, 2))
            ]
        if self.has("end", 0.7):
            file["end"] = max(self.when(1), self.when(1))
        if self.has("holds", 0.9):
            file["resources"] = {"lic": self.steps(3), "gb": draw.choice((0.5, 1, 1.5))}
        if self.has("late", 0.9):
            points = sorted({0.0, *(self.when() for _ in range(draw.randint(1, 2)))})
            parts = sorted((draw.choice((0, 0.1, 0.25, 0.5, 1)) for _ in points), reverse=True)
            file["late"] = [list(point) for point in zip(points, parts, strict=True)]
        if self.nights > 1:
            file["nights"] = self.nights
        file["jobs"], left = [], self.most
        for j in range(draw.choice((1, 2, 3, 4, 5, 6))):
            if left:
                file["jobs"].append(self.job(file, sizes, widest, j, left))
                left -= sum(map(len, file["jobs"][-1]["stages"]))
        draw.shuffle(file["jobs"])
        names = [job["name"] for job in file["jobs"]]
        rules = [self.rule(names, i) for i in range(draw.randint(0, 3)) if self.has("rules", 0.8)]
        file["constraints"] = [rule for rule in rules if rule]
        return file

    def job(self, file: Any, sizes: dict[str, int], widest: int, j: int, left: int) -> Any:
        """Draw a job of so many tasks at most."""
        draw, stages = self.draw, list[list[float]]()
        for _ in range(draw.choice((1, 1, 1, 2, 3))):
            if count := min(left, draw.choice((1, 1, 2, 3, self.most // 4))):
                some = (0, 1, 1, 2, draw.randint(1, self.longest), draw.randint(1, self.longest))
                lengths = (draw.choice(some) for _ in range(count))
                stages.append([self.written(length * self.task) for length in lengths])
                left -= count
        job: dict[str, Any] = {
            "name": f"j{j}",
            "reward": draw.choice((0, 1, 2, 3, 5, 7, 0.5, 0.1)),
            "stages": stages,
            "groups": {"team": TEAMS[j % 3]} if draw.random() < 0.9 else {"show": "a"},
        }
        if self.has("release", 0.4):
            job["release"] = self.when()
        if self.has("deadline", 0.4):
            job["deadline"] = self.when(1)
        if self.has("predicted"):
            lengths = sum(map(sum, stages))
            job["demand"] = draw.choice((lengths, self.written(draw.randint(0, 6) * self.task)))
            job["critical_path"] = draw.choice(
                (sum(map(max, stages)), self.written(draw.randint(0, 3) * self.task))
            )
        if self.has("after", 0.6) and j:
            names = [other["name"] for other in file["jobs"]]
            job["after"] = draw.sample(names, min(len(names), draw.randint(1, 2)))
        if self.has("processors"):
            job["processors"] = min(draw.randint(1, max(1, widest)), draw.randint(1, 3))
        wide = job.get("processors", 1)
        if self.has("max_processors", 0.6):
            job["max_processors"] = wide + draw.randint(0, 2)
        if "resources" in file and draw.random() < 0.7:
            top = max(int(amount) for _, amount in file["resources"]["lic"])
            job["holds"] = {"lic": draw.randint(0, top), "gb": draw.choice((0, 0.1, 0.5, 0.25))}
        if sizes and draw.random() < 0.6 and (able := [p for p in sizes if sizes[p] >= wide]):
            job["pools"] = draw.sample(able, draw.randint(1, len(able)))
        if self.nights > 1 and draw.random() < 0.5:
            job["first_night"] = draw.randint(1, self.nights)
            job["last_night"] = draw.randint(job["first_night"], self.nights)
        return job

    def rule(self, names: list[str], i: int) -> Any:
        """Draw a side constraint."""
        draw = self.draw
        few = draw.sample(names, draw.randint(1, min(3, len(names))))
        two = draw.sample(names, min(2, len(names)))
        use = {name: draw.randint(0, 2) for name in few}
        kinds: tuple[Callable[[], Any], ...] = (
            lambda: {"kind": "require", "jobs": few[:1]},
            lambda: {"kind": "forbid", "jobs": few[:1]},
            lambda: {"kind": "imply", "if": two[0], "then": two[-1]},
            lambda: {"kind": "together", "jobs": few},
            lambda: {"kind": "apart", "jobs": few},
            lambda: {"kind": "at-most", "jobs": few, "count": draw.randint(0, 2)},
            lambda: {"kind": "at-least", "jobs": few, "count": draw.randint(0, 2)},
            lambda: {"kind": "at-most", "by": "team", "group": TEAMS[0], "count": 0},
            lambda: {"kind": "at-least", "by": "team", "group": TEAMS[0], "count": 1},
            lambda: {"kind": "resource", "capacity": draw.randint(0, 3), "use": use},
            lambda: {"kind": "seats", "capacity": draw.randint(0, 2), "use": use},
            lambda: {"kind": "seats", "capacity": draw.randint(1, 2), "use": use},
            self.share,
            self.share,
            self.share,
        )
        return draw.choice(kinds)() | {"name": f"rule {i}"}

    def share(self) -> Any:
        """Draw a fair share."""
        draw, rule = self.draw, dict[str, Any](kind="fair-share", by="team")
        share = lambda: draw.choice((0, 0.1, 0.25, 0.4, 0.5, 0.333333, 1))  # noqa: E731
        for side in draw.choice((("at_most",), ("at_most",), ("at_least",), ("each",))):
            if side != "each":
                rule[side] = {draw.choice(TEAMS[:2]): share()}
        if len(rule) == 2 or draw.random() < 0.2:
            rule["each"] = {draw.choice(("at_most", "at_least")): share()}
        if draw.random() < 0.4:
            rule["of"] = "selected"
        if draw.random() < 0.4:
            rule["past"] = {
                team: self.written(draw.randint(0, 4) * self.task) for team in TEAMS[:2]
            }
            if draw.random() < 0.7:
                rule["past_total"] = self.written(draw.randint(0, 12) * self.task)
        if draw.random() < 0.4:
            rule |= draw.choice(
                ({"window": draw.randint(1, 3)}, {"half_life": draw.choice((0.5, 1, 3.7))})
            )
        return rule


def drawn(seed: int, without: Collection[str] = (), nights: int = 1, most: int = MOST) -> bytes:
    """Draw a night of so many tasks at most, or a season, that files may hold; as they hold it."""
    draw = Random(f"{seed} {nights}")  # noqa: S311
    while True:
        odds = draw.choice((0.15, 0.3, 0.3, 0.6, 1.0))
        features = {name for name in FEATURES if draw.random() < odds}.difference(without)
        text = json.dumps(Drawn(draw, features, nights, most).file()).encode()
        try:
            files.parse(text)
        except InputError:
            continue  # no processor at any time, or too few for a job, or a group without a job
        return text
