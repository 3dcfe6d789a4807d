"""Engines for dssp: selections, seasons and schedules."""

TABLES = {
    "selection": "schedopt.solvers.dssp.selection:ENGINES",
    "season": "schedopt.solvers.dssp.season:ENGINES",
    "schedule": "schedopt.solvers.dssp.schedule:ENGINES",
}
"""Where the table of engines of each formulation stands."""

CERTIFIERS = {
    "selection": "schedopt.solvers.dssp.certificate:certify",
    "season": "schedopt.solvers.dssp.certificate:certify",
    "schedule": "schedopt.solvers.dssp.certificate:certify_schedule",
}
"""Where the function stands that makes certificates for each formulation."""
