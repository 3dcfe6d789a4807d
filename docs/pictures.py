"""The site's pictures, drawn from the bundled instances each time the site is built."""

from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
BUNDLED = HERE.parent / "instances"
FOLDER = HERE / "_pictures"


def dssp() -> tuple[Any, Any]:
    """Draw who gets which share of a night."""
    import schedopt

    night = schedopt.load(BUNDLED / "dssp" / "night.json.gz")
    return schedopt.solve(night), night


def hesrpt() -> tuple[Any, Any]:
    """Draw an even split, shortest first, and the optimum."""
    import schedopt

    twins = schedopt.load(BUNDLED / "hesrpt" / "twins.json")
    return [*schedopt.evaluate(twins, ["equi", "srpt"]), schedopt.solve(twins)], twins


def epoch() -> tuple[Any, Any]:
    """Draw a policy's epochs and the fewest."""
    import schedopt

    example = schedopt.load(BUNDLED / "epoch" / "fig7.json")
    equi = schedopt.evaluate(example, "equi-epoch")
    return [equi, schedopt.solve(example, threads=1)], example


def msfq() -> tuple[Any, Any]:
    """Draw the curve over all thresholds."""
    import schedopt

    queue = schedopt.load(BUNDLED / "msfq" / "one-or-all.json")
    return schedopt.solve(queue), queue


def draw(app: Any) -> None:
    """Draw what is not there yet."""
    import schedopt

    del app
    FOLDER.mkdir(exist_ok=True)
    for make in (dssp, hesrpt, epoch, msfq):
        target = FOLDER / f"{make.__name__}.png"
        if not target.exists():
            results, instance = make()
            schedopt.plot(results, instance=instance).savefig(target, dpi=100)


def setup(app: Any) -> dict[str, bool]:
    """Draw before anything is read."""
    app.connect("builder-inited", draw)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
