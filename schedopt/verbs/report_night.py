"""The verb report-night: compares a plan with its execution on Slurm."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedopt.instances.files import dump, write_bytes
from schedopt.instances.tables import as_csv
from schedopt.planning.carried_out import COLUMNS, CarriedOut, carried_out
from schedopt.planning.state import read_sacct
from schedopt.verbs.replan import plan_in_hand

if TYPE_CHECKING:
    from schedopt.solvers.result import Result
    from schedopt.verbs.plan import NightPlan


FORMATS = (".csv", ".json", ".png")


def report_night(plan: NightPlan | Result | str | Path, sacct: str | Path) -> CarriedOut:
    """Compare a plan with its execution on Slurm.

    Parameters
    ----------
    plan : NightPlan, Result or path
        The plan, such as ``plan.json``, that was carried out by the template ``slurm``.
    sacct : path
        The output of ``sacct -XP --format=JobID,JobName,State,Start,End``.

    Returns
    -------
    CarriedOut
        With ``jobs``, ``late``, ``fallen_out`` and ``overhead``.

    Raises
    ------
    InputError
        If a file cannot be read, or the plan holds no night.
    """
    in_hand = plan_in_hand(plan)
    night_state, solution = in_hand.night_state(), in_hand.result.solution
    account = read_sacct(sacct, night_state.night)
    tasks = solution.tasks if solution is not None else ()
    begun = {(name, *key) for name, one in night_state.progress.items() for key in one.runs}
    rules = in_hand.result.constraints
    return carried_out(night_state.night, tasks, account, rules, begun)


def document(report: CarriedOut) -> dict[str, Any]:
    """Return the report as a JSON document."""
    mean, longest = report.overhead or (None, None)
    overhead = {"planned": report.night.overhead, "mean": mean, "longest": longest}
    fell = {"late": report.late, "fallen_out": report.fallen_out}
    return {"night": report.night.name, **fell, "overhead": overhead, "jobs": report.rows()}


def write(report: CarriedOut, path: str | Path) -> None:
    """Write the report as .csv or .json, or its picture as .png."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".csv":
        rows = ([row[title] for title in COLUMNS] for row in report.rows())
        write_bytes(path, as_csv(COLUMNS, rows).encode())
    elif suffix == ".json":
        dump(document(report), path, indent=1)
    else:
        from schedopt.problems.dssp.to_figure import carried_out
        from schedopt.verbs.plot import save

        save(carried_out(report), path)
