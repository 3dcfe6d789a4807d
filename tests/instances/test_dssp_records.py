"""The records of dssp: what they compute, and what they refuse when built in Python."""

import msgspec
import numpy as np
import pytest

from schedopt.instances.constraints import Require, Resource, label
from schedopt.instances.dssp import Instance, Job, placing
from schedopt.instances.dssp.jobs import REWARDS, banded, linear, size
from schedopt.instances.errors import InputError, shown


def job(name: str, *stages: tuple[float, ...], **more: object) -> Job:
    return Job(name=name, reward=1.0, stages=stages or ((1.0,),), **more)  # type: ignore[arg-type]


def night(*jobs: Job, processors: int = 2, deadline: float = 10.0, **more: object) -> Instance:
    return Instance(name="n", processors=processors, deadline=deadline, jobs=jobs, **more)  # type: ignore[arg-type]


def test_demand_and_critical_path_follow_section_2() -> None:
    staged = job("a", (2.0, 3.0), (4.0,))
    assert staged.planned_demand == 9.0
    assert staged.planned_critical_path == 7.0


def test_predictions_stand_in_planning() -> None:
    predicted = job("a", (2.0, 3.0), (4.0,), demand=20.0)
    assert predicted.planned_demand == 20.0
    assert predicted.planned_critical_path == 7.0


def test_arrays_of_an_instance() -> None:
    instance = night(job("a", (2.0, 3.0), (4.0,)), job("b", (11.0,)))
    assert instance.rewards.tolist() == [1.0, 1.0]
    assert instance.demands.tolist() == [9.0, 11.0]
    assert instance.critical_paths.tolist() == [7.0, 11.0]
    assert instance.in_time.tolist() == [True, False]
    assert instance.index == {"a": 0, "b": 1}
    assert instance.capacity(0.5) == 10.0


def test_an_instance_without_jobs() -> None:
    instance = night()
    assert instance.demands.shape == (0,)
    assert instance.guaranteed_fill() == 1.0
    assert instance.groups == {}


def test_groups_hold_positions_in_order() -> None:
    instance = night(
        job("a", groups={"team": "fx"}),
        job("b", groups={"team": "fx", "show": "s"}),
        job("c", groups={"team": "light"}),
    )
    assert instance.groups == {"team": {"fx": [0, 1], "light": [2]}, "show": {"s": [1]}}


def test_room_is_exact_for_whole_demands() -> None:
    whole = night(job("a", (3.0,)), processors=1, deadline=10.0)
    assert whole.room() == 10.0
    assert whole.room(0.35) == 3.0  # 0.35 * 10 = 3.5, and no whole demand lies between
    broken = night(job("a", (0.5,)), processors=1, deadline=10.0)
    assert broken.room() == pytest.approx(10.0, abs=1e-7)


def test_guaranteed_fill_is_theorem_4() -> None:
    instance = night(job("a", (4.0,)), job("late", (99.0,)), processors=4, deadline=10.0)
    assert instance.guaranteed_fill() == 1 - (1 - 1 / 4) * 4 / 10


@pytest.mark.parametrize("chosen", [[0], np.array([True, False])])
def test_selected_counts_shares_of_the_capacity(chosen: object) -> None:
    instance = night(
        job("a", (5.0,), groups={"team": "fx"}), job("b", (1.0,), groups={"team": "light"})
    )
    selected = placing.selected(instance, chosen)
    assert selected.selected == ("a",)
    assert (selected.demand, selected.capacity) == (5.0, 20.0)
    assert selected.shares == {"team": {"fx": 0.25, "light": 0.0}}


def test_a_constraint_is_called_by_its_name_or_its_kind_and_position() -> None:
    assert label(Require(jobs=("a",)), 3) == "require[3]"
    assert label(Resource(name="disk", capacity=1.0, use={}), 0) == "disk"


def test_a_default_name_may_not_be_taken_either() -> None:
    with pytest.raises(InputError) as caught:
        night(job("a"), constraints=(Require(name="require[1]", jobs=("a",)), Require(jobs=("a",))))
    assert caught.value.place == "constraints[1].name"


def test_a_message_has_file_place_found_and_expected() -> None:
    error = InputError("a number", found=shown(True), place="[2]", file="f.json")
    assert str(error.within("jobs")) == "f.json: jobs[2]: found true; expected a number"


def test_keys_at_their_default_are_not_written() -> None:
    assert msgspec.json.encode(job("a")) == b'{"name":"a","reward":1.0,"stages":[[1.0]]}'


# --- rewards of section 5.1 --------------------------------------------------------------------


@pytest.mark.parametrize(("priority", "reward"), [(0, 500), (120, 380), (500, 0), (777, 0)])
def test_linear(priority: float, reward: float) -> None:
    assert linear(priority, 3.0) == reward


@pytest.mark.parametrize(
    ("priority", "reward"),
    [(0, 1e5), (99, 1e5), (100, 1e3), (199.5, 1e3), (200, 10), (299, 10), (300, 1), (499, 1)],
)
def test_banded(priority: float, reward: float) -> None:
    assert banded(priority, 3.0) == reward


def test_size_is_the_demand_and_needs_no_priority() -> None:
    assert size(None, 17.5) == 17.5


@pytest.mark.parametrize("name", ["linear", "banded"])
def test_a_priority_is_needed(name: str) -> None:
    with pytest.raises(InputError, match="a priority for each job"):
        REWARDS[name](None, 1.0)
