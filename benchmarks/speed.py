"""Side by side in one run: us and the alternatives, with ratios (``make speed``)."""

from __future__ import annotations

from benchmarks import dispatching, packing, queueing, selection, sharing
from benchmarks.timing import machine, out

TABLES = (
    selection.fair_share,
    selection.knapsack,
    selection.reading,
    dispatching.dispatch,
    sharing.closed_form,
    sharing.program,
    sharing.orders,
    packing.planted,
    packing.uniform,
    queueing.simulators,
    queueing.thresholds,
)


def main() -> None:
    """Print the tables."""
    out.print(machine("highspy", "ortools", "pyomo", "numba"), highlight=False)
    for table in TABLES:
        table()


if __name__ == "__main__":
    main()
