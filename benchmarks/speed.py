"""Side by side in one run: us and the alternatives, with ratios (``make speed``).

``python -m benchmarks.speed [TABLE ...]`` prints some of the tables.
"""

from benchmarks import dssp_schedule, dssp_selection, epoch, hesrpt, msfq, ready
from benchmarks.tables import run

if __name__ == "__main__":
    run(
        *(dssp_selection.fair_share, dssp_selection.many_teams, dssp_selection.knapsack),
        *(dssp_selection.strongly_correlated, dssp_selection.reading),
        *(ready.ready_jobs, ready.ready_tables),
        *(dssp_schedule.dispatch, dssp_schedule.schedules),
        *(hesrpt.closed_form, hesrpt.program, hesrpt.unequal, hesrpt.gaps, hesrpt.regret),
        *(epoch.planted, epoch.tight, epoch.rectangles, epoch.uniform),
        *(msfq.simulators, msfq.thresholds, msfq.replays, msfq.ten_million),
    )
