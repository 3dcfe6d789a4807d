"""The exact methods for epochs, held against each other and against planted optima."""

from __future__ import annotations

import numpy as np

from schedopt.instances.epoch import Instance
from schedopt.instances.epoch.generators import GENERATORS
from schedopt.policies.registry import NotApplicableError
from schedopt.solvers import Limits
from schedopt.validation.reproduce.epoch_shared import PAPER, packed, policy
from schedopt.validation.reproduce.ledger import Claim, Outcome, reproduction


@reproduction(
    "epoch/opt-epoch",
    title="OPT-EPOCH(k) by five methods: our search, two models in CP-SAT, the paper's, and a DP",
    source=f"{PAPER}, section 4.2; the paper's own stops at k = 1",
    workload=(
        "2,000 random instances of at most 8 jobs, k from 0 to 6, and planted ones of up to 50 "
        "(quick: 60, and planted ones of up to 20)."
    ),
)
def opt_epoch(quick: bool) -> Outcome:
    """Compare the methods with each other, and with what was planted."""
    draw = np.random.Generator(np.random.PCG64(1))
    differ = planted_differ = left_out = 0
    trials = 60 if quick else 2_000
    for _ in range(trials):
        nodes = int(draw.integers(1, 25))
        most = draw.integers(1, nodes, endpoint=True)
        minima = draw.integers(1, most, draw.integers(1, 9), endpoint=True)
        found, missing = _all_methods(packed(minima.tolist(), nodes, int(draw.integers(0, 7))))
        differ += len(found) > 1
        left_out += missing
    planted = [
        GENERATORS["planted"](seed, nodes=16, epochs=epochs, inequity=k, most=8)
        for epochs in ((3,) if quick else (3, 6, 9))
        for k in range(7)
        for seed in range(1 if quick else 3)
    ]
    for instance in planted:
        found, missing = _all_methods(instance)
        planted_differ += found != {float(instance.minima.sum())}
        left_out += missing
    largest = max(len(instance.jobs) for instance in planted)
    return Outcome(
        [
            Claim(
                "all methods find the same optimum on random instances",
                "the search is optimal",
                f"{differ} of {trials} differ",
                differ == 0,
            ),
            Claim(
                "all methods find what was planted",
                "the search is optimal",
                f"{planted_differ} of {len(planted)} differ, up to {largest} jobs; "
                f"{left_out} times a method gave up",
                planted_differ == 0,
            ),
        ]
    )


def _all_methods(instance: Instance) -> tuple[set[float], int]:
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
    for name in ("paper-search", "dp"):
        try:
            found.add(policy(name, instance))
        except NotApplicableError:
            missing += 1
    return found, missing
