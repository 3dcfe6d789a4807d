"""Whether side constraints leave any shares with which all jobs get work done."""

from __future__ import annotations

from collections.abc import Collection

from formulations.hesrpt import Allocation


def satisfiable(program: Allocation, asked: Collection[str]) -> bool:
    """Tell whether some of the side constraints, by name, leave shares in which all jobs progress.

    Amounts of share times time can be scaled up at will, so it is a linear program: each job has
    one unit over all of the epochs in which it is in the system.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    present, pairs = program.epochs.present, program.pairs
    at = {pair: len(present) + i for i, pair in enumerate(pairs)}
    rows: list[dict[int, float]] = [
        {at[pair]: -1.0 for pair in pairs if pair[0] == j}
        for j in range(len(program.instance.jobs))
    ]
    limits = [-1.0] * len(rows)
    for e, jobs in enumerate(present):
        rows.append({e: -1.0, **{at[j, e]: 1.0 for j in jobs}})
        for bound in program.rules.in_force(jobs):
            if bound.name not in asked:
                continue
            if bound.at_least > 0:
                rows.append({e: bound.at_least, **{at[j, e]: -1.0 for j in bound.jobs}})
            if bound.at_most < 1:
                rows.append({e: -bound.at_most, **{at[j, e]: 1.0 for j in bound.jobs}})
    limits += [0.0] * (len(rows) - len(limits))
    entries = [(i, k, v) for i, row in enumerate(rows) for k, v in row.items()]
    i, k, v = zip(*entries, strict=True)
    shape = (len(rows), len(present) + len(pairs))
    done = linprog([0.0] * shape[1], A_ub=coo_array((v, (i, k)), shape=shape).tocsr(), b_ub=limits)
    return bool(done.status == 0)
