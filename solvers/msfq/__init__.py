"""What finds the optima of msfq: thresholds, optimal policies, bounds on logs."""

TABLES = {
    "threshold": "schedopt.solvers.msfq.threshold:ENGINES",
    "optimal-policy": "schedopt.solvers.msfq.optimal_policy:ENGINES",
    "bound": "schedopt.solvers.msfq.log_bound:ENGINES",
}
"""Where the table of engines of each formulation stands."""

CERTIFIERS = {
    "optimal-policy": "schedopt.solvers.msfq.optimal_policy.optimal:certify",
    "bound": "schedopt.solvers.msfq.log_bound.bracket:certify",
}
"""Where the function stands that makes certificates for each formulation."""
