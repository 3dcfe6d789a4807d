"""Side by side in one run: us and the alternatives, with ratios (``make speed``).

``python -m benchmarks.speed [TABLE ...]`` prints some of the tables.
"""

from benchmarks import dssp, dssp_shares, epoch, hesrpt, msfq, msfq_replay, ready_jobs, verbs
from benchmarks.tables import run

TABLES = (
    *(verbs.starting, verbs.rows, verbs.first),
    *(dssp_shares.fair_share, dssp_shares.many_teams),
    *(dssp.knapsack, dssp.strongly_correlated, dssp.reading),
    *(ready_jobs.ready_jobs, ready_jobs.ready_tables),
    *(dssp.dispatch, dssp.schedules),
    *(hesrpt.closed_form, hesrpt.program, hesrpt.unequal, hesrpt.gaps, hesrpt.regret),
    *(epoch.planted, epoch.tight, epoch.rectangles, epoch.uniform),
    *(msfq.simulators, msfq.cores, msfq.thresholds),
    *(msfq_replay.replays, msfq_replay.ten_million),
)

if __name__ == "__main__":
    run(*TABLES)
