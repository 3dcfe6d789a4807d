"""Schedules: the knapsack bound, a search that dispatches again and again, then CP-SAT."""

from schedopt.solvers.engine import Engine, declared_in_cpsat, unchanged

_HERE = "schedopt.solvers.dssp.schedule"
_CERTIFY = f"{_HERE}.solving:certify"
ENGINES = (
    Engine(
        "search",
        solve=f"{_HERE}.solving:search",
        accepts=unchanged,
        description="any declared rules",
        proves="that the schedule meets the bound of the selection, which is re-proved; or that "
        "nothing keeps the rules, since no selection does",
        certificate="branching, of the selection that bounds every schedule",
        certify=_CERTIFY,
        confirmed_by="cp-sat",
    ),
    Engine(
        "cp-sat",
        solve=f"{_HERE}.solving:by_cpsat",
        accepts=unchanged,
        description="any declared rules; under a time limit where there is time to write the model",
        proves="the optimum on the grid that the lengths are on",
        certificate="branching, where the bound is the selection's",
        certify=_CERTIFY,
        confirmed_by="model",
        needs="ortools",
    ),
    declared_in_cpsat("the optimum on the grid that the lengths are on", "cp-sat"),
)
"""Read from the top: the first that accepts a schedule, and is worth trying, answers."""
