"""The README's demo: a plan, a fair share, and selectors compared with the optimum."""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

FARM = Path("instances") / "dssp" / "farm.csv"
NIGHT = Path("instances") / "dssp" / "night.json.gz"
TONIGHT = "--processors 6 --from 20:00 --until 06:00 --seats houdini=3 --cap team:fx=0.4"
HERE = Path("build") / "demo"
REPORT = Path("build") / "report.html"

SELECTORS = "greedy,greedy-half,greedy-three-quarters,dp-profits,fptas,core"
DISPATCHERS = "priority,lcpf,greedy+priority,greedy+stcpu,greedy+cpa,greedy+lcpf,selection+lcpf"


def main() -> None:
    """Run the commands of the demo."""
    shutil.rmtree(HERE, ignore_errors=True)
    HERE.mkdir(parents=True)
    nights, result, page = HERE / "nights", HERE / "result.json", HERE / "night.html"
    show("Eight jobs, six processors, three seats, a cap: what runs tonight, and is it the best?")
    run("plan", FARM, *shlex.split(TONIGHT), "--output", HERE / "plan.csv", "--report", page)
    show("A render night asks for more than the farm has, and no team may take over 30% of it.")
    run("solve", NIGHT, "--output", result)
    show("The checker recomputes that result from the instance file alone.")
    run("check", NIGHT, result)
    show("Heuristics do not know of fair shares.")
    run("evaluate", NIGHT, "--policy", "greedy,greedy-three-quarters,core")
    show("How far is each selector from the proven optimum, on twelve other nights?")
    run("generate", "dssp", "--count", 12, "--seed", 1, "--output", nights)
    run("bench", nights, "--jobs", 2, "--policy", SELECTORS)
    show("And what do dispatchers complete by the deadline, with and without selection?")
    dispatching = ("--policy", DISPATCHERS, "--option", "fill=0.9")
    run("bench", nights, *dispatching, "--report", REPORT)
    show(f"The whole comparison as a page: open {REPORT} in a browser.")


def run(*words: object) -> None:
    """Print and run a command; a failure ends the demo."""
    command = ["schedopt", *map(str, words)]
    print(f"$ {shlex.join(command)}", flush=True)
    subprocess.run([sys.executable, "-m", *command], check=True)  # noqa: S603  our own words


def show(text: str) -> None:
    """Print a comment between two commands."""
    print(f"\n# {text}", flush=True)


if __name__ == "__main__":
    main()
