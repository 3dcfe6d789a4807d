"""Side by side in one run: us and the alternatives, with ratios (``make speed``)."""

from __future__ import annotations

from benchmarks import (
    bench_rows,
    ceilings,
    dssp_dispatch,
    dssp_schedule,
    dssp_selection,
    dssp_shares,
    epoch,
    hesrpt,
    hesrpt_many,
    hesrpt_regret,
    limits,
    msfq,
    msfq_replay,
    startup,
)
from benchmarks.timing import machine, out, tally

TABLES = (
    ceilings.machine_limits,
    startup.starting,
    bench_rows.rows,
    limits.limits,
    limits.first,
    dssp_shares.fair_share,
    dssp_shares.many_teams,
    dssp_selection.knapsack,
    dssp_selection.strongly_correlated,
    dssp_selection.reading,
    dssp_selection.reading_many,
    dssp_dispatch.dispatch,
    dssp_schedule.schedules,
    hesrpt.closed_form,
    hesrpt.program,
    hesrpt.orders,
    hesrpt_many.gaps,
    hesrpt_many.known,
    hesrpt_regret.regret,
    epoch.planted,
    epoch.tight,
    epoch.rectangles,
    epoch.uniform,
    msfq.simulators,
    msfq.cores,
    msfq.thresholds,
    msfq_replay.replays,
    msfq_replay.ten_million,
)


def main() -> None:
    """Print the tables."""
    out.print(machine("highspy", "ortools", "pyomo", "numba"), highlight=False)
    for table in TABLES:
        table()
    tally()


if __name__ == "__main__":
    main()
