"""The rows of a bench in sentences: who is best, what the next one loses, and how sure that is."""

from collections.abc import Iterable, Iterator, Sequence

from schedopt.analysis.averages import FEW
from schedopt.analysis.contenders import from_bound, group_rows
from schedopt.analysis.summary import Overview, Standing, overview, rank, summary
from schedopt.formats import between, counted, percent
from schedopt.policies.registry import registered
from schedopt.problems import problem
from schedopt.sweep.rows import Row

MOST_NAMES = 4  # policies that one sentence names


def as_sentences(rows: Iterable[Row]) -> dict[str, list[str]]:
    """Return for each problem a paragraph, sentence by sentence."""
    rows = list(rows)
    by_problem, standings = group_rows(rows, "problem"), summary(rows)
    found = {}
    for what in overview(rows):
        own = rank(standing for standing in standings if standing.problem == what.problem)
        mine = by_problem[what.problem]
        found[what.problem] = [*_leaders(own, mine), _references(what), *_cautions(own, what, mine)]
    return found


def _leaders(own: Sequence[Standing], rows: Sequence[Row]) -> Iterator[str]:
    """Yield who is best, and who is next."""
    best = own[0]
    if not best.scored:
        yield "No policy has a result that counts."
        return
    tied = [
        of for of in own if (of.scored, of.mean, of.wins) == (best.scored, best.mean, best.wins)
    ]
    names, one = _listed([of.contender for of in tied]), len(tied) == 1
    if best.mean is None:
        wins = f"{best.wins:,} of {counted(best.instances, 'instance')}"
        yield f"{names} {'is' if one else 'are'} best on {wins}."
        return
    if best.at_optimum == best.counted:
        every = "the only run" if best.counted == 1 else f"all {best.counted:,} runs"
        yield f"{names} {'is' if one else 'are'} optimal in {every}."
    else:
        yield f"{names} {'comes' if one else 'come'} closest: {_loss(best, rows)}."
    following = [of for of in own if of not in tied and of.mean is not None]
    if following:
        yield f"Next is {following[0].contender}: {_loss(following[0], rows)}."


def _loss(of: Standing, rows: Sequence[Row]) -> str:
    """Say how much of the reference is lost on average and at worst."""
    mean = of.mean or 0.0
    proven = all(row.reference_proven for row in rows if row.gap is not None)
    known = "the bound" if any(map(from_bound, rows)) else "the best solution known"
    reference = "the optimum" if proven else known
    if mean < 0:
        words = f"it is {percent(-mean)} better than {reference}"
    elif problem(of.problem).sense == "maximize":
        words = f"it loses {percent(mean)} of {reference}"
    else:
        words = f"it is {percent(mean)} above {reference}"
    if of.counted > 1:
        words += " on average"
    if of.low is not None:
        words += f" (95% interval {between(of.low, of.high)})"
    if of.counted > 1 and (of.worst or 0.0) > mean:
        words += f", {percent(of.worst)} at worst (on {of.worst_instance})"
    return words


def _references(what: Overview) -> str:
    checked = f", and re-proved from certificates on {what.re_proved:,}" if what.re_proved else ""
    of = counted(what.instances, "instance")
    return f"The optimum is proven on {what.proven:,} of {of}{checked}."


def _cautions(own: Sequence[Standing], what: Overview, rows: Sequence[Row]) -> Iterator[str]:
    """Yield caveats: few instances, runs without a gap, choosing taken for running."""
    if what.instances < FEW:
        yield f"With so few instances ({what.instances}) no interval is given."
    missing = sum(of.runs - of.counted for of in own)
    if missing:
        yield f"The means leave out {counted(missing, 'run')} without a gap."
    known = registered(what.problem)
    policies = dict.fromkeys(row.policy for row in rows)
    phases = {name: known[name].phase if name in known else "" for name in policies}
    choose = [name for name, phase in phases.items() if phase == "choose"]
    run = [name for name, phase in phases.items() if phase in ("dispatch", "both") or "+" in name]
    if choose and run:
        yield (
            f"{_listed(choose)} only {'chooses' if len(choose) == 1 else 'choose'} jobs, which "
            f"count even where they would end too late; not so those of {_listed(run)}."
        )


def _listed(names: Sequence[str]) -> str:
    """Return names as a list in words; of many, the first few."""
    if len(names) > MOST_NAMES:
        others = counted(len(names) - MOST_NAMES + 1, "other")
        return f"{', '.join(names[: MOST_NAMES - 1])} and {others}"
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
