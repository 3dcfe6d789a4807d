"""Engines for dssp: selections, seasons and schedules."""

TABLES = {
    "selection": "schedopt.solvers.dssp.selection:ENGINES",
    "season": "schedopt.solvers.dssp.season:ENGINES",
    "schedule": "schedopt.solvers.dssp.schedule:ENGINES",
}
"""Where the table of engines of each formulation stands."""
