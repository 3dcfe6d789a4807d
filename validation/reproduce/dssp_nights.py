"""Figures 3 to 10 and section 5.2 of the dssp paper: dispatching and selecting on render nights."""

from collections.abc import Mapping
from functools import cache, partial
from itertools import count, islice
from typing import NamedTuple

import msgspec
import numpy as np

from schedopt.instances.dssp import Instance
from schedopt.instances.dssp.generators import DEADLINE, GENERATORS, PROCESSORS, render_season
from schedopt.instances.dssp.jobs import REWARDS
from schedopt.instances.dssp.planned import Floats, Ints
from schedopt.policies.dssp import dispatchers
from schedopt.policies.registry import registered
from schedopt.validation.reproduce.ledger import Answers, Curve, Outcome

HOUR = 3600.0
NIGHT = DEADLINE / HOUR
SIX = ("random", "first", "priority", "stcpu", "lcpf", "cpa")
FOUR = ("priority", "stcpu", "lcpf", "cpa")
SIGMA = 0.3  # standard deviation of the logarithm of a prediction's error
Earned = dict[str, list[float]]


def busy_nights(hours: float, wanted: int) -> list[Instance]:
    """Return nights with a demand of so many CPU-hours or more, from as many seasons as needed."""
    every = (night for seed in count(1) for night in render_season(seed))
    return list(islice((n for n in every if n.demands.sum() >= hours * HOUR), wanted))


def with_rewards(night: Instance, reward: str) -> Instance:
    """Return a night under another reward function (section 5.1), by what happens."""
    demands = night.tasks.demands.tolist()
    jobs = tuple(
        msgspec.structs.replace(job, reward=REWARDS[reward](job.priority, demand))
        for job, demand in zip(night.jobs, demands, strict=True)
    )
    return msgspec.structs.replace(night, jobs=jobs)


def with_predictions(night: Instance, seed: int) -> Instance:
    """Return a night with predictions: T_1 and T_∞ times independent lognormal errors."""
    draw = np.random.Generator(np.random.PCG64(seed))
    errors = np.exp(SIGMA * draw.standard_normal((len(night.jobs), 2)))
    jobs = tuple(
        msgspec.structs.replace(job, demand=float(d * e), critical_path=float(c * f))
        for job, d, c, (e, f) in zip(
            night.jobs, night.demands, night.critical_paths, errors, strict=True
        )
    )
    return msgspec.structs.replace(night, jobs=jobs)


def selected_jobs(night: Instance, selector: str, fill: float) -> Ints:
    """Return the positions of the jobs that a selector takes."""
    selected = registered("dssp")[selector].run(night, fill=fill).selected
    return dispatchers.positions(night, selected)


def reward_in_time(night: Instance, dispatcher: str, jobs: Ints) -> float:
    """Return the reward of the jobs that a dispatcher completes by the deadline."""
    completion = dispatchers.simulate_dispatcher(night, dispatcher, jobs, 0).completion[jobs]
    return float(night.rewards[jobs][completion <= night.deadline].sum())


class Nights(NamedTuple):
    """What a dispatcher does on all nights together, in hours and shares.

    ``completion``, ``release``: when jobs complete, and when processors are released (0 for one
    that never works); ``gaps``: idle share of the processor time before each processor's own
    release; ``idle``: idle share of the processor time before the deadline.
    """

    completion: Floats
    release: Floats
    gaps: float
    idle: float


@cache
def _dispatch_all(quick: bool) -> dict[str, Nights]:
    """Dispatch what greedy selects (r = 1) on nights that ask for 13,000 CPU-hours or more."""
    instances = busy_nights(13_000, 8 if quick else 32)
    picks = [selected_jobs(night, "greedy", 1.0) for night in instances]
    found = {}
    for name in SIX:
        completion, release, gaps, idle = [], [], [], []
        for night, jobs in zip(instances, picks, strict=True):
            played = dispatchers.simulate_dispatcher(night, name, jobs)
            on = played.processors(night)
            run, places = list(on), [place for place, *_ in on.values()]
            starts, lengths = played.starts[run], night.tasks.lengths[run]
            last = np.zeros(night.processors)
            np.maximum.at(last, places, starts + lengths)
            early = np.minimum(starts + lengths, DEADLINE) - np.minimum(starts, DEADLINE)
            completion.append(played.completion[jobs])
            release.append(last)
            gaps.append(1 - lengths.sum() / last.sum())
            idle.append(1 - early.sum() / (PROCESSORS * DEADLINE))
        done, freed = np.concatenate(completion) / HOUR, np.concatenate(release) / HOUR
        found[name] = Nights(done, freed, float(np.mean(gaps)), float(np.mean(idle)))
    return found


TIMES = np.linspace(0, 28, 281)


def _curves_over_time(profile: Mapping[str, Floats]) -> dict[str, Curve]:
    return {name: (TIMES.tolist(), values.tolist()) for name, values in profile.items()}


def figure_3(quick: bool) -> Outcome:
    """Show when jobs complete under six dispatchers."""
    done = {name: run.completion for name, run in _dispatch_all(quick).items()}
    profile = {n: np.array([np.mean(ends <= t) for t in TIMES]) for n, ends in done.items()}
    medians = {name: float(np.median(ends)) for name, ends in done.items()}
    makespan = {name: float(ends.max()) for name, ends in done.items()}
    behind = TIMES[(TIMES <= NIGHT) & (profile["lcpf"] < profile["cpa"] - 1e-12)]
    until = float(behind.min()) if len(behind) else NIGHT
    others = np.max([profile[n] for n in SIX if n not in ("lcpf", "cpa")], axis=0)
    ahead = TIMES[(profile["lcpf"] < others - 1e-12)]
    overtakes = float(ahead.max()) if len(ahead) else 0.0
    short, long = ("lcpf", "cpa"), ("priority", "stcpu")
    order = [float(np.mean(done[n] <= 10.0)) for n in ("stcpu", "priority", "lcpf", "cpa")]
    deficit = float(np.max((profile["cpa"] - profile["lcpf"])[TIMES <= NIGHT]))
    answers: Answers = {
        "stcpu-first": (f"{medians['stcpu']:.1f} h", medians["stcpu"] == min(medians.values())),
        "cpa-late": (f"{done['cpa'].min():.1f} h", done["cpa"].min() > 8),
        "at-ten": (
            ", ".join(f"{part:.1%}" for part in order),
            order == sorted(order, reverse=True),
        ),
        "lcpf-overtakes": (f"{overtakes:.1f} h", NIGHT - 0.5 <= overtakes <= NIGHT + 2.5),
        "makespans": (
            "; ".join(
                " and ".join(f"{makespan[n]:.1f}" for n in pair) + " h" for pair in (short, long)
            ),
            max(makespan[n] for n in short) < min(makespan[n] for n in long) - 2,
        ),
        "lcpf-dominates": (
            f"ahead at every time until {until:.1f} h, then behind by up to {max(0, deficit):.1%}",
            until >= NIGHT - 1,
        ),
    }
    return Outcome(answers, _curves_over_time(profile), "time, hours", "jobs complete")


def figure_4(quick: bool) -> Outcome:
    """Show when processors are released, and how long they are idle."""
    played = _dispatch_all(quick)
    busy = {n: np.array([np.mean(run.release > t) for t in TIMES]) for n, run in played.items()}
    lcpf, stcpu = (float(np.mean(played[n].release > NIGHT + 1)) for n in ("lcpf", "stcpu"))
    spread = {n: float(np.subtract(*np.percentile(r.release, [95, 5]))) for n, r in played.items()}
    tidy = max(spread["lcpf"], spread["cpa"])
    ragged = min(spread[n] for n in SIX if n not in ("lcpf", "cpa"))
    gaps = played["lcpf"].gaps, played["stcpu"].gaps
    idle = [played[n].idle for n in ("stcpu", "priority", "lcpf")]
    answers: Answers = {
        "an-hour-later": (f"{lcpf:.1%} and {stcpu:.1%}", lcpf < 0.1 and stcpu > 2 * lcpf),
        "tidy": (
            f"5% to 95% within {tidy:.1f} h against {ragged:.1f} h and more",
            tidy < ragged,
        ),
        "gaps": (f"{gaps[0]:.1%} and {gaps[1]:.1%}", gaps[0] < gaps[1] / 2),
        "idle": (", ".join(f"{part:.1%}" for part in idle), idle[0] > idle[1] > idle[2]),
    }
    return Outcome(answers, _curves_over_time(busy), "time, hours", "processors in use")


def figure_5(quick: bool) -> Outcome:
    """Show what part of the reward is earned as the longest critical path grows."""
    step, subsets = (1.625, 8) if quick else (0.25, 30)
    bounds = np.arange(1.0, 7.5 + 1e-9, step)
    season = GENERATORS["render-night"](seed=2, nights=112)
    pool = msgspec.structs.replace(season, processors=PROCESSORS)
    draw = np.random.Generator(np.random.PCG64(5))
    means: Earned = {name: [] for name in SIX}
    for bound in bounds:
        short = np.flatnonzero(pool.critical_paths <= bound * HOUR)
        parts: Earned = {name: [] for name in SIX}
        for _ in range(subsets):
            order = draw.permutation(short)
            total = np.cumsum(pool.demands[order])
            jobs = np.sort(order[: np.searchsorted(total, PROCESSORS * DEADLINE, side="right")])
            for name in SIX:
                parts[name].append(reward_in_time(pool, name, jobs) / pool.rewards[jobs].sum())
        for name in SIX:
            means[name].append(float(np.mean(parts[name])))
    gain = {n: values[0] - values[-1] for n, values in means.items()}
    rest = [n for n in SIX if n not in ("cpa", "lcpf")]
    cpa, lcpf = np.mean(means["cpa"]), np.mean(means["lcpf"])
    others = [np.mean(means[n]) for n in rest]
    answers: Answers = {
        "gains": (
            ", ".join(f"{n} {gain[n]:.0%}" for n in rest),
            all(gain[n] > 0.02 for n in rest),
        ),
        "cpa": (
            f"CPA {cpa:.0%}, the others {min(others):.0%} and more",
            bool(cpa < 0.9 * min(others)),
        ),
        "lcpf": (f"LCPF {lcpf:.0%}", bool(lcpf < max(others))),
    }
    curves = {name: (bounds.tolist(), values) for name, values in means.items()}
    return Outcome(answers, curves, "longest critical path, hours", "part of the reward earned")


@cache
def _sweep_budgets(reward: str, guessed: bool, quick: bool) -> Earned:
    """Return the mean reward of each dispatcher at each budget, on the busiest nights of a season.

    The optimum is selected. Under size-dependent rewards all jobs have the same ratio, and a great
    many selections are as good as optimal; which of them is taken matters to the dispatchers. There
    greedy decides, in the order of the file, as a rule that anyone can follow.
    """
    busiest = sorted(render_season(1), key=lambda night: -night.demands.sum())
    nights = [with_rewards(night, reward) for night in busiest[: 4 if quick else 10]]
    planned = [with_predictions(n, seed) if guessed else n for seed, n in enumerate(nights)]
    selector = "greedy" if reward == "size" else "core"
    found: Earned = {name: [] for name in FOUR}
    for hours in _budgets(quick):
        jobs = [selected_jobs(night, selector, hours / NIGHT) for night in planned]
        for name in FOUR:
            totals = [reward_in_time(n, name, some) for n, some in zip(planned, jobs, strict=True)]
            found[name].append(float(np.mean(totals)))
    return found


def _budgets(quick: bool) -> list[float]:
    """Return the time budgets r·D in hours that are swept."""
    return np.arange(9.0, 16.01, 1.0 if quick else 0.5).tolist()


class Budgets(NamedTuple):
    """Each dispatcher's best reward, the r of LCPF's, and what a budget of 15 hours loses each."""

    best: dict[str, float]
    r: float
    lost: dict[str, float]


def _best_budgets(swept: Earned, quick: bool) -> Budgets:
    best = {name: max(values) for name, values in swept.items()}
    r = _budgets(quick)[int(np.argmax(swept["lcpf"]))] / NIGHT
    wide = _budgets(quick).index(15.0)
    return Budgets(best, r, {name: 1 - values[wide] / best[name] for name, values in swept.items()})


def _relative_to_lcpf(best: Mapping[str, float], names: tuple[str, ...]) -> str:
    return ", ".join(f"{name} {best[name] / best['lcpf']:.1%}" for name in names)


def _two_phases(reward: str, quick: bool) -> Outcome:
    """Select optimally, dispatch, and sweep r."""
    swept = _sweep_budgets(reward, False, quick)
    best, r, lost = _best_budgets(swept, quick)
    practice = swept["priority"][_budgets(quick).index(15.0)]  # as good as without selection
    return _by_budget(
        {
            "lcpf-most": (
                _relative_to_lcpf(best, FOUR),
                best["lcpf"] >= 0.999 * max(best.values()),
            ),
            "lcpf-practice": (f"{best['lcpf'] / practice - 1:.0%}", best["lcpf"] > practice),
            "r": (f"{r:.2f}", 0.8 <= r <= 1.0),
            "cpa-comparable": (
                f"{best['cpa'] / best['lcpf']:.1%} of it",
                best["cpa"] > 0.93 * best["lcpf"],
            ),
            "badly-tuned": (
                f"{lost['cpa']:.0%} and {lost['lcpf']:.0%}",
                lost["cpa"] > lost["lcpf"],
            ),
            "insensitive": (
                f"{lost['stcpu']:.0%} and {lost['priority']:.0%}",
                max(lost["stcpu"], lost["priority"]) < lost["lcpf"],
            ),
        },
        swept,
        quick,
    )


def _by_budget(answers: Answers, curves: Earned, quick: bool) -> Outcome:
    shown = {name: (_budgets(quick), values) for name, values in curves.items()}
    return Outcome(answers, shown, "time budget r·D, hours", "mean reward")


def _predicted(reward: str, quick: bool) -> Outcome:
    """Plan with predictions, run on what happens."""
    exact, guessed = _sweep_budgets(reward, False, quick), _sweep_budgets(reward, True, quick)
    best, _, lost = _best_budgets(exact, quick)
    guess, r, _ = _best_budgets(guessed, quick)
    answers: Answers = {
        "badly-tuned": (
            f"at 15 h {lost['lcpf']:.0%} against {lost['cpa']:.0%}",
            lost["lcpf"] < lost["cpa"],
        ),
        "exact": (
            _relative_to_lcpf(best, FOUR[:2]),
            best["lcpf"] >= max(best["priority"], best["stcpu"]),
        ),
        "predicted": (
            f"{_relative_to_lcpf(guess, FOUR[:2])} at r = {r:.2f}",
            guess["lcpf"] >= max(guess["priority"], guess["stcpu"]),
        ),
    }
    if reward == "size":
        lcpf, stcpu, priority = (np.array(guessed[n]) for n in ("lcpf", "stcpu", "priority"))
        ahead = (lcpf >= stcpu) & (lcpf >= priority)
        answers["every-r"] = f"at {ahead.sum()} of {len(ahead)}", bool(ahead.all())
        lead = guess["lcpf"] / guess["priority"] - 1
        answers["best"] = f"{lead:.0%}", guess["lcpf"] > guess["priority"]
    curves = {f"{n}, actual": c for n, c in exact.items()}
    curves |= {f"{n}, predicted": c for n, c in guessed.items() if n != "cpa"}
    return _by_budget(answers, curves, quick)


figure_6 = partial(_two_phases, "banded")
figure_7 = partial(_two_phases, "size")
figure_8 = partial(_predicted, "banded")
figure_9 = partial(_predicted, "linear")
figure_10 = partial(_predicted, "size")


def section_5_2(quick: bool) -> Answers:
    """Compare selectors alone, on nights that ask for 10% more than there is."""
    nights = busy_nights(14_300, 6 if quick else 18)
    answers: Answers = {}
    for reward, most in (("linear", 0.0025), ("banded", 0.0025), ("size", 0.03)):
        worst = max(_lead_of_optimum(with_rewards(night, reward), reward) for night in nights)
        answers[reward] = f"{worst:.2%}", worst <= most
    return answers


def _lead_of_optimum(night: Instance, reward: str) -> float:
    """Return the optimum's lead over greedy, relative to greedy's reward, or a bound on it.

    For size-dependent rewards the capacity bounds the optimum.
    """
    policies = registered("dssp")
    greedy = night.objective_of(policies["greedy"].run(night))
    if reward == "size":
        return min(night.capacity(), float(night.rewards[night.in_time].sum())) / greedy - 1
    return night.objective_of(policies["core"].run(night)) / greedy - 1
