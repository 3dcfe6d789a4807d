"""The best schedules, selections and seasons of a few tasks, by trying everything.

Written from docs/problems/dssp-machine.md, docs/problems/dssp-bound.md and the documentation of
side constraints alone. It reads the JSON of a file, each number as the decimal that is written, and
shares no code with what it judges.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from itertools import chain, combinations, pairwise, product
from types import MappingProxyType
from typing import Any

from judge.trial import Trial

NONE = Fraction(0)
Plan = dict[str, int]
"""The night on which each job is run, counted from 1; 0 where it is not run."""


def read(text: bytes) -> Any:
    """Return a file's fields, with numbers as they are written."""
    return json.loads(text, parse_float=Fraction, parse_int=Fraction)


def subsets(names: Any) -> list[tuple[str, ...]]:
    """Return all subsets."""
    few = (combinations(names, size) for size in range(len(names) + 1))
    return list(chain.from_iterable(few))


class Machine:
    """How many processors and how much of each resource there is when."""

    def __init__(self, file: Any) -> None:
        down = file.get("down", ())
        end, resources = file.get("end"), file.get("resources", {})
        pools = file.get("pools") or {"": file.get("capacity") or file["processors"]}
        before = file.get("processors", NONE)
        given = [*pools.values(), *resources.values()]
        known = {NONE} | {at for one in given if isinstance(one, list) for at, _ in one}
        known |= {one[key] for one in down for key in ("start", "end")} | {end or NONE}
        self.times = sorted(known)
        self.ends = [*self.times[1:], None]

        def levels(given: Any, before: Fraction, pool: str | None = None) -> list[Fraction]:
            """Return the amount between each time of change and the next."""
            found = []
            for time in self.times:
                level = given
                if isinstance(given, list):
                    level = next((amount for at, amount in given[::-1] if at <= time), before)
                for one in down if pool is not None else ():
                    if (
                        "numbers" not in one
                        and one["start"] <= time < one["end"]
                        and (one.get("pool") or "") == pool
                    ):
                        level -= one["processors"]
                found.append(max(NONE, level) if end is None or time < end else NONE)
            return found

        self.numbered = {name: levels(size, before, name) for name, size in pools.items()}
        numbers = [(p, k) for p, own in self.numbered.items() for k in range(int(max(own)))]
        self.away = {
            (numbers[int(number)], i)
            for one in down
            for number in one.get("numbers", ())
            if number < len(numbers)
            for i, time in enumerate(self.times)
            if one["start"] <= time < one["end"]
        }
        self.pools = {
            name: [
                Fraction(
                    sum(k < own[i] and ((name, k), i) not in self.away for k in range(int(own[i])))
                )
                for i in range(len(own))
            ]
            for name, own in self.numbered.items()
        }
        self.resources = {name: levels(amount, NONE) for name, amount in resources.items()}

    def has(self, place: tuple[str, int], i: int) -> bool:
        """Return whether a processor is there between a change and the next."""
        pool, k = place
        return self.numbered[pool][i] > k and (place, i) not in self.away

    def during(self, start: Fraction, end: Fraction) -> list[tuple[int, Fraction]]:
        """Return the stretches between changes that overlap an interval, and by how much."""
        spans = ((max(a, start), end if b is None else min(b, end)) for a, b in self.spans)
        return [(i, b - a) for i, (a, b) in enumerate(spans) if a < b]

    @property
    def spans(self) -> Iterator[tuple[Fraction, Fraction | None]]:
        """The stretches between changes."""
        return zip(self.times, self.ends, strict=True)

    def area(self, levels: list[Fraction], start: Fraction, end: Fraction) -> Fraction:
        """Return an amount, summed over time."""
        return sum((levels[i] * length for i, length in self.during(start, end)), NONE)

    def together(self, pools: Any) -> list[Fraction]:
        """Return the processors of some pools, all together."""
        return [sum(some, NONE) for some in zip(*(self.pools[p] for p in pools), strict=True)]

    def reached(self, levels: list[Fraction], start: Fraction, work: Fraction) -> Fraction | None:
        """Return when an amount, summed over time from a start, comes to some work."""
        for (a, b), level in zip(self.spans, levels, strict=True):
            begin = max(a, start)
            if work <= 0:
                return start
            if b is not None and b <= begin:
                continue
            if level > 0 and (b is None or begin + work / level <= b):
                return begin + work / level
            if b is None:
                return None
            work, start = work - level * (b - begin), b
        return start


class Job:
    """A job's fields, and what follows from them where its tasks take so many times as long."""

    def __init__(self, file: Any, given: Any, times: Fraction) -> None:
        self.name, self.reward, self.given = given["name"], given["reward"], given
        self.groups = given.get("groups", {})
        self.release = given.get("release", NONE)
        self.due = given.get("deadline") or file["deadline"]
        self.after = given.get("after", ())
        self.wide = int(given.get("processors", 1))
        self.most = given.get("max_processors")
        self.holds = given.get("holds", {})
        self.pools = [p for p in file.get("pools") or {"": 0} if p in (given.get("pools") or [p])]
        self.stages = [[times * length for length in stage] for stage in given.get("stages") or ()]
        work = self.wide * sum((sum(stage, NONE) for stage in self.stages), NONE)
        self.demand = work if given.get("demand") is None else times * given["demand"]
        path = given.get("critical_path")
        self.path = None if path is None else times * path


class Night:
    """A file as it is read, with some jobs longer: its jobs, and the machines of its nights."""

    def __init__(self, text: bytes, longer: Mapping[str, Fraction] = MappingProxyType({})) -> None:
        self.file = file = read(text)
        given = [(job, longer.get(job["name"], Fraction(1))) for job in file["jobs"]]
        self.jobs = {job["name"]: Job(file, job, times) for job, times in given}
        self.rules = file.get("constraints", [])
        self.seats = [rule for rule in self.rules if rule["kind"] == "seats"]
        self.nights = range(1, int(file.get("nights", 1)) + 1)
        self.machines = dict.fromkeys(self.nights, Machine(file))
        self.able = {n: self._able(self.ends(n)) for n in self.nights}

    # --- who could be in time with the machine to itself ------------------------------------------

    def _able(self, ends: Mapping[str, Fraction | None]) -> set[str]:
        """Return the jobs that would be in time if they had the machine to themselves."""
        able = set[str]()
        for _ in self.jobs:
            for name, job in self.jobs.items():
                end, last = ends[name], min(job.due, self.file.get("end", job.due))
                if end is not None and end <= last and {*job.after} <= able:
                    able.add(name)
        return able

    def ends(self, n: int) -> dict[str, Fraction | None]:
        """Return when each job would end with the machine to itself on a night; None if never."""
        found: dict[str, Fraction | None] = {}

        def end(name: str) -> Fraction | None:
            if name not in found:
                before = [end(other) for other in self.jobs[name].after]
                known = [self.jobs[name].release, *(one for one in before if one is not None)]
                alone = self._alone(self.machines[n], self.jobs[name], max(known))
                found[name] = None if None in before else alone
            return found[name]

        return {name: end(name) for name in self.jobs}

    def _alone(self, machine: Machine, job: Job, start: Fraction) -> Fraction | None:
        """Return when a job would end with the machine to itself; None if never."""
        usable = machine.together(job.pools)
        most = max(usable) if job.most is None else job.most - job.most % job.wide
        worked = machine.reached([min(level, most) for level in usable], start, job.demand)
        at: Fraction | None = start
        if job.path is not None:
            runs = [Fraction(level >= job.wide) for level in usable]
            at = machine.reached(runs, start, job.path)
        else:
            for length in map(max, job.stages):
                if at is not None and length:
                    opens = [t for t in [at, *machine.times] if t >= at]
                    fits = (t for t in sorted(opens) if self._stands(machine, job, t, t + length))
                    begin = next(fits, None)
                    at = None if begin is None else begin + length
        return None if worked is None or at is None else max(worked, at)

    def _stands(self, machine: Machine, job: Job, start: Fraction, end: Fraction) -> bool:
        spans = [i for i, _ in machine.during(start, end)]
        return any(all(machine.pools[p][i] >= job.wide for i in spans) for p in job.pools) and all(
            machine.resources[r][i] >= amount for r, amount in job.holds.items() for i in spans
        )

    # --- selections -------------------------------------------------------------------------------

    @cache  # noqa: B019 - a night is looked at and forgotten
    def _fits(self, n: int, chosen: frozenset[str], fill: Fraction) -> bool:
        """Tell whether jobs fit between every release and every deadline, on one night."""
        return all(sum(asked.values()) <= most for asked, most in self.asks(n, chosen, fill))

    def asks(
        self, n: int, chosen: Iterable[str], fill: Fraction
    ) -> Iterator[tuple[dict[str, Fraction], Fraction]]:
        """Yield what jobs ask for between a release and a deadline, and how much there is."""
        machine, jobs = self.machines[n], [self.jobs[name] for name in chosen]
        for a, b in product({job.release for job in jobs}, {job.due for job in jobs}):
            inside = [job for job in jobs if a <= job.release and job.due <= b]
            for pools in subsets(machine.pools)[1:]:
                among = {j.name: j.demand for j in inside if {*j.pools} <= {*pools}}
                yield among, fill * machine.area(machine.together(pools), a, b)
            for name, levels in machine.resources.items():
                held = {j.name: j.holds.get(name, 0) * j.demand / j.wide for j in inside}
                yield held, machine.area(levels, a, b)
            last = min(b, self.file.get("end", b))
            for rule in self.seats:
                held = {j.name: rule["use"].get(j.name, 0) * j.demand / j.wide for j in inside}
                yield held, rule["capacity"] * max(NONE, last - a)

    def best_selection(self, fill: Fraction = Fraction(1)) -> Fraction | None:
        """Return the most that a selection earns, or a season; None where no rules are kept."""
        best = None
        for nights in product(range(len(self.nights) + 1), repeat=len(self.jobs)):
            plan = dict(zip(self.jobs, nights, strict=True))
            earned = sum((self.jobs[name].reward for name in plan if plan[name]), NONE)
            if (best is None or earned > best) and self.allows(plan, fill):
                best = earned
        return best

    def allows(self, plan: Plan, fill: Fraction = Fraction(1)) -> bool:
        """Tell whether a plan is a selection, or a season, and keeps all side constraints."""
        run = {name: n for name, n in plan.items() if n}
        return (
            all(name in self.able[n] and self._may(self.jobs[name], n) for name, n in run.items())
            and all(other in run for name in run for other in self.jobs[name].after)
            and all(
                self._fits(n, frozenset(x for x in run if run[x] == n), fill) for n in self.nights
            )
            and all(self.keeps(rule, plan, fill) for rule in self.rules)
        )

    def _may(self, job: Job, n: int) -> bool:
        return job.given.get("first_night", 1) <= n <= job.given.get("last_night", len(self.nights))

    # --- side constraints -------------------------------------------------------------------------

    def keeps(self, rule: Any, plan: Plan, fill: Fraction = Fraction(1)) -> bool:
        """Tell whether a plan keeps a side constraint; of seats, that no task holds too many."""
        jobs, kind = rule.get("jobs"), rule["kind"]
        if kind in ("at-most", "at-least") and jobs is None:
            jobs = [n for n, j in self.jobs.items() if j.groups.get(rule["by"]) == rule["group"]]
        run = [bool(plan[name]) for name in jobs or ()]
        held = [rule["use"].get(n, 0) for n in plan if plan[n]] if kind == "seats" else []
        used = [
            sum((rule["use"].get(name, NONE) for name in plan if plan[name] == n), NONE)
            for n in (self.nights if kind == "resource" else ())
        ]
        kept: dict[str, Callable[[], bool]] = {
            "require": lambda: all(run),
            "forbid": lambda: not any(run),
            "imply": lambda: bool(not plan[rule["if"]] or plan[rule["then"]]),
            "together": lambda: all(run) or not any(run),
            "apart": lambda: sum(run) <= 1,
            "at-most": lambda: sum(run) <= rule["count"],
            "at-least": lambda: sum(run) >= rule["count"],
            "resource": lambda: all(total <= rule["capacity"] for total in used),
            "fair-share": lambda: self._fair(rule, plan, fill),
            "seats": lambda: all(seats <= rule["capacity"] for seats in held),
        }
        return kept[kind]()

    def _fair(self, rule: Any, plan: Plan, fill: Fraction) -> bool:
        past = rule.get("past", {})
        before = rule.get("past_total", sum(past.values(), NONE))
        known = {j.groups[rule["by"]] for j in self.jobs.values() if rule["by"] in j.groups}
        most, least = dict(rule.get("at_most", {})), dict(rule.get("at_least", {}))
        named = {*most, *least}
        for group in known - named:
            for side, bounds in (("at_most", most), ("at_least", least)):
                if rule.get("each", {}).get(side) is not None:
                    bounds[group] = rule["each"][side]
        for weights, age in self._memories(rule):
            base, mine, whole = age * before, {}, {}
            for group in {*known, *past, *named}:
                mine[group] = whole[group] = age * past.get(group, NONE)
            for name, job in self.jobs.items():
                n, group = plan[name], job.groups.get(rule["by"])
                demand = weights.get(n, NONE) * job.demand
                able = any(name in self.able[m] and self._may(job, m) for m in weights)
                base += demand if rule.get("of") == "selected" else 0
                if group is not None:
                    mine[group] += demand
                    whole[group] += demand
                    whole[group] += job.demand if able and not n else 0  # it could run, and is not
            if rule.get("of") != "selected":
                base += sum(part * fill * self._capacity(n) for n, part in weights.items())
            if any(mine[group] > share * base for group, share in most.items()):
                return False
            if any(
                mine[group] < share * base and mine[group] < whole[group]
                for group, share in least.items()
            ):
                return False
        return True

    def _capacity(self, n: int) -> Fraction:
        machine = self.machines[n]
        return machine.area(machine.together(machine.pools), NONE, self.file["deadline"])

    def _memories(self, rule: Any) -> Iterator[tuple[dict[int, Fraction], Fraction]]:
        """Yield the weights of nights, and of the past, for each time that a share has to hold."""
        window, life, last = rule.get("window"), rule.get("half_life"), self.nights[-1]
        past = bool(rule.get("past")) or "past_total" in rule
        for n in self.nights:
            if life is not None:
                ages = {m: _weight(n - m, life) for m in self.nights[:n]}
                yield ages, _weight(n, life)
            elif window is None:
                yield {n: Fraction(1)}, Fraction(n == 1)
            elif n >= window or past or n == last:
                first = max(1, n - int(window) + 1)
                yield {m: Fraction(1) for m in range(first, n + 1)}, Fraction(n < window)

    # --- schedules --------------------------------------------------------------------------------

    def best_schedule(self) -> Fraction | None:
        """Return the most that a schedule earns; None where none keeps the side constraints."""
        best = None
        worth = {n: job.reward * self.paid(NONE) for n, job in self.jobs.items()}
        for chosen in sorted(subsets(self.jobs), key=lambda some: -sum(worth[n] for n in some)):
            if best is not None and sum(worth[n] for n in chosen) <= best:
                break
            plan = {name: int(name in chosen) for name in self.jobs}
            closed = all(other in chosen for name in chosen for other in self.jobs[name].after)
            if closed and all(self.keeps(rule, plan) for rule in self.rules):
                earned = Trial(self, chosen).best()
                best = earned if best is None else max(best, earned or NONE)
        return best

    def best_in_order(self, *including: str) -> tuple[Fraction, ...] | None:
        """Return the best values of the file's objectives in order; None where no rules are kept.

        For nights without late payments; ``including``: jobs that run.
        """
        best = None
        for chosen in subsets(self.jobs):
            if not {*including} <= {*chosen}:
                continue
            worth = tuple(
                sum((self._worth(name, goal) for name in chosen), NONE)
                for goal in self.file.get("objectives") or ["reward"]
            )
            if (best is None or worth > best) and self.can_schedule(chosen):
                best = worth
        return best

    def can_schedule(self, chosen: Iterable[str]) -> bool:
        """Return True if exactly these jobs can run, all in time, and keep the rules."""
        chosen = tuple(chosen)
        plan = {name: int(name in chosen) for name in self.jobs}
        closed = all(other in chosen for name in chosen for other in self.jobs[name].after)
        kept = closed and all(self.keeps(rule, plan) for rule in self.rules)
        return kept and Trial(self, chosen).best() is not None

    def _worth(self, name: str, goal: str) -> Fraction:
        job = self.jobs[name]
        own = {"reward": job.reward, "demand": job.demand}
        return own[goal] if goal in own else job.given.get("values", {}).get(goal, NONE)

    def paid(self, delay: Fraction) -> Fraction:
        """Return the part of a reward that is paid at a delay."""
        points = self.file.get("late") or [[NONE, Fraction(1)]]
        if delay <= 0:
            return Fraction(1)
        for (a, before), (b, after) in pairwise(points):
            if delay <= b:
                return before + (after - before) * (delay - a) / (b - a)
        return NONE


def _weight(age: int, half_life: Fraction) -> Fraction:
    """Return 2^(-age/half_life), rounded to a multiple of 2^-40."""
    return Fraction(round(2.0 ** float(-age / half_life) * 2**40), 2**40)
