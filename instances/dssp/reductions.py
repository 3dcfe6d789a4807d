"""The instances behind the hardness proofs: other problems written as dssp.

Source: Anderson et al., SPAA 2005, section 2.1, Theorems 1 and 2.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from schedopt.instances.dssp.jobs import Job
from schedopt.instances.dssp.records import Instance
from schedopt.instances.recipes import stream

Triple = tuple[int, int, int]


def partition(numbers: Sequence[float], reward: float = 1.0) -> Instance:
    """Return Theorem 1's instance: it earns its reward if and only if the numbers can be halved.

    One job of one stage with a task for each number, two processors, and as deadline half of what
    they sum to.
    """
    return Instance(
        name=f"partition-{len(numbers)}",
        description="Theorem 1: the job completes in time if and only if its tasks can be halved.",
        processors=2,
        deadline=sum(numbers) / 2,
        jobs=(Job(name="halves", reward=reward, stages=(tuple(map(float, numbers)),)),),
    )


def matching(size: int, triples: Sequence[Triple]) -> Instance:
    """Return Theorem 2's instance: `size` jobs complete if and only if a 3D-matching exists.

    For each triple (a, b, c) of numbers from 0 to size - 1 a job of 3·size stages with one unit
    task each, and one more in stages a, size + b and 2·size + c; size + 1 processors and a deadline
    of 3·size. Jobs that complete keep one processor busy all the time and share the last: no two of
    them may want it at once.
    """
    jobs = tuple(
        Job(
            name=f"triple-{i}-{a}-{b}-{c}",
            reward=1.0,
            stages=tuple(
                (1.0, 1.0) if stage in (a, size + b, 2 * size + c) else (1.0,)
                for stage in range(3 * size)
            ),
        )
        for i, (a, b, c) in enumerate(triples)
    )
    return Instance(
        name=f"matching-{size}-{len(triples)}",
        description="Theorem 2: as many jobs complete as a largest 3D-matching has triples, "
        "if that is a perfect one.",
        processors=size + 1,
        deadline=3.0 * size,
        jobs=jobs,
    )


def random_partition(seed: int, values: Mapping[str, Any]) -> Instance:
    """Draw whole numbers for `partition`; planted: two halves of equal sum, shuffled."""
    draw = stream(seed)
    count, largest = values["numbers"], values["largest"]
    numbers = draw.integers(1, largest, count, endpoint=True)
    if values["planted"]:
        half = numbers[: max(1, count // 2)]
        cuts = np.sort(draw.integers(0, int(half.sum()), max(0, count - len(half) - 1)))
        other = np.diff(np.concatenate(([0], cuts, [half.sum()])))
        numbers = draw.permutation(np.concatenate((half, other[other > 0])))
    return partition(numbers.astype(float).tolist())


def random_matching(seed: int, values: Mapping[str, Any]) -> Instance:
    """Draw triples for `matching`; planted: a perfect matching is among them."""
    draw = stream(seed)
    size, count = values["size"], values["triples"]
    found: dict[Triple, None] = {}
    if values["planted"]:
        columns = [draw.permutation(size).tolist() for _ in range(3)]
        found.update(dict.fromkeys(zip(*columns, strict=True)))
    while len(found) < min(max(count, len(found)), size**3):
        a, b, c = draw.integers(0, size, 3).tolist()
        found[a, b, c] = None
    triples = list(found)
    return matching(size, [triples[i] for i in draw.permutation(len(triples))])
