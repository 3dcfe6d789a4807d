"""AccaSim: its own simulator, reader of SWF, and dispatchers FIFO and EBF with first fit."""

import collections
import collections.abc
import json
import tempfile
from datetime import datetime
from pathlib import Path

collections.Mapping = collections.abc.Mapping  # where Python before 3.10 had it

from accasim.base.allocator_class import FirstFit
from accasim.base.scheduler_class import EASYBackfilling, FirstInFirstOut
from accasim.base.simulator_class import Simulator
from protocol import serve, write_swf

DISPATCHERS = {"FIFO": FirstInFirstOut, "EBF": EASYBackfilling}


def simulate(workload):
    """Return when AccaSim starts each job."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        system = {
            "groups": {"g0": {"core": 1}},
            "resources": {"g0": workload["servers"]},
            "equivalence": {"processor": {"core": 1}},
            "start_time": 0,
        }
        (folder / "system.json").write_text(json.dumps(system))
        write_swf(str(folder / "log.swf"), workload)
        simulator = Simulator(
            str(folder / "log.swf"),
            str(folder / "system.json"),
            DISPATCHERS[workload["scheduler"]](FirstFit()),
            statistics_output=False,
            show_statistics=False,
            RESULTS_FOLDER_PATH=str(folder),
        )
        simulator.start_simulation()
        (plan,) = folder.rglob("sched-*")
        rows = [line.split("__") for line in plan.read_text().splitlines()]
    starts = {int(row[0].split(";")[0]): seconds(row[-1].split(";")[0]) for row in rows}
    return [starts[number] for number in range(1, len(workload["jobs"]) + 1)]


def seconds(date):
    """Return the seconds since 1970 of a date."""
    return (datetime.fromisoformat(date) - datetime(1970, 1, 1)).total_seconds()


serve(simulate)
