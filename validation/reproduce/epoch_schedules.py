"""The epoch paper's examples, drawings, and theorems: schedules of single instances."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise
from typing import Literal

import numpy as np

from schedopt.instances.epoch import Instance, Rectangle
from schedopt.instances.epoch.generators import (
    GENERATORS,
    drawn_binomial,
    drawn_uniform,
    mean_minimum,
    named,
)
from schedopt.policies.epoch.kernels import OPT, overheads
from schedopt.policies.registry import NotApplicableError, registered
from schedopt.solvers.result import Limits
from schedopt.validation.reproduce.ledger import Answers

Widths = Literal["any", "powers-of-two"]


def instance_of(minima: Sequence[int], nodes: int, inequity: int = 0) -> Instance:
    """Return an instance of these minima."""
    return Instance(name="example", nodes=nodes, inequity=inequity, jobs=named(minima))


def policy_overhead(name: str, instance: Instance) -> float:
    """Return the overhead that a policy gets."""
    return instance.objective_of(registered("epoch")[name].run(instance))


def optimum(instance: Instance, *, widths: Widths | None = None) -> float:
    """Return the least overhead of epochs; with ``widths``, of rectangles of such widths."""
    from schedopt.formulations.epoch import Partition, Rectangles
    from schedopt.solvers import door

    model = Partition(instance) if widths is None else Rectangles(instance, widths=widths)
    result = door.solve(model, Limits(threads=1))
    if not result.proven or result.objective is None:
        raise RuntimeError(f"{instance.name} was not solved to optimality")
    return result.objective


WIDE, LARGE_LAST = instance_of([20] * 10, 140), instance_of([4, 4, 4, 4, 8], 16)  # figures 7 and 8


def figure_1(_: bool) -> Answers:
    """Say why there is nothing to compute."""
    why = "cannot be checked: it draws the model's assumption, and claims nothing"
    return {"local": (why, None)}


def figure_2(quick: bool) -> Answers:
    """Add up areas and widths of schedules of the kind of part (b)."""
    areas, narrow = [], 0
    for seed in range(20 if quick else 200):
        for name, jobs in (("buddy", 8), ("buddy-star", 11)):
            instance = GENERATORS["uniform"](seed, nodes=32, jobs=jobs)
            pieces = registered("epoch")[name].run(instance).rectangles
            fair = instance.nodes / jobs
            for job in instance.jobs:
                piece = pieces[job.name]
                areas.append(abs(piece.nodes * (piece.end - piece.start) / fair - 1))
                narrow += piece.nodes < job.minimum
    off = max(areas)
    return {
        "area": (
            f"largest relative difference {off:.1e} in {len(areas)} pieces",
            off < 1e-9,
        ),
        "narrow": (f"{narrow} are", narrow == 0),
    }


def figure_3(_: bool) -> Answers:
    """Run BUDDY on the example."""
    instance = instance_of([1, 2, 3, 3, 3, 3, 3, 8], 16)
    first, second, *_ = registered("epoch")["buddy"].run(instance).rectangles.values()
    ours, best = policy_overhead("buddy", instance), optimum(instance, widths="powers-of-two")
    forced = (second.nodes, second.start) == (8, 0.25)
    return {
        "first": (f"{first.nodes} nodes", first.nodes == 8),
        "second": (f"{second.nodes} nodes from {second.start:g} on", forced),
        "least": (f"{ours:g}, optimum {best:g}", ours == best),
    }


def figure_4(_: bool) -> Answers:
    """Compare BUDDY with rectangles of any width."""
    instance = instance_of([3, 3, 3, 1], 4)
    ours, best = policy_overhead("buddy", instance), optimum(instance, widths="any")
    return {"less": (f"BUDDY {ours:g}, optimum {best:g}", best < ours)}


def figure_5(quick: bool) -> Answers:
    """Look at which jobs run together, and at J = 2^j."""
    digits = sorted_up = tried = equal = powers = 0
    for seed in range(3 if quick else 30):
        for jobs in range(1, 17):
            instance = GENERATORS["uniform"](seed, nodes=32, jobs=jobs)
            star = registered("epoch")["buddy-star"].run(instance).rectangles
            bounds = [0]
            for i in reversed(range(jobs.bit_length())):
                if jobs >> i & 1:
                    bounds.append(bounds[-1] + (1 << i))
            groups = [
                [
                    job.minimum
                    for job in instance.jobs
                    if a / jobs - 1e-9 <= star[job.name].start < b / jobs - 1e-9
                ]
                for a, b in pairwise(bounds)
            ]
            tried += 1
            digits += [len(g) for g in groups] == [b - a for a, b in pairwise(bounds)]
            sorted_up += all(max(a) <= min(b) for a, b in pairwise(groups))
            if jobs & (jobs - 1) == 0:
                powers += 1
                same = {policy_overhead(n, instance) for n in ("buddy", "buddy-star", "hybrid")}
                equal += len(same) == 1
    return {
        "digits": (f"{digits} of {tried}", digits == tried),
        "sorted": (f"{sorted_up} of {tried}", sorted_up == tried),
        "powers": (f"the same overhead in {equal} of {powers}", equal == powers),
    }


def figure_6(_: bool) -> Answers:
    """Schedule ten jobs by EQUI-EPOCH and look when epochs begin."""
    instance = instance_of([6] * 5 + [10] * 3 + [15] * 2, 30)
    epochs = registered("epoch")["equi-epoch"].run(instance).epochs
    sizes = [len(epoch.nodes) for epoch in epochs]
    ends = np.cumsum([epoch.duration for epoch in epochs]).tolist()
    ours = f"{', '.join(map(str, sizes))} jobs until {', '.join(f'{end:g}' for end in ends)}"
    drawn = sizes == [5, 3, 2] and np.allclose(ends, [0.5, 0.8, 1.0])
    return {"proportion": (ours, drawn)}


def figure_7(_: bool) -> Answers:
    """Count epochs."""
    equi, best = policy_overhead("equi-epoch", WIDE) / 140, optimum(WIDE) / 140
    return {"equi": (f"{equi:g}", equi == 3), "optimum": (f"{best:g}, proven", best == 2)}


def figure_8(_: bool) -> Answers:
    """Count epochs."""
    greedy, equi = (policy_overhead(n, LARGE_LAST) / 16 for n in ("heuristic-epoch", "equi-epoch"))
    best = optimum(LARGE_LAST) / 16
    return {
        "greedy": (f"{greedy:g}", greedy == 3),
        "equi": (f"{equi:g}, optimum {best:g}", equi == best == 2),
    }


def example_seven_jobs(quick: bool) -> Answers:
    """Solve for both inequities."""
    sizes = (8, 16, 32) if quick else (8, 16, 32, 64, 128)
    equal, nearly = (min(optimum(instance_of([1] * 7, n, k)) / n for n in sizes) for k in (0, 1))
    return {
        "equal": (f"{equal:g} at least, proven", equal == 3),
        "nearly": (f"{nearly:g}, proven", nearly == 1),
    }


def frontier_segments(pieces: Sequence[Rectangle], nodes: int) -> list[tuple[range, Fraction]]:
    """Return the line segments below which pieces fill the quantum."""
    height = [Fraction(0)] * nodes
    for piece in pieces:
        left = piece.first or 0
        height[left : left + piece.nodes] = [Fraction(piece.end)] * piece.nodes
    cuts = [0, *(i + 1 for i, (a, b) in enumerate(pairwise(height)) if a != b), nodes]
    return [(range(a, b), height[a]) for a, b in pairwise(cuts)]


def lemma_1(quick: bool) -> Answers:
    """Look for pieces above each segment of each frontier; powers of two are exact as floats."""
    segments = broken = 0
    for seed in range(20 if quick else 200):
        instance = GENERATORS["uniform"](seed, nodes=32, jobs=16, load=2.0)
        pieces = list(registered("epoch")["buddy"].run(instance).rectangles.values())
        for done in range(len(pieces)):
            for nodes, height in frontier_segments(pieces[:done], 32):
                if height == 1:
                    continue
                above = [
                    piece.end - piece.start
                    for piece in pieces[done:]
                    if piece.first < nodes.stop and piece.first + piece.nodes > nodes.start
                ]
                segments += 1
                broken += min(above) > Fraction(1, height.denominator)
    return {"piece": (f"{broken} of {segments} segments without one", broken == 0)}


def all_classes(nodes: int, jobs: Sequence[int]) -> Iterator[Instance]:
    """Yield every class of minima, each raised to a power of two, as N is."""
    for n in range(nodes.bit_length()):
        for j in jobs:
            for minima in combinations_with_replacement([1 << i for i in range(n + 1)], j):
                yield instance_of(minima, 1 << n)


def theorem_1(quick: bool) -> Answers:
    """Compare BUDDY with the exact optimum on every class."""
    tried = list(all_classes(8, (1, 2, 4)) if quick else all_classes(16, (1, 2, 4, 8)))
    worse = sum(policy_overhead("buddy", i) != optimum(i, widths="powers-of-two") for i in tried)
    return {"least": (f"{worse} of {len(tried)} classes differ", worse == 0)}


def theorem_2(quick: bool) -> Answers:
    """Compare EQUI-EPOCH with OPT-EPOCH(0)."""
    tried = list(all_classes(4, range(1, 6)) if quick else all_classes(16, range(1, 8)))
    draw = np.random.Generator(np.random.PCG64(1))
    for _ in range(60 if quick else 600):
        nodes = 1 << int(draw.integers(3, 9))
        minima = draw.integers(1, nodes, int(draw.integers(8, 25)), endpoint=True)
        tried.append(instance_of(minima.tolist(), nodes))
    worse = sum(policy_overhead("equi-epoch", i) != optimum(i) for i in tried)
    equi, best = policy_overhead("equi-epoch", WIDE), optimum(WIDE)
    return {
        "fewest": (f"{worse} of {len(tried)} instances differ", worse == 0),
        "other": (f"N = 140: {equi / 140:g} against {best / 140:g}", equi > best),
    }


def section_4_2(quick: bool) -> Answers:
    """Count assignments that hold the largest job that is left."""
    trials = 1_000 if quick else 10_000
    grid = [
        (nodes, jobs, load, drawn)
        for drawn in (drawn_uniform, drawn_binomial)
        for nodes in (64, 128, 200, 256)
        for jobs in (4, 7, 8, 12, 16, 24, 32)
        for load in (1.0, 2.0)
        if 2 * load * nodes / jobs - 1 <= nodes
    ]
    ratios = []
    for i, (nodes, jobs, load, drawn) in enumerate(grid):
        draw = np.random.Generator(np.random.PCG64(i))
        minima = drawn(draw, nodes, (trials, jobs), mean_minimum(nodes, jobs, load))
        _, tested, epochs = overheads(OPT, -np.sort(-minima, axis=1), nodes, 1)
        ratios.append(float(tested.sum() / epochs.sum()))
    mean, worst = float(np.mean(ratios)), max(ratios)
    return {
        "mean": (f"{mean:.2f}", abs(mean - 1.08) <= 0.04),
        "worst": (f"{worst:.2f} of {len(grid)} experiments", None if worst < 2.98 else True),
    }


def opt_epoch(quick: bool) -> Answers:
    """Compare four methods with each other, and with what was planted."""
    draw = np.random.Generator(np.random.PCG64(1))
    differ = planted_differ = left_out = 0
    trials = 60 if quick else 2_000
    for _ in range(trials):
        nodes = int(draw.integers(1, 25))
        most = draw.integers(1, nodes, endpoint=True)
        minima = draw.integers(1, most, draw.integers(1, 9), endpoint=True)
        found, missing = _optima_by_method(
            instance_of(minima.tolist(), nodes, int(draw.integers(0, 7)))
        )
        differ += len(found) > 1
        left_out += missing
    planted = [
        GENERATORS["planted"](seed, nodes=16, epochs=epochs, inequity=k, most=8)
        for epochs in ((3,) if quick else (3, 6, 9))
        for k in range(7)
        for seed in range(1 if quick else 3)
    ]
    for instance in planted:
        found, missing = _optima_by_method(instance)
        planted_differ += found != {float(instance.minima.sum())}
        left_out += missing
    largest = max(len(instance.jobs) for instance in planted)
    told = (
        f"{planted_differ} of {len(planted)} differ, up to {largest} jobs; "
        f"{left_out} times a method gave up"
    )
    return {
        "random": (f"{differ} of {trials} differ", differ == 0),
        "planted": (told, planted_differ == 0),
    }


def _optima_by_method(instance: Instance) -> tuple[set[float], int]:
    """Return the optima that the methods find, and how many find none in their time."""
    from schedopt.formulations.epoch import Partition
    from schedopt.solvers import door

    found, missing = set(), 0
    for name in ("epochs", "cp-sat", "model"):
        result = door.solve(Partition(instance), Limits(threads=1, time_limit=2.0), solver=name)
        if result.proven and result.objective is not None:
            found.add(result.objective)
        else:
            missing += 1
    try:
        found.add(policy_overhead("paper-search", instance))
    except NotApplicableError:
        missing += 1
    return found, missing
