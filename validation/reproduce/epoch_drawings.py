"""The epoch paper's drawings, its Lemma 1, its defaults, and an example in passing."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np

from schedopt.instances.epoch import Instance
from schedopt.instances.epoch.generators import GENERATORS
from schedopt.policies.epoch.buddies import Piece, buddy
from schedopt.policies.registry import registered
from schedopt.validation.reproduce.epoch_shared import EXACT, PAPER, optimum, packed, policy
from schedopt.validation.reproduce.ledger import Claim, Outcome, reproduction

DRAWN = "A drawing without numbers in the text."


@reproduction(
    "epoch/figure-1",
    title="The machine: nodes of a processor and its memory",
    source=f"{PAPER}, section 2.1, Figure 1",
    workload=DRAWN,
)
def figure_1(quick: bool) -> Outcome:
    """Say why there is nothing to compute."""
    del quick
    why = "cannot be checked: it draws the model's assumption, and claims nothing"
    return Outcome([Claim("memory is local to nodes, so a job has a minimum", "drawn", why, None)])


@reproduction(
    "epoch/figure-2",
    title="A schedule cuts the quantum into pieces of equal area",
    source=f"{PAPER}, section 2.3, Figure 2",
    workload=f"{DRAWN} Random instances, scheduled by BUDDY and by BUDDY*.",
)
def figure_2(quick: bool) -> Outcome:
    """Add up areas and widths of schedules of the kind of part (b)."""
    area, narrow, tried = 0.0, 0, 0
    for seed in range(20 if quick else 200):
        for name, jobs in (("buddy", 8), ("buddy-star", 11)):
            instance = GENERATORS["uniform"](seed, nodes=32, jobs=jobs)
            pieces = registered("epoch")[name].run(instance).rectangles
            fair = instance.nodes / jobs
            for job in instance.jobs:
                piece = pieces[job.name]
                area = max(area, abs(piece.nodes * (piece.end - piece.start) / fair - 1))
                narrow += piece.nodes < job.minimum
                tried += 1
    return Outcome(
        [
            Claim(
                "each job's one piece has the area N/J",
                "required",
                f"largest relative difference {area:.1e} in {tried} pieces",
                area < 1e-9,
            ),
            Claim("none is narrower than M_j", "required", f"{narrow} are", narrow == 0),
        ]
    )


def frontier(pieces: list[Piece], nodes: int) -> list[tuple[range, Fraction]]:
    """Return the line segments below which pieces fill the quantum."""
    height = [Fraction(0)] * nodes
    for piece in pieces:
        for node in range(piece.first, piece.first + piece.width):
            height[node] += piece.height
    cuts = [0, *(i + 1 for i, (a, b) in enumerate(pairwise(height)) if a != b), nodes]
    return [(range(a, b), height[a]) for a, b in pairwise(cuts)]


@reproduction(
    "epoch/lemma-1",
    title="A segment at height C/2^x forces a piece of height 1/2^x or less above it",
    source=f"{PAPER}, section 3, Lemma 1",
    workload="Every partial schedule of BUDDY on random instances.",
)
def lemma_1(quick: bool) -> Outcome:
    """Look above each segment of each frontier."""
    segments = broken = 0
    for seed in range(20 if quick else 200):
        instance = GENERATORS["uniform"](seed, nodes=32, jobs=16, load=2.0)
        pieces = buddy(sorted(instance.minima.tolist(), reverse=True), 32)
        for done in range(len(pieces)):
            for nodes, height in frontier(pieces[:done], 32):
                if height == 1:
                    continue
                above = [
                    piece.height
                    for piece in pieces[done:]
                    if piece.first < nodes.stop and piece.first + piece.width > nodes.start
                ]
                segments += 1
                broken += min(above) > Fraction(1, height.denominator)
    ours = f"{broken} of {segments} segments without one"
    return Outcome([Claim("there is such a piece", "always", ours, broken == 0)])


@reproduction(
    "epoch/figure-5",
    title="BUDDY* and HYBRID cut J into powers of two",
    source=f"{PAPER}, section 3.2, Figure 5",
    workload=f"{DRAWN} Random instances of 1 to 16 jobs.",
)
def figure_5(quick: bool) -> Outcome:
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
                same = {policy(n, instance) for n in ("buddy", "buddy-star", "hybrid")}
                equal += len(same) == 1
    return Outcome(
        [
            Claim(
                "BUDDY*'s subsets are the binary digits of J, the largest first",
                "always",
                f"{digits} of {tried}",
                digits == tried,
            ),
            Claim(
                "jobs of smaller minima are in larger subsets",
                "always",
                f"{sorted_up} of {tried}",
                sorted_up == tried,
            ),
            Claim(
                "both are BUDDY where J is a power of two",
                "always",
                f"the same overhead in {equal} of {powers}",
                equal == powers,
            ),
        ]
    )


@reproduction(
    "epoch/figure-6",
    title="Ten jobs in epochs of five, three and two",
    source=f"{PAPER}, section 4, Figure 6",
    workload="Minima are not given; five of 6, three of 10 and two of 15 on N = 30 come out so.",
)
def figure_6(quick: bool) -> Outcome:
    """Schedule ten jobs by EQUI-EPOCH and look when epochs begin."""
    del quick
    instance = packed([6] * 5 + [10] * 3 + [15] * 2, 30)
    epochs = registered("epoch")["equi-epoch"].run(instance).epochs
    sizes = [len(epoch.nodes) for epoch in epochs]
    ends = np.cumsum([epoch.duration for epoch in epochs]).tolist()
    ours = f"{', '.join(map(str, sizes))} jobs until {', '.join(f'{end:g}' for end in ends)}"
    drawn = sizes == [5, 3, 2] and np.allclose(ends, [0.5, 0.8, 1.0])
    return Outcome(
        [Claim("an epoch lasts in proportion to its jobs", "until 1/2, 4/5 and 1", ours, drawn)]
    )


@reproduction(
    "epoch/table-3",
    title="Default parameters",
    source=f"{PAPER}, section 5, Table 3",
    workload="The generator `uniform` of this project, without options.",
)
def table_3(quick: bool) -> Outcome:
    """Look at what the generator makes by default."""
    made: list[Instance] = [GENERATORS["uniform"](seed) for seed in range(200 if quick else 5_000)]
    minima = np.concatenate([instance.minima for instance in made])
    shape = {(i.nodes, len(i.jobs), i.inequity) for i in made}
    load = float(minima.mean() * 8 / 128)
    values, counts = np.unique(minima, return_counts=True)
    return Outcome(
        [
            Claim("N, J and k", "128, 8 and 1", str(sorted(shape)), shape == {(128, 8, 1)}),
            Claim("the load factor", "100%", f"{load:.1%}", abs(load - 1) < 0.05),
            Claim(
                "minima are uniform on 1 .. 2·L·N/J - 1",
                "1 to 31",
                f"{minima.min()} to {minima.max()}",
                (minima.min(), minima.max()) == (1, 31),
            ),
        ],
        {"minima": (values, counts / counts.sum())},
        "minimum, in nodes",
        "part of the jobs",
    )


@reproduction(
    "epoch/example-seven-jobs",
    title="Seven jobs: three epochs of equal allotments, or one of nearly equal ones",
    source=f"{PAPER}, section 4.2",
    workload=f"Seven jobs of minimum 1 on N = 8 to 128 nodes. {EXACT}",
)
def seven_jobs(quick: bool) -> Outcome:
    """Solve for both inequities."""
    sizes = (8, 16, 32) if quick else (8, 16, 32, 64, 128)
    equal = {n: optimum(packed([1] * 7, n, 0)) / n for n in sizes}
    nearly = {n: optimum(packed([1] * 7, n, 1)) / n for n in sizes}
    return Outcome(
        [
            Claim(
                "with k = 0 and N a power of two",
                "at least 3 epochs",
                f"{min(equal.values()):g} at least, proven",
                min(equal.values()) == 3,
            ),
            Claim(
                "with k = 1",
                "perhaps a single epoch",
                f"{min(nearly.values()):g}, proven",
                min(nearly.values()) == 1,
            ),
        ]
    )
