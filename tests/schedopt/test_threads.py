"""A service that calls schedopt from several threads at once."""

import subprocess
import sys

SERVICE = """
import gc, signal
from concurrent.futures import ThreadPoolExecutor
import schedopt

problems = ["dssp", "hesrpt", "epoch", "msfq"]
solvers = {"dssp": [None, "model", "highs"], "epoch": [None, "model"], "hesrpt": [None, "clarabel"]}
tasks = [
    (problem, seed, solver)
    for seed in range(2)
    for problem in problems
    for solver in solvers.get(problem, [None])
]

def run(task):
    problem, seed, solver = task
    result = schedopt.solve(schedopt.generate(problem, seed=seed), solver=solver, time_limit=60)
    return result.termination, result.objective, result.checked, result.violations

state = gc.isenabled(), gc.get_threshold(), signal.getsignal(signal.SIGINT)
with ThreadPoolExecutor(6) as pool:
    together = list(pool.map(run, tasks))
assert together == [run(task) for task in tasks]
assert all(checked and not violations for *_, checked, violations in together)
assert state == (gc.isenabled(), gc.get_threshold(), signal.getsignal(signal.SIGINT))
"""


def test_threads_of_a_new_process_get_what_one_thread_gets() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SERVICE], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
