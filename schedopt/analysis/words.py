"""The rows of a bench in sentences: who is best, what the others lose, and how sure that is."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from schedopt.analysis.averages import FEW
from schedopt.analysis.contenders import SAME, Scores, all_scores, from_bound
from schedopt.analysis.pairs import Pair, against
from schedopt.analysis.summary import Overview, Standing, overview, ranked, summary
from schedopt.analysis.tables import between
from schedopt.formats import counted, number, percent, signed
from schedopt.policies.registry import registered
from schedopt.problems import problem
from schedopt.sweep.rows import Row

MOST_NAMES = 3  # policies that one sentence names


def in_words(rows: Iterable[Row]) -> dict[str, list[str]]:
    """Return for each problem a paragraph, sentence by sentence."""
    rows = list(rows)
    about = {what.problem: what for what in overview(rows)}
    standings = summary(rows)
    found = {}
    for scores, mine, _ in all_scores(rows):
        own = ranked([s for s in standings if s.problem == scores.problem])
        told = _Told(
            best=own[0],
            ranked=own,
            pairs={pair.b: pair for pair in against(mine, own[0].contender)},
            scores=scores,
            rows=mine,
            proven=all(row.reference_proven for row in mine if row.gap is not None),
        )
        found[scores.problem] = [
            *_leader(told),
            *_others(told),
            _references(about[scores.problem]),
            *_caution(told),
        ]
    return found


@dataclass(frozen=True)
class _Told:
    """The data behind the sentences on one problem; ``proven``: gaps are to optima."""

    best: Standing
    ranked: Sequence[Standing]
    pairs: Mapping[str, Pair]
    scores: Scores
    rows: Sequence[Row]
    proven: bool


def _references(what: Overview) -> str:
    every = "the instance" if what.instances == 1 else f"all {what.instances:,} instances"
    checked = f", and re-proved from certificates on {what.re_proved:,}" if what.re_proved else ""
    if what.proven == what.instances:
        return f"The optimum is proven on {every}{checked}."
    if not what.proven:
        if what.instances == 1:
            return "The optimum is not proven."
        return f"The optimum is proven on none of {counted(what.instances, 'instance')}."
    of = counted(what.instances, "instance")
    return f"The optimum is proven on {what.proven:,} of {of}{checked}."


def _leader(told: _Told) -> Iterator[str]:
    """Yield who is best, and its gap."""
    best = told.best
    if not best.scored:
        yield "No policy has a result that counts."
        return
    names = [best.contender, *(s.contender for s in told.ranked[1:] if _tied(told, s))]
    be, come = ("is", "comes") if len(names) == 1 else ("are", "come")
    if best.mean is None:
        wins = f"{best.wins:,} of {counted(best.instances, 'instance')}"
        yield f"{_listed(names)} {be} best on {wins}."
    elif best.at_optimum == best.counted:
        every = "the only run" if best.counted == 1 else f"all {best.counted:,} runs"
        yield f"{_listed(names)} {be} optimal in {every}{_that_count(best)}."
    else:
        met = f"{best.at_optimum:,} of {counted(best.counted, 'run')}"
        yield f"{_listed(names)} {come} closest: {_falls_short(told, best)}."
        if best.at_optimum or told.proven:
            yield f"The proven optimum is met in {met}{_that_count(best)}."


def _others(told: _Told) -> Iterator[str]:
    """Yield who is second, whether it differs significantly, and who is last."""
    rest = [s for s in told.ranked[1:] if s.mean is not None and not _tied(told, s)]
    if not rest:
        return
    after, last = rest[0], rest[-1]
    yield f"Next is {after.contender}: {_falls_short(told, after)}."
    if after.contender in told.pairs and told.pairs[after.contender].compared[0] > 1:
        yield f"{_instance_by_instance(told.pairs[after.contender])}."
    if last is not after:
        yield f"Last is {last.contender}: {_falls_short(told, last)}."


def _caution(told: _Told) -> Iterator[str]:
    """Yield caveats: two phases, few instances, runs without a gap."""
    yield from _phases(told)
    count = len(told.scores.best)
    if 0 < count < FEW:
        say = "says" if count == 1 else "say"
        yield (
            f"{counted(count, 'instance')} {say} little about others: "
            f"no interval is given for fewer than {FEW}."
        )
    noise = max((standing.noise for standing in told.ranked), default=0.0)
    if noise > SAME:
        yield f"Simulated values are inexact: mean gaps by up to {percent(noise)} (95%)."
    left = sum(standing.runs - standing.counted for standing in told.ranked)
    if left:
        be = "is" if left == 1 else "are"
        yield f"{counted(left, 'run')} without a gap {be} left out of all means."


def _phases(told: _Told) -> Iterator[str]:
    """Yield the policies that only select, where others also dispatch."""
    known = registered(told.scores.problem)
    policies = dict.fromkeys(row.policy for row in told.rows)
    phases = {name: known[name].phase if name in known else "" for name in policies}
    choose = [name for name, phase in phases.items() if phase == "choose"]
    run = [name for name, phase in phases.items() if phase in ("dispatch", "both") or "+" in name]
    if choose and run:
        only = "chooses" if len(choose) == 1 else "choose"
        yield (
            f"{_listed(choose)} only {only} what to run, and what is not in time when it is run is "
            f"no loss there; {_listed(run)} {'runs' if len(run) == 1 else 'run'} it as well."
        )


def _tied(told: _Told, other: Standing) -> bool:
    """Tell whether another contender has the same score as the best wherever that has one."""
    pair = told.pairs.get(other.contender)
    return pair is not None and pair.same == told.best.scored == other.scored


def _that_count(standing: Standing) -> str:
    return " that have a gap" if standing.counted < standing.runs else ""


def _falls_short(told: _Told, standing: Standing) -> str:
    """Say how much of the optimum is lost, relatively, at worst, and in the objective's unit."""
    mean = standing.mean or 0.0
    bounded = any(map(from_bound, told.rows))
    known = "the bound" if bounded else "the best solution known"
    reference = "the optimum" if told.proven else known
    if mean < 0:
        words = f"{percent(-mean)} better than {reference}"
    elif told.scores.sign > 0:
        words = f"it loses {percent(mean)} of {reference}"
    else:
        words = f"it is {percent(mean)} above {reference}"
    if standing.counted > 1:
        words += " on average"
    if standing.low is not None and standing.high is not None:
        words += f" (95% interval {between(standing.low, standing.high)})"
    if standing.counted > 1 and (standing.worst or 0.0) > mean:
        words += f", {percent(standing.worst)} at worst (on {standing.worst_instance})"
    return words + _in_its_unit(told, standing)


def _in_its_unit(told: _Told, standing: Standing) -> str:
    """Say what the contender gets on average beside the references, on the same instances."""
    references: dict[str, list[float]] = {}
    for row in told.rows:
        base = row.reference_bound if from_bound(row) else row.reference
        if base is not None:
            references.setdefault(row.file, []).append(base)
    mine = told.scores.of[standing.contender]
    files = [file for file in mine if file in references]
    if not files:
        return ""
    reference = fmean(fmean(references[file]) for file in files)
    got = fmean(mine[file] for file in files)
    what = problem(standing.problem).objective
    return f"; in {what}, {_rounded(got)} against {_rounded(reference)}"


def _rounded(value: float) -> str:
    """Return a number in four significant digits."""
    return number(float(f"{value:.4g}"))


def _instance_by_instance(pair: Pair) -> str:
    """Say how often a is ahead of b, by how much, and whether that is settled."""
    count, what = pair.compared
    often = f"{what.capitalize()} by {what}, {pair.a} is better on {pair.better:,}"
    often = f"{often}, equal on {pair.same:,}"
    words = f"{often} and worse on {pair.worse:,} of {counted(count, what)}{pair.missing}"
    if count < FEW:
        return words
    if pair.low <= 0 <= pair.high:
        sure = f"95% interval {signed(pair.low)} to {signed(pair.high)}"
        return f"{words}; these {what}s do not settle which is better on average ({sure})"
    sure = f"95% interval {between(pair.low, pair.high)}"
    return f"{words}, by {percent(pair.mean)} on average ({sure})"


def _listed(names: Sequence[str]) -> str:
    """Return names as a list in words; of many, the first few."""
    if len(names) > MOST_NAMES + 1:
        left = counted(len(names) - MOST_NAMES, "other")
        return f"{', '.join(names[:MOST_NAMES])} and {left}"
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
