"""A service that calls schedopt from several threads at once."""

import subprocess
import sys

SERVICE = """
import gc, signal
from concurrent.futures import ThreadPoolExecutor
import schedopt

solvers = {
    "night": [None, "model", "highs"],
    "twins": [None, "model"],
    "fig7": [None, "model"],
    "small": [None],
}
tasks = 2 * [(name, solver) for name in solvers for solver in solvers[name]]

def run(task):
    name, solver = task
    result = schedopt.solve(schedopt.example(name), solver=solver)
    return result.termination, result.objective, result.checked, result.violations

state = gc.isenabled(), gc.get_threshold(), signal.getsignal(signal.SIGINT)
with ThreadPoolExecutor(6) as pool:
    together = list(pool.map(run, tasks))
alone = [run(task) for task in tasks]
assert together == alone, [(t, a, b) for t, a, b in zip(tasks, together, alone) if a != b]
assert all(checked and not violations for *_, checked, violations in together)
assert state == (gc.isenabled(), gc.get_threshold(), signal.getsignal(signal.SIGINT))
"""


def test_threads_of_a_new_process_get_what_one_thread_gets() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SERVICE], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
