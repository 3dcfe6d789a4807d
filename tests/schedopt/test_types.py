"""The types that a type checker sees in a user's file."""

import re
import subprocess
import sys
from pathlib import Path

from builders.cli import ROOT

APP = """
import schedopt
from schedopt import Result

night = schedopt.load("night.json")
selection = schedopt.dssp.Selection(night, fill=0.9).add(
    schedopt.FairShare(by="team", at_most={"fx": 0.15})
)
result = schedopt.solve(selection, time_limit=5)
reveal_type(result)  # type: Result[Selected]
reveal_type(result.objective)  # type: float | None
reveal_type(schedopt.solve(schedopt.dssp.Schedule(night)).solution)  # type: Scheduled | None
reveal_type(schedopt.solve(schedopt.hesrpt.Allocation(night)).solution)  # type: Allocated | None
reveal_type(schedopt.solve(schedopt.epoch.Partition(night)).solution)  # type: Partitioned | None
reveal_type(schedopt.solve(schedopt.msfq.Threshold(night)).solution)  # type: Thresholded | None
reveal_type(schedopt.solve("night.json"))  # type: Result[Any]
reveal_type(schedopt.solve(night))  # type: Result[Any]
reveal_type(schedopt.plan("farm.csv", processors=6, from_="20:00"))  # type: NightPlan
reveal_type(schedopt.load("night.json", problem="dssp"))  # type: Instance
schedopt.dssp.Selection(schedopt.example("night"))
schedopt.dssp.Selection(schedopt.generate("dssp"))


def stop_early(seconds: float, best: float | None, bound: float | None) -> bool:
    return best is not None


schedopt.solve(selection, watch=stop_early)
try:
    schedopt.solve(night, formulation="schedule")
except schedopt.MissingExtraError as error:
    error.name

schedopt.plan("farm.csv", procesors=6)  # error: call-arg
schedopt.solve(night, time_limit="5")  # error: arg-type
schedopt.solvee(night)  # error: attr-defined
schedopt.dssp.Selectoin(night)  # error: attr-defined
schedopt.msfq.Treshold(night)  # error: attr-defined
result.solution.selected  # error: union-attr
"""


def test_mypy_sees_the_types_of_the_api_and_reports_what_is_misspelt(tmp_path: Path) -> None:
    app = tmp_path / "app.py"
    app.write_text(APP)
    words = [sys.executable, "-m", "mypy", "--hide-error-context", str(app)]
    # From the repository, whose settings are strict, mypy takes what `make test` has analysed.
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT)
    seen = {}
    for line, text in re.findall(r"^.*app\.py:(\d+): (.*)$", done.stdout, re.MULTILINE):
        if revealed := re.fullmatch(r'note: Revealed type is "(.*)"', text):
            seen[int(line)] = "type: " + re.sub(r"\b\w+\.", "", revealed[1])
        elif text.startswith("error: "):
            seen[int(line)] = "error: " + text.rsplit("[", 1)[1].rstrip("]")
    lines = enumerate(APP.splitlines(), start=1)
    assert seen == {i: line.split("  # ")[1] for i, line in lines if "  # " in line}, done.stdout
