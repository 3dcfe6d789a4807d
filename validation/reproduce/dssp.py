"""Claims of the dssp paper: theorems solved exactly, and figures on render nights."""

from collections.abc import Iterator, Mapping
from functools import cache, partial
from itertools import combinations, count, islice
from typing import Any

import msgspec
import numpy as np

from schedopt.formulations.dssp import Schedule
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.dssp.generators import DEADLINE, GENERATORS, PROCESSORS, render_season
from schedopt.instances.dssp.jobs import REWARDS
from schedopt.instances.dssp.planned import Floats, Ints
from schedopt.policies.dssp import dispatchers
from schedopt.policies.registry import registered
from schedopt.validation.reproduce.ledger import Values, proven_optimum, runner_over

DISPATCHERS = ("lcpf", "stcpu", "first", "cpa")


def optimal_reward(night: Instance) -> float:
    """Return the proven optimal reward of a schedule."""
    return float(proven_optimum(Schedule(night), "model").objective)


def reductions(generator: str, few: int, many: int, **options: int) -> Any:
    """Return a function that yields instances of a reduction, half of them with a solution."""

    def cases(quick: bool) -> Iterator[tuple[Instance]]:
        for seed in range(few if quick else many):
            yield (GENERATORS[generator](seed, planted=seed % 2 == 0, **options),)

    return cases


@runner_over(reductions("partition", 20, 200, numbers=7, largest=30))
def theorem_1(night: Instance) -> Values:
    numbers = [length for stage in night.jobs[0].stages or () for length in stage]
    halves = (c for size in range(len(numbers) + 1) for c in combinations(numbers, size))
    halved = any(2 * sum(part) == sum(numbers) for part in halves)
    return {"earned": optimal_reward(night) > 0, "possible": halved}


@runner_over(reductions("matching", 8, 40, size=3, triples=6))
def theorem_2(night: Instance) -> Values:
    triples = [tuple(map(int, job.name.split("-")[2:])) for job in night.jobs]
    perfect = any(
        all(len(set(column)) == 3 for column in zip(*some, strict=True))
        for some in combinations(triples, 3)
    )
    return {"earned": optimal_reward(night) >= 3, "possible": perfect}


def unit_rewards(quick: bool) -> Iterator[tuple[Instance]]:
    """Yield nights of a few jobs with unit rewards, most of which cannot complete all jobs."""
    for seed in range(60 if quick else 1_000):
        draw = np.random.Generator(np.random.PCG64(seed))
        jobs = tuple(
            Job(
                name=f"j{i}",
                reward=1.0,
                stages=tuple(
                    tuple(draw.integers(1, 6, draw.integers(1, 4)).astype(float).tolist())
                    for _ in range(draw.integers(1, 4))
                ),
            )
            for i in range(draw.integers(3, 9))
        )
        longest = max(sum(map(max, job.stages or ())) for job in jobs)
        processors, deadline = int(draw.integers(2, 5)), float(longest + draw.integers(0, 8))
        name = f"unit-{seed}"
        yield (Instance(name=name, processors=processors, deadline=deadline, jobs=jobs),)


def ratio_and_optimum(night: Instance) -> tuple[float, float]:
    """Return T/D and OPT."""
    return float(night.critical_paths.max() / night.deadline), optimal_reward(night)


@runner_over(unit_rewards)
def theorem_3(night: Instance) -> Values:
    maxk = registered("dssp")["maxk"]
    ratio, best = ratio_and_optimum(night)
    part = 1 - ratio * (1 - 1 / night.processors)
    least = max(part * best - 1, best - (night.processors - 1))
    gains = [night.objective_of(maxk.run(night, dispatcher=d)) - least for d in DISPATCHERS]
    return {"gain": gains}


@runner_over(unit_rewards)
def theorem_4(night: Instance) -> Values:
    policies, (ratio, best) = registered("dssp"), ratio_and_optimum(night)
    proven = (1 - ratio * (1 - 1 / night.processors)) * best
    printed = (1 - ratio) * (1 - 1 / night.processors) * best
    chosen = policies["greedy"].run(night, fill="guaranteed")
    gotten = [night.objective_of(policies[d].run(night, after=chosen)) for d in DISPATCHERS]
    return {
        "late": [got < len(chosen.selected) for got in gotten],
        "printed": [got - (printed - 1) for got in gotten],
        "proven": [got - (proven - 1) for got in gotten],
    }


def run_time_alone(night: Instance, job: Job, processors: int) -> float:
    """Return the completion time of a job that runs alone."""
    single = msgspec.structs.replace(night, jobs=(job,), processors=processors)
    simulated = dispatchers.simulate_dispatcher(single, "first", np.array([0]))
    return float(simulated.completion[0])


def jobs_of_nights(quick: bool) -> Iterator[tuple[Instance, Job]]:
    """Yield the jobs of render nights."""
    for night in map(GENERATORS["render-night"], range(3 if quick else 30)):
        yield from ((night, job) for job in night.jobs)


@runner_over(jobs_of_nights)
def figure_1(night: Instance, job: Job) -> Values:
    tasks = sum(map(len, job.stages or ()))
    return {
        "demand": abs(run_time_alone(night, job, 1) / job.planned_demand - 1),
        "path": abs(run_time_alone(night, job, tasks) / job.planned_critical_path - 1),
    }


def figure_2(_: bool) -> Values:
    jobs = tuple(Job(name=name, reward=1, stages=((5, 5), (5, 5))) for name in ("a", "b"))
    night = Instance(name="figure-2", processors=2, deadline=10, jobs=jobs)
    alone = min(run_time_alone(night, job, 2) for job in jobs)
    return {"alone": alone, "best": optimal_reward(night)}


# --- Figures 3 to 10 and section 5.2: selectors and dispatchers on render nights -----------------

HOUR = 3600.0
NIGHT = DEADLINE / HOUR
SIX = ("random", "first", "priority", "stcpu", "lcpf", "cpa")
FOUR = ("priority", "stcpu", "lcpf", "cpa")
OTHERS = tuple(name for name in SIX if name not in ("lcpf", "cpa"))
TIMES = np.linspace(0, 28, 281)
Earned = dict[str, list[float]]


def busy_nights(hours: float, wanted: int) -> list[Instance]:
    """Return ``wanted`` nights with a demand of at least ``hours`` CPU-hours."""
    every = (night for seed in count(1) for night in render_season(seed))
    return list(islice((n for n in every if n.demands.sum() >= hours * HOUR), wanted))


def with_rewards(night: Instance, reward: str) -> Instance:
    """Return a night with another reward function of section 5.1, applied to actual demands."""
    jobs = tuple(
        msgspec.structs.replace(job, reward=REWARDS[reward](job.priority or 0.0, demand))
        for job, demand in zip(night.jobs, night.tasks.demands.tolist(), strict=True)
    )
    return msgspec.structs.replace(night, jobs=jobs)


def with_predictions(night: Instance, seed: int, sigma: float = 0.3) -> Instance:
    """Return a night whose predicted T_1 and T_∞ have independent lognormal errors.

    ``sigma`` is the standard deviation of the logarithm of an error.
    """
    draw = np.random.Generator(np.random.PCG64(seed))
    errors = np.exp(sigma * draw.standard_normal((len(night.jobs), 2)))
    guesses = (np.stack([night.demands, night.critical_paths], axis=1) * errors).tolist()
    jobs = tuple(
        msgspec.structs.replace(job, demand=demand, critical_path=path)
        for job, (demand, path) in zip(night.jobs, guesses, strict=True)
    )
    return msgspec.structs.replace(night, jobs=jobs)


def selected_jobs(night: Instance, selector: str, fill: float) -> Ints:
    """Return the positions of the jobs that a selector chooses."""
    selected = registered("dssp")[selector].run(night, fill=fill).selected
    return dispatchers.positions(night, selected)


def reward_in_time(night: Instance, dispatcher: str, jobs: Ints) -> float:
    """Return the reward of the jobs that a dispatcher completes by the deadline."""
    completion = dispatchers.simulate_dispatcher(night, dispatcher, jobs, 0).completion[jobs]
    return float(night.rewards[jobs][completion <= night.deadline].sum())


@cache
def dispatch_nights(quick: bool) -> dict[str, tuple[Floats, Floats, float, float]]:
    """Return statistics of six dispatchers on nights with a demand of at least 13,000 CPU-hours.

    Jobs are selected greedily with r = 1. Each dispatcher has the completion times of jobs; the
    release times of processors, in hours (0 if unused); the mean idle fraction until each
    processor's release, and until the deadline.
    """
    dispatched = {}
    for name in SIX:
        done, release, gaps, idle = [], [], [], []
        for night in busy_nights(13_000, 8 if quick else 32):
            jobs = selected_jobs(night, "greedy", 1.0)
            run = dispatchers.simulate_dispatcher(night, name, jobs)
            on = run.processors(night)
            starts, lengths = run.starts[list(on)], night.tasks.lengths[list(on)]
            last = np.zeros(night.processors)
            np.maximum.at(last, [place for place, *_ in on.values()], starts + lengths)
            early = np.minimum(starts + lengths, DEADLINE) - np.minimum(starts, DEADLINE)
            done.append(run.completion[jobs] / HOUR)
            release.append(last / HOUR)
            gaps.append(1 - lengths.sum() / last.sum())
            idle.append(1 - early.sum() / (PROCESSORS * DEADLINE))
        both = np.concatenate(done), np.concatenate(release)
        dispatched[name] = *both, float(np.mean(gaps)), float(np.mean(idle))
    return dispatched


def over_time(values: Mapping[str, Floats]) -> dict[str, Any]:
    """Return curves over the hours of the night."""
    return {name: (TIMES.tolist(), of.tolist()) for name, of in values.items()}


def figure_3(quick: bool) -> Values:
    done = {name: ends for name, (ends, *_) in dispatch_nights(quick).items()}
    profile = {n: np.array([np.mean(ends <= t) for t in TIMES]) for n, ends in done.items()}
    by_deadline = TIMES <= NIGHT
    behind = by_deadline & (profile["lcpf"] < profile["cpa"] - 1e-12)
    others = np.max([profile[n] for n in OTHERS], axis=0)
    return {
        "deadline": NIGHT,
        "median": {name: float(np.median(ends)) for name, ends in done.items()},
        "first_cpa": done["cpa"].min(),
        "at_ten": {name: float(np.mean(ends <= 10.0)) for name, ends in done.items()},
        "overtakes": max(TIMES[profile["lcpf"] < others - 1e-12], default=0.0),
        "makespan": {name: float(ends.max()) for name, ends in done.items()},
        "until": min(TIMES[behind], default=NIGHT),
        "deficit": float(np.max((profile["cpa"] - profile["lcpf"])[by_deadline])),
        "curves": over_time(profile),
    }


def figure_4(quick: bool) -> Values:
    dispatched = dispatch_nights(quick)
    release = {name: of for name, (_, of, _, _) in dispatched.items()}
    spread = {n: float(np.subtract(*np.percentile(of, [95, 5]))) for n, of in release.items()}
    busy = {n: np.array([np.mean(of > t) for t in TIMES]) for n, of in release.items()}
    return {
        "later": {name: float(np.mean(of > NIGHT + 1)) for name, of in release.items()},
        "tidy": max(spread["lcpf"], spread["cpa"]),
        "ragged": min(spread[name] for name in OTHERS),
        "gaps": {name: of for name, (_, _, of, _) in dispatched.items()},
        "idle": {name: of for name, (_, _, _, of) in dispatched.items()},
        "curves": over_time(busy),
    }


def figure_5(quick: bool) -> Values:
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
    mean = {name: float(np.mean(of)) for name, of in means.items()}
    return {
        "gain": {name: means[name][0] - means[name][-1] for name in OTHERS},
        "mean": mean,
        "others": [mean[name] for name in OTHERS],
        "curves": {name: (bounds.tolist(), values) for name, values in means.items()},
    }


def budgets(quick: bool) -> list[float]:
    """Return the time budgets r·D in hours."""
    return np.arange(9.0, 16.01, 1.0 if quick else 0.5).tolist()


@cache
def sweep_budgets(reward: str, guessed: bool, quick: bool) -> Earned:
    """Return the mean reward of each dispatcher at each budget, on the busiest nights of a season.

    The selection is optimal. Under size-dependent rewards all jobs have the same ratio, so many
    selections are optimal, and the results depend on the choice. In this case the selection is
    greedy in file order.
    """
    busiest = sorted(render_season(1), key=lambda night: -night.demands.sum())
    nights = [with_rewards(night, reward) for night in busiest[: 4 if quick else 10]]
    planned = [with_predictions(n, seed) if guessed else n for seed, n in enumerate(nights)]
    selector = "greedy" if reward == "size" else "core"
    earned: Earned = {name: [] for name in FOUR}
    for hours in budgets(quick):
        jobs = [selected_jobs(night, selector, hours / NIGHT) for night in planned]
        for name in FOUR:
            totals = [reward_in_time(n, name, some) for n, some in zip(planned, jobs, strict=True)]
            earned[name].append(float(np.mean(totals)))
    return earned


def at_best(swept: Earned, quick: bool) -> tuple[dict[str, float], float, dict[str, float]]:
    """Return best rewards, the r of LCPF's best, and the fraction that each loses at 15 hours."""
    best = {name: max(values) for name, values in swept.items()}
    r = budgets(quick)[int(np.argmax(swept["lcpf"]))] / NIGHT
    wide = budgets(quick).index(15.0)
    return best, r, {name: 1 - values[wide] / best[name] for name, values in swept.items()}


def by_budget(swept: Earned, quick: bool) -> dict[str, Any]:
    """Return curves over the time budget."""
    return {name: (budgets(quick), values) for name, values in swept.items()}


def two_phases(reward: str, quick: bool) -> Values:
    """Measure optimal selection followed by dispatching, for all budgets."""
    swept = sweep_budgets(reward, False, quick)
    best, r, lost = at_best(swept, quick)
    practice = swept["priority"][budgets(quick).index(15.0)]  # as good as without selection
    curves = by_budget(swept, quick)
    return {"best": best, "r": r, "lost": lost, "practice": practice, "curves": curves}


def run_predictions(reward: str, quick: bool) -> Values:
    """Measure plans from predictions that are carried out with actual run times."""
    exact, guessed = sweep_budgets(reward, False, quick), sweep_budgets(reward, True, quick)
    best, _, lost = at_best(exact, quick)
    predicted, r, _ = at_best(guessed, quick)
    others = np.maximum(guessed["priority"], guessed["stcpu"])
    curves = {f"{n}, actual": c for n, c in exact.items()}
    curves |= {f"{n}, predicted": c for n, c in guessed.items() if n != "cpa"}
    return {
        "best": best,
        "lost": lost,
        "predicted": predicted,
        "r": r,
        "ahead": list(np.array(guessed["lcpf"]) >= others),
        "curves": by_budget(curves, quick),
    }


figure_6, figure_7 = partial(two_phases, "banded"), partial(two_phases, "size")
figure_8, figure_9, figure_10 = (
    partial(run_predictions, of) for of in ("banded", "linear", "size")
)


def section_5_2(quick: bool) -> Values:
    nights = busy_nights(14_300, 6 if quick else 18)
    return {
        reward: max(lead_of_optimum(with_rewards(night, reward), reward) for night in nights)
        for reward in ("linear", "banded", "size")
    }


def lead_of_optimum(night: Instance, reward: str) -> float:
    """Return by which fraction the optimum exceeds the greedy reward, or an upper bound.

    Under size-dependent rewards the capacity is the bound.
    """
    greedy, core = (registered("dssp")[name] for name in ("greedy", "core"))
    if reward == "size":
        best = min(night.capacity(), float(night.rewards[night.in_time].sum()))
    else:
        best = night.objective_of(core.run(night))
    return best / night.objective_of(greedy.run(night)) - 1
