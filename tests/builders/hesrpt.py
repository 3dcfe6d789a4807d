"""Random hesrpt instances that several tests build."""

from typing import Any

from hypothesis import strategies as st

from schedopt.instances.hesrpt import Amdahl, Instance, Job, Power, Table

POWERS = (0.05, 0.3, 0.5, 0.9, 0.99)
SERVERS = (1, 2, 10, 1000, 10**6)


def cluster(sizes: Any, speedup: Any, servers: int = 10, **more: Any) -> Instance:
    """Build an instance of one speedup; jobs are j0, j1, ..., in teams a and b by turns."""
    weights = more.pop("weights", [1.0] * len(sizes))
    own = more.pop("own", [None] * len(sizes))
    arrivals = more.pop("arrivals", [0.0] * len(sizes))
    more.setdefault("objective", "total-flow-time")
    return Instance(
        name="random",
        servers=servers,
        speedup=speedup,
        jobs=tuple(
            Job(
                name=f"j{i}",
                size=float(size),
                weight=float(weights[i]),
                arrival=float(arrivals[i]),
                speedup=own[i],
                groups={"team": "ab"[i % 2]},
            )
            for i, size in enumerate(sizes)
        ),
        **more,
    )


def sizes(most: int = 8, *, extreme: bool = True) -> st.SearchStrategy[list[float]]:
    """Draw sizes: with ties, and if extreme over many orders of magnitude."""
    some = st.one_of(st.integers(1, 4).map(float), st.floats(0.1, 100))
    if extreme:
        some = st.one_of(some, st.sampled_from([1e-9, 1e-3, 1e3, 1e9]))
    return st.lists(some, min_size=1, max_size=most)


@st.composite
def common(draw: Any, most: int = 8, *, extreme: bool = True) -> Instance:
    """Draw an instance of one speedup k^p."""
    p = draw(st.one_of(st.sampled_from(POWERS), st.floats(0.05, 0.99)))
    return cluster(draw(sizes(most, extreme=extreme)), Power(p=p), draw(st.sampled_from(SERVERS)))


speedups = st.one_of(
    st.floats(0.05, 0.99).map(lambda p: Power(p=p)),
    st.floats(0.1, 0.99).map(lambda f: Amdahl(parallel=f)),
)
tables = st.sampled_from(
    [
        Table(points=((1, 1), (2, 1.8), (8, 4))),
        Table(points=((1, 1), (4, 2.5), (16, 3.5))),
        Table(points=((2, 3), (5, 6))),
    ]
)


@st.composite
def various(draw: Any, most: int = 5, kinds: Any = speedups) -> Instance:
    """Draw an instance whose jobs differ in size, weight and speedup."""
    count = draw(st.integers(1, most))
    some = st.one_of(st.integers(1, 4).map(float), st.floats(0.5, 20))
    return cluster(
        draw(st.lists(some, min_size=count, max_size=count)),
        Power(p=0.5),
        draw(st.sampled_from([2, 10, 100])),
        weights=draw(st.lists(st.integers(1, 4), min_size=count, max_size=count)),
        own=draw(st.lists(kinds, min_size=count, max_size=count)),
        objective=draw(st.sampled_from(["total-flow-time", "weighted-flow-time"])),
    )
