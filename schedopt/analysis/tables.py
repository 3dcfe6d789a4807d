"""The rows of a bench as tables of text, for a terminal, a page and a paper."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from msgspec import structs

from schedopt.analysis.averages import FEW
from schedopt.analysis.contenders import SAME
from schedopt.analysis.measured import Measured, measured
from schedopt.analysis.pairs import Changes, Pair
from schedopt.analysis.profiles import TAUS, Profile
from schedopt.analysis.summary import Overview, Standing
from schedopt.formats import counted, duration, number, percent
from schedopt.instances.csv_text import as_csv
from schedopt.instances.encoding import to_json
from schedopt.instances.errors import printable
from schedopt.problems import problem
from schedopt.problems.summary import ShownTable, Value
from schedopt.sweep.rows import Row

if TYPE_CHECKING:  # which would load all that solves
    from schedopt.sweep.varied import Variation

Cells = dict[str, tuple[str, Value]]
"""A line of a table by heading: a text, and what it is sorted by."""

NONE = "–"

WORDS = {
    "violations": "in violation",
    "not-applicable": "not applicable",
    "time-limit": "timed out",
}
"""Words for the outcome of a row without a gap."""

STANDING = (
    "policy",
    "mean gap",
    "95% interval",
    "median",
    "worst",
    "on",
    "wins",
    "optimal",
    "time",
    "no gap",
)
ALONE = ("policy", "gap", "wins", "optimal", "time", "no gap")  # of one instance
PRINTED_STANDING = (
    "policy",
    "mean gap",
    "95% interval",
    "SGM gap",
    "median",
    "worst",
    "best on",
    "optimal",
    "SGM time",
)
BESIDE = (
    "beside",
    "instances",
    "left out",
    "better",
    "equal",
    "worse",
    "mean advantage",
    "95% interval",
)
PRINTED_PAIR = (
    "problem",
    "a",
    "b",
    "instances",
    "left out",
    "better",
    "equal",
    "worse",
    "mean advantage of a",
    "95% interval",
)

MOST_MEASURED = 12  # measured instances that have a table of their own
MOST_SHARES = 6  # groups whose shares a terminal shows

Contending = TypeVar("Contending", Standing, Profile, Pair)


def _table(title: str, heads: Sequence[str], lines: Iterable[Cells], blank: str = "") -> ShownTable:
    found = [[line[head] for head in heads] for line in lines]
    return ShownTable(
        title=title,
        heads=tuple(heads),
        rows=tuple(tuple(text or blank for text, _ in line) for line in found),
        values=tuple(tuple(value for _, value in line) for line in found),
    )


def standings(
    found: Sequence[Standing], overviews: Iterable[Overview]
) -> Iterator[tuple[Overview, ShownTable]]:
    """Yield each problem with the table of its contenders."""
    for what in overviews:
        mine = [standing for standing in found if standing.problem == what.problem]
        yield what, standing_table(mine, _about(what))


def standing_table(found: Iterable[Standing], title: str = "") -> ShownTable:
    """Return the table of some contenders; one run of each needs no averages."""
    found = list(found)
    alone = title and all(of.runs <= 1 for of in found)
    return _table(title, ALONE if alone else STANDING, map(_standing, found))


def _about(what: Overview) -> str:
    gaps = "; gaps are over the bound" if what.from_bounds else ""
    instances = counted(what.instances, "instance")
    return f"{what.problem}: {instances}, optimum proven for {what.proven:,}{gaps}"


def _standing(of: Standing) -> Cells:
    gaps = {"mean gap": of.mean, "median": of.median, "worst": of.worst, "SGM gap": of.shifted_gap}
    told = {head: NONE if gap is None else percent(gap) for head, gap in gaps.items()}
    if of.noise > SAME:  # of simulated runs
        told["mean gap"] += f" ± {percent(of.noise)}"
    worst = of.worst_instance if (of.worst or 0.0) > SAME else None
    wins = (f"{of.wins:,} of {of.instances:,}", of.wins)
    optimal = (
        (f"{of.at_optimum:,} of {of.counted:,}", of.at_optimum) if of.counted else (NONE, None)
    )
    endings = ", ".join(f"{n:,} {WORDS.get(why, why)}" for why, n in of.endings.items())
    if of.difference is not None:
        endings += f" (off by {number(of.difference)} on average)"
    return {
        "policy": (of.contender, of.contender),
        **{head: (told[head], gap) for head, gap in gaps.items()},
        "gap": (told["mean gap"], of.mean),
        "95% interval": (between(of.low, of.high), of.low),
        "on": (worst or "", worst),
        "wins": wins,
        "best on": wins,
        "optimal": optimal,
        "time": (duration(of.seconds) if of.counted else NONE, of.seconds),
        "SGM time": (duration(of.shifted_seconds) if of.counted else NONE, of.shifted_seconds),
        "no gap": (endings, of.runs - of.counted),
    }


def between(low: float | None, high: float | None) -> str:
    """Return an interval of fractions as text, empty where there is none."""
    return "" if low is None or high is None else f"{percent(low)[:-1]} to {percent(high)}"


def pairs_beside(found: Iterable[Pair]) -> ShownTable:
    """Return one contender beside others; of few instances no interval is shown."""
    few = {"95% interval": ("", None)}
    return _table("", BESIDE, (_pair(p) if p.compared[0] >= FEW else _pair(p) | few for p in found))


def _pair(pair: Pair) -> Cells:
    counts = {
        "instances": pair.compared[0],
        "left out": pair.left_out,
        "better": pair.better,
        "equal": pair.same,
        "worse": pair.worse,
    }
    mean = (percent(pair.mean), pair.mean)
    return {
        "problem": (pair.problem, pair.problem),
        "a": (pair.a, pair.a),
        "b": (pair.b, pair.b),
        "beside": (pair.b, pair.b),
        **{head: (f"{count:,}", count) for head, count in counts.items()},
        "mean advantage": mean,
        "mean advantage of a": mean,
        "95% interval": (between(pair.low, pair.high), pair.low),
    }


def profiles(found: Sequence[Profile]) -> Iterator[ShownTable]:
    """Yield for each problem the share of instances on which each is within a factor."""
    for name, measure in dict.fromkeys((p.problem, p.measure) for p in found):
        mine = [p for p in found if (p.problem, p.measure) == (name, measure)]
        title = f"{name}: share of {counted(mine[0].instances, 'instance')} "
        yield ShownTable(
            title=f"{title}within a factor of the best, by {measure}",
            heads=("policy", *(f"{tau:g}" for tau in TAUS)),
            rows=tuple((p.contender, *(f"{p.at(tau):.0%}" for tau in TAUS)) for p in mine),
        )


def changes(found: Changes, most: int) -> ShownTable:
    """Return the table of what changed; of more than ``most`` changes, the first."""
    verdicts = {True: "better", False: "worse", None: ""}
    heads = ("problem", "instance", "policy", "seed", "what", "before", "after", "")
    rows = tuple(
        (
            change.problem,
            change.instance,
            change.contender,
            str(change.seed),
            change.what,
            _value(change.before),
            _value(change.after),
            verdicts[change.better],
        )
        for change in found.changes[:most]
    )
    return ShownTable(title="what changed", heads=heads, rows=rows)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or isinstance(value, int | float):
        return number(value)
    if isinstance(value, list):
        return "; ".join(value) or "none"
    return str(value)


# What papers print.


def for_papers(
    found: Sequence[Standing],
    overviews: Iterable[Overview],
    profiled: Sequence[Profile] = (),
    pairs: Sequence[Pair] = (),
    rows: Iterable[Row] = (),
) -> Iterator[ShownTable]:
    """Yield the tables of a bench, with the names of policies that papers print."""
    for of in measured(rows):
        called = [(printed(row.problem, name), row) for name, row in of.rows]
        yield measures(structs.replace(of, rows=called))
    for what in overviews:
        mine = in_print(standing for standing in found if standing.problem == what.problem)
        gaps = "" if what.from_bounds else " Gaps are to the best solution known."
        title = (
            f"{_about(what)}.{gaps} Intervals are bootstrapped over "
            "instances; SGM is the shifted geometric mean, with shifts of 1% and 1 ms"
        )
        yield _table(title, PRINTED_STANDING, map(_standing, mine), NONE)
    yield from profiles(in_print(profiled))
    if pairs:
        title = "Policies a and b, instance by instance"
        yield _table(title, PRINTED_PAIR, map(_pair, in_print(pairs)))


def in_print(found: Iterable[Contending]) -> list[Contending]:
    """Return standings, profiles or pairs whose contenders are named as papers print them."""
    return [
        structs.replace(
            one,
            **{
                key: printed(one.problem, getattr(one, key))
                for key in ("contender", "a", "b")
                if hasattr(one, key)
            },
        )
        for one in found
    ]


def printed(of: str, contender: str) -> str:
    """Return a contender as papers print it: its policy's name, then its options if any."""
    names = problem(of).printed
    name, blank, options = contender.partition(" ")
    return "+".join(names.get(part, part) for part in name.split("+")) + blank + options


def spreadsheet(
    found: Sequence[Standing] | Sequence[Profile] | Sequence[Pair], rows: Iterable[Row] = ()
) -> str:
    """Return standings, pairs or the steps of profiles as CSV, every number with all its digits."""
    records: list[dict[str, object]] = []
    told = {(row.problem, name): row for of in measured(rows) for name, row in of.rows}
    heads = dict.fromkeys(key for row in told.values() for key in row.measures)
    for one in found:
        fields = {key: _plain(getattr(one, key)) for key in one.__struct_fields__}
        if isinstance(one, Profile):
            del fields["ratios"]
            steps = zip(*one.steps(), strict=True)
            records += ({**fields, "ratio": ratio, "share": share} for ratio, share in steps)
        else:
            if told and isinstance(one, Standing):  # of several logs it is of none of them
                row = told.get((one.problem, one.contender)) if one.instances == 1 else None
                fields["bound"] = row and row.reference_bound
                fields |= {key: row and row.measures.get(key) for key in heads}
            records.append(fields)
    return as_csv([*records[0]], ([*record.values()] for record in records))


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return to_json(value).decode()
    return printable(value) if isinstance(value, str) else value


# What is measured on single instances.


def measured_tables(rows: Iterable[Row]) -> Iterator[ShownTable]:
    """Yield for each measured instance the policies' measures, and how sure the best one is."""
    for of in measured(rows)[:MOST_MEASURED]:
        yield measures(of)
        if of.differences:
            yield differences(of)


def measures(of: Measured) -> ShownTable:
    """Return each contender's measures on one instance."""
    first, *others = dict.fromkeys(key for _, row in of.rows for key in row.measures)
    bound = ""
    if of.bound is not None:
        proved = " (re-proved)" if of.bound_checked else ""
        bound = f"; no schedule is below {number(of.bound)}{proved}"
    return ShownTable(
        title=f"{of.instance}{bound}",
        heads=("policy", first, "over the bound", *others, "time"),
        rows=tuple(
            (
                name,
                number(row.measures.get(first)),
                "" if row.gap is None else percent(row.gap),
                *(_short(row.measures.get(key)) for key in others),
                duration(row.seconds),
            )
            for name, row in of.rows
        ),
    )


def differences(of: Measured) -> ShownTable:
    """Return how sure it is that the first contender is better than each other one."""
    best, first = of.rows[0]
    resampled = counted(len(first.resampled), "resampled log")
    return ShownTable(
        title=f"{of.instance}: above {best}, here and on {resampled}",
        heads=("policy", "here", "on 95% of them", "so"),
        rows=tuple(
            (
                one.contender,
                percent(one.value),
                between(one.low, one.high),
                f"{best if one.low > 0 else one.contender} is better"
                if one.settled
                else "not settled",
            )
            for one in of.differences
        ),
    )


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}" if abs(value) < 1e4 else number(value)


# What a what-if finds.


def variations(rows: Sequence[Variation], *, on_page: bool = False) -> ShownTable:
    """Return each combination's optimum and shares; a terminal shows those of few groups."""
    first = next((row.shares for row in rows if row.shares), {})
    holders = [row.shares for row in rows] if on_page else [first]
    groups = list(dict.fromkeys((by, g) for shares in holders for by in shares for g in shares[by]))
    if not on_page and len(groups) > MOST_SHARES:
        groups = []
    by = dict.fromkeys(by for by, _ in groups)
    shared = f"; shares of each {' and '.join(by)} in percent" if by else ""
    return ShownTable(
        title="what if" if on_page else rows[0].instance + shared,
        heads=(
            *rows[0].values,
            *("objective", "gap", "outcome"),
            *(f"share {group}" if on_page else group for _, group in groups),
            *([] if on_page else ["time"]),
            "",
        ),
        rows=tuple(
            (
                *(number(v) if isinstance(v, float) else str(v) for v in row.values.values()),
                number(row.objective),
                percent(row.gap),
                row.termination if row.objective is None else row.solution_status,
                *(_share(row.shares.get(by, {}).get(group)) for by, group in groups),
                *([] if on_page else [duration(row.seconds)]),
                "; ".join([*row.violations, *row.conflict]),
            )
            for row in rows
        ),
    ).filled()


def _share(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"
