"""Small epoch instances, and the 1994 paper's rules by their definitions."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, groupby, product

from hypothesis import strategies as st

from schedopt.instances.constraints import Apart, Constraint, Together
from schedopt.instances.epoch import Instance
from schedopt.instances.epoch.generators import numbered_jobs


def packing(
    minima: Sequence[int], nodes: int, inequity: int, constraints: Sequence[Constraint] = ()
) -> Instance:
    """Build an instance of jobs j1, j2, ..."""
    jobs = numbered_jobs(minima)
    return Instance(
        name="small", nodes=nodes, inequity=inequity, jobs=jobs, constraints=tuple(constraints)
    )


def shares(minima: Sequence[int], nodes: int, inequity: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to share all nodes among jobs, by the definition alone."""

    def rest(i: int, left: int, given: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if i == len(minima):
            if left == 0 and max(given) - min(given) <= inequity:
                yield given
            return
        for a in range(max(1, minima[i]), left + 1):
            if not given or max(*given, a) - min(*given, a) <= inequity:
                yield from rest(i + 1, left - a, (*given, a))

    yield from rest(0, nodes, ())


def fewest(instance: Instance) -> int | None:
    """Return the fewest epochs by trying every partition; None where constraints allow none."""
    minima, nodes, k = instance.minima.tolist(), instance.nodes, instance.inequity
    able: dict[tuple[int, ...], bool] = {}

    def fine(members: tuple[int, ...]) -> bool:
        key = tuple(sorted(minima[j] for j in members))
        if key not in able:
            able[key] = next(shares(key, nodes, k), None) is not None
        return able[key] and all(kept(rule, members) for rule in instance.constraints)

    def kept(rule: Constraint, members: tuple[int, ...]) -> bool:
        inside = sum(instance.index[name] in members for name in set(rule.jobs))
        whole = len(set(rule.jobs))
        return inside in (0, whole) if isinstance(rule, Together) else inside <= 1

    best: dict[tuple[int, ...], float] = {(): 0}

    def solve(left: tuple[int, ...]) -> float:
        if left not in best:
            first, others = left[0], left[1:]
            best[left] = min(
                (
                    1 + solve(tuple(j for j in others if j not in some))
                    for size in range(len(others) + 1)
                    for some in combinations(others, size)
                    if fine((first, *some))
                ),
                default=float("inf"),
            )
        return best[left]

    found = solve(tuple(range(len(minima))))
    return None if found == float("inf") else int(found)


def least_rectangles(instance: Instance, allowed: Sequence[int]) -> int | None:
    """Return the least overhead of rectangles: every allowed width for every job is tried."""
    nodes, jobs = instance.nodes, len(instance.jobs)
    able = [[w for w in allowed if w >= m] for m in instance.minima.tolist()]
    for widths in sorted(product(*able), key=sum):
        heights = [Fraction(nodes, jobs * w) for w in widths]
        if sum(w * h for w, h in zip(widths, heights, strict=True)) == nodes and any(
            keeps(instance, starts, heights) for starts in packings(nodes, widths, heights)
        ):
            return sum(widths)
    return None


def packings(
    nodes: int, widths: tuple[int, ...], heights: list[Fraction]
) -> Iterator[dict[int, Fraction]]:
    """Yield the starts of every packing that leaves no node idle, jobs told apart."""

    def fill(starts: dict[int, Fraction]) -> Iterator[dict[int, Fraction]]:
        ends = {j: start + heights[j] for j, start in starts.items()}
        for now in sorted({Fraction(0), *ends.values()}):
            running = [j for j, start in starts.items() if start <= now < ends[j]]
            free = nodes - sum(widths[j] for j in running)
            if free == 0:
                continue
            if now >= 1:
                if len(starts) == len(widths) and max(ends.values()) == 1:
                    yield starts
                return
            for j in range(len(widths)):
                if j not in starts and widths[j] <= free and now + heights[j] <= 1:
                    yield from fill({**starts, j: now})
            return

    yield from fill({})


def keeps(instance: Instance, starts: dict[int, Fraction], heights: list[Fraction]) -> bool:
    for rule in instance.constraints:
        runs = [(starts[j], starts[j] + heights[j]) for j in {instance.index[n] for n in rule.jobs}]
        if isinstance(rule, Together) and len(set(runs)) > 1:
            return False
        met = [a < d and c < b for i, (a, b) in enumerate(runs) for c, d in runs[:i]]
        if isinstance(rule, Apart) and any(met):
            return False
    return True


@st.composite
def some_packing(draw: st.DrawFn, most: int = 7, rules: bool = False) -> Instance:
    """Draw a small instance of any inequity from 0 to 6."""
    nodes = draw(st.integers(1, 16))
    top = draw(st.integers(1, nodes))
    minima = draw(st.lists(st.integers(1, top), min_size=1, max_size=most))
    kinds: list[Constraint] = []
    if rules:
        names = [job.name for job in numbered_jobs(minima)]
        some = st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True).map(tuple)
        kind = st.sampled_from([Together, Apart])
        kinds = draw(st.lists(st.builds(lambda c, j: c(jobs=j), kind, some), max_size=3))
    return packing(minima, nodes, draw(st.integers(0, 6)), kinds)


def equi(minima: Sequence[int], nodes: int) -> Iterator[list[int]]:
    """Yield the jobs of each epoch: the smallest first, as many as can have equal allotments."""
    left = list(range(len(minima)))[::-1]
    while left:
        able = [h for h in range(1, len(left) + 1) if minima[left[h - 1]] * h <= nodes]
        h = max(h for h in able if nodes % h == 0)
        yield left[:h]
        left = left[h:]


def heuristic(minima: Sequence[int], nodes: int, k: int, end: int) -> Iterator[list[int]]:
    """Yield the jobs of each epoch, of those before ``end``, the largest first."""
    left = list(range(end))
    while left:
        largest = minima[left[0]]
        taken: list[int] = []
        if k == 0:
            most = min(len(left), nodes // largest)
            taken = left[: max(h for h in range(1, most + 1) if nodes % h == 0)]
        else:
            used = 0
            for j in left:
                width = max(1, minima[j], largest - k)
                if used + width <= nodes:
                    taken.append(j)
                    used += width
        yield taken
        left = [j for j in left if j not in taken]


def buddy(minima: Sequence[int], nodes: int) -> Iterator[tuple[int, int, Fraction, Fraction]]:
    """Yield each job's first node, width, start and length, for 2^j jobs and 2^n nodes."""
    heights = [Fraction(0)] * nodes
    for minimum in minima:
        segments = [list(some) for _, some in groupby(range(nodes), heights.__getitem__)]
        low = [segment[0] for segment in segments if heights[segment[0]] < 1]
        left = max(low, key=lambda node: heights[node].denominator)
        start = heights[left]
        forced = nodes * start.denominator // len(minima)
        width = max(1 << (minimum - 1).bit_length(), forced, 1)
        length = Fraction(nodes, len(minima) * width)
        yield left, width, start, length
        heights[left : left + width] = [start + length] * width
