"""Messages name a wrong parameter as Python does, and its flag on the command line."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import schedopt
from schedopt.instances.errors import InputError
from schedopt.sweep.sources import generated_sources
from schedopt.verbs.model_files import write
from tests.builders.cli import refused
from tests.builders.refusals import refusal

NIGHT, TWICE = "example:night", "dssp,seed=1,seeds=2"
READY = [{"name": "a", "priority": 1, "cores": 2}]


def ready(**given: Any) -> object:
    return schedopt.ready(READY, **{"capacity": {"cores": 3}, "order": ["priority"]} | given)


def log() -> schedopt.msfq.Instance:
    options = {"jobs": 50, "servers": 8}
    return schedopt.generate("msfq", "lublin-feitelson", options=options)


def start_times(**given: Any) -> object:
    return schedopt.start_times(log(), **{"at": 100} | given)


def bench(**given: Any) -> object:
    return schedopt.bench(NIGHT, **given)


CASES: list[tuple[Callable[..., object], str, Any, str]] = [
    (bench, "seeds", [], ""),
    (bench, "generated", ["dssp,seeds=x"], "bench --generate dssp,seeds=x"),
    (bench, "generated", ["msfq,seeds=1-3"], "bench --generate msfq,seeds=1-3"),
    (bench, "jobs", 0, f"bench {NIGHT} --jobs 0"),
    (bench, "time_limit", -1, f"bench {NIGHT} --time-limit -1"),
    (lambda seeds: generated_sources("dssp", seeds=seeds), "seeds", [-1], ""),
    (lambda jobs: schedopt.whatif(NIGHT, [], jobs=jobs), "jobs", 0, ""),
    (
        lambda vary: schedopt.whatif(NIGHT, vary),
        "vary",
        ["deadline=nan"],
        f"whatif {NIGHT} --vary deadline=nan",
    ),
    (lambda seed: schedopt.generate("dssp", seed=seed), "seed", -1, "generate dssp --seed -1"),
    (
        lambda seed: schedopt.evaluate("example:one-or-all", "msf", seed=seed),
        "seed",
        -1,
        "evaluate example:one-or-all --policy msf --seed -1",
    ),
    (ready, "capacity", {}, "ready READY --capacity , --order priority"),
    (ready, "order", ["priority"] * 2, "ready - --capacity cores=3 --order priority,priority"),
    (start_times, "at", "noon", "start-times log.json --at noon"),
    (start_times, "policy", "none", "start-times log.json --at 100 --policy none"),
    (
        lambda formulation: write(NIGHT, "m.lp", formulation=formulation),
        "formulation",
        "schedule",
        f"solve {NIGHT} --formulation schedule --write m.lp",
    ),
    (
        partial(schedopt.solve, NIGHT),
        "solver",
        "x",
        f"solve {NIGHT} --solver x",
    ),
]
FLAGS = {"seeds": "seed", "generated": "generate"}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("READY").write_text("name,priority,cores\na,1,2\n")
    schedopt.dump(log(), "log.json")


@pytest.mark.parametrize(("call", "parameter", "value", "words"), CASES)
def test_errors_name_the_parameter_in_python_and_the_flag_on_the_command_line(
    call: Callable[..., object], parameter: str, value: Any, words: str
) -> None:
    error = refusal(call, **{parameter: value})
    assert error.parameter == parameter
    assert str(error).startswith(f"{parameter}: ")
    assert "--" not in str(error)
    if words:
        said = refused(*words.split())
        assert said.startswith(f"--{FLAGS.get(parameter, parameter).replace('_', '-')}: ")


def test_ready_queue_errors_name_parameters() -> None:
    queue = schedopt.Ready({"cores": 4}, ["priority"])
    queue.add(READY)
    assert refusal(queue.add, READY).place == "column 'name'"
    assert refusal(queue.remove, ["b"]).parameter == "names"
    with pytest.raises(InputError, match=r"^capacity: found 'gpus'"):
        queue.select({"gpus": 1})
