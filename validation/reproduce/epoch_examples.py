"""The epoch paper's worked examples: Figures 3, 4, 7 and 8."""

from __future__ import annotations

from schedopt.policies.registry import registered
from schedopt.validation.reproduce.epoch_shared import EXACT, PAPER, optimum, packed, policy
from schedopt.validation.reproduce.ledger import Claim, Outcome, reproduction


@reproduction(
    "epoch/figure-3",
    title="BUDDY's schedule for N = 16, J = 8, M = [1, 2, 3, 3, 3, 3, 3, 8]",
    source=f"{PAPER}, section 3, Figure 3",
    workload="The paper's example.",
)
def figure_3(quick: bool) -> Outcome:
    """Run BUDDY on the example."""
    del quick
    instance = packed([1, 2, 3, 3, 3, 3, 3, 8], 16)
    pieces = list(registered("epoch")["buddy"].run(instance).rectangles.values())
    second = pieces[1]
    ours, best = policy("buddy", instance), optimum(instance, widths="powers-of-two")
    return Outcome(
        [
            Claim(
                "the first job, minimum 8",
                "8 nodes",
                f"{pieces[0].nodes} nodes",
                pieces[0].nodes == 8,
            ),
            Claim(
                "then the min-seg is at 1/4, and the next job, minimum 3, is forced to 8 nodes",
                "8 nodes from 1/4 on",
                f"{second.nodes} nodes from {second.start:g} on",
                (second.nodes, second.start) == (8, 0.25),
            ),
            Claim(
                "the widths are the least that powers of two allow",
                "optimal (Theorem 1)",
                f"{ours:g}, optimum {best:g}",
                ours == best,
            ),
        ]
    )


@reproduction(
    "epoch/figure-4",
    title="Widths that are no powers of two can beat BUDDY",
    source=f"{PAPER}, section 3.2, Figure 4",
    workload=f"The figure's numbers are not in the text; N = J = 4, M = [3, 3, 3, 1]. {EXACT}",
)
def figure_4(quick: bool) -> Outcome:
    """Compare BUDDY with rectangles of any width."""
    del quick
    instance = packed([3, 3, 3, 1], 4)
    ours, best = policy("buddy", instance), optimum(instance, widths="any")
    return Outcome(
        [Claim("other widths need less", "yes", f"BUDDY {ours:g}, optimum {best:g}", best < ours)]
    )


@reproduction(
    "epoch/figure-7",
    title="EQUI-EPOCH is not optimal for N = 140 and ten jobs of 20",
    source=f"{PAPER}, section 4.1.2, Figure 7",
    workload="As the text has it; the caption swaps J and M.",
)
def figure_7(quick: bool) -> Outcome:
    """Count epochs."""
    del quick
    instance = packed([20] * 10, 140)
    equi, best = policy("equi-epoch", instance) / 140, optimum(instance) / 140
    return Outcome(
        [
            Claim("EQUI-EPOCH: 7 jobs, then 2, then 1", "3 epochs", f"{equi:g}", equi == 3),
            Claim("five jobs twice", "2 epochs", f"{best:g}, proven", best == 2),
        ]
    )


@reproduction(
    "epoch/figure-8",
    title="Filling epochs from the largest job is not optimal for N = 16, M = [4, 4, 4, 4, 8]",
    source=f"{PAPER}, section 4.1.3, Figure 8",
    workload="The paper's example.",
)
def figure_8(quick: bool) -> Outcome:
    """Count epochs."""
    del quick
    instance = packed([4, 4, 4, 4, 8], 16)
    greedy = policy("heuristic-epoch", instance) / 16
    equi, best = policy("equi-epoch", instance) / 16, optimum(instance) / 16
    return Outcome(
        [
            Claim("greedy from the largest", "3 epochs", f"{greedy:g}", greedy == 3),
            Claim(
                "EQUI-EPOCH, optimal", "2 epochs", f"{equi:g}, optimum {best:g}", equi == best == 2
            ),
        ]
    )
