"""Pictures: written in each format, safe whatever a job is called, refused in one line."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from builders.cli import run
from builders.refusals import refusal
from matplotlib.figure import Figure

from schedopt import evaluate, plan_table, plot, solve
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.errors import InputError
from schedopt.instances.files import dump, encode, load
from schedopt.verbs.plot import save

NIGHT = Path("instances/dssp/night.json.gz")


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write an instance whose names are markup, mathematics, and very long, and results of it."""
    folder = tmp_path_factory.mktemp("evil")
    names = ("<script>alert(1)</script>", r"$\frac{1}{0}$", "x" * 500, "&amp; $")
    jobs = tuple(
        Job(name=name, reward=1, groups={f"<b>{i}": name}, stages=((1.0, 2.0), (1.0,)))
        for i, name in enumerate(names)
    )
    mine = Instance(name="<i>$_^$", processors=2, deadline=5, jobs=jobs)
    dump(mine, folder / "evil.json")
    results = [r.document() for r in (*evaluate(mine, ["lcpf", "random"]), solve(mine))]
    (folder / "several.json").write_bytes(encode(results))
    return folder / "evil.json"


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf", ".html"])
def test_plot_writes_every_format_with_the_same_bytes(
    suffix: str, tmp_path: Path, evil: Path
) -> None:
    target, written = tmp_path / f"p{suffix}", []
    for what in (evil, evil, evil.with_name("several.json")):
        save(plot(what, instance=None if what == evil else evil), target)
        written.append(target.read_bytes())
        assert len(written[-1]) > 2_000
        assert b"<script" not in written[-1]
    assert written[0] == written[1]


def test_plot_refuses_what_has_no_picture(tmp_path: Path) -> None:
    result, other = tmp_path / "result.json", tmp_path / "other.json"
    result.write_bytes(encode(solve("instances/dssp/conflict.json")))
    other.write_bytes(b'{"a": 1}')
    for file in (result, other, tmp_path / "missing.json"):
        with pytest.raises(InputError):
            plot(file)
    document = msgspec.to_builtins(solve("instances/epoch/fig8.json").document())
    result.write_bytes(msgspec.json.encode(document | {"solution": {"epochs": []}}))
    assert "that `check` passes" in str(refusal(plot, result))


def legend(figure: Any) -> list[str]:
    """Return what the legends of a figure say."""
    boxes = [axes.get_legend() for axes in figure.axes if axes.get_legend() is not None]
    return [text.get_text() for box in boxes for text in box.get_texts()]


def test_plot_draws_into_given_axes(evil: Path, tmp_path: Path) -> None:
    night = load(evil)
    ran = evaluate(night, "lcpf")
    table = plan_table(night, ran)
    figure = Figure()
    axes = figure.subplots(3)
    for ax, what in zip(axes, (night, ran, table), strict=True):
        assert plot(what, instance=night, ax=ax) is ax
        assert ax.patches or ax.collections
    assert figure.axes == list(axes)
    assert "panels" in str(refusal(plot, [ran, ran], instance=night, ax=axes[0]))
    assert plot(table).axes[0].patches  # and the next picture has a figure of its own
    table.write_csv(tmp_path / "plan.csv")
    with pytest.raises(InputError):
        plot([tmp_path / "plan.csv", evil])


def test_plot_of_several_results_shows_all(tmp_path: Path) -> None:
    policies = ["greedy", "core", "lcpf"]
    night = load(NIGHT)
    found = evaluate(night, policies)
    figure = plot(found, instance=night)
    assert set(policies) <= set(legend(figure))
    groups = len(night.groups["team"])
    assert len(figure.axes[0].patches) == groups * (len(policies) + 1)  # and what was asked for
    (tmp_path / "a.json").write_bytes(encode(found[0].document()))
    (tmp_path / "b.json").write_bytes(encode([result.document() for result in found[1:]]))
    words = ["a.json", "b.json", "--instance", NIGHT.absolute(), "--output", "all.pdf"]
    run("plot", *words, directory=tmp_path)
    assert (tmp_path / "all.pdf").read_bytes().startswith(b"%PDF")
