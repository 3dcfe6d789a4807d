"""Small instances and random side constraints that several tests build."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from hypothesis import strategies as st

from schedopt.instances.constraints import (
    Apart,
    AtLeast,
    AtMost,
    Constraint,
    FairShare,
    Forbid,
    Imply,
    Require,
    Resource,
    Seats,
    Together,
)
from schedopt.instances.dssp import Instance, Job
from schedopt.validation.dssp.constraints import broken, unseated
from schedopt.validation.dssp.facts import Facts

TEAMS = ("fx", "light", "anim")


def night(
    jobs: Sequence[tuple[float, float]],
    capacity: float = 10.0,
    constraints: Sequence[Constraint] = (),
) -> Instance:
    """Build an instance of (reward, demand) pairs on one processor; teams go round."""
    return Instance(
        name="small",
        processors=1,
        deadline=capacity,
        jobs=tuple(
            Job(
                name=f"j{i}",
                reward=float(reward),
                demand=float(demand),
                critical_path=min(float(demand), capacity),
                groups={"team": TEAMS[i % 3]},
            )
            for i, (reward, demand) in enumerate(jobs)
        ),
        constraints=tuple(constraints),
    )


def best(
    instance: Instance, constraints: Sequence[Constraint] = (), fill: float = 1.0
) -> float | None:
    """Return the optimum by trying every subset; None if none keeps all constraints."""
    facts = Facts(instance, fill)
    rules = [*instance.constraints, *constraints]
    seats = [rule for rule in rules if isinstance(rule, Seats)]
    reward = {job.name: job.reward for job in instance.jobs}
    open_ = [n for n in reward if facts.release[n] + facts.critical_path[n] <= facts.due[n]]
    found = [
        sum(reward[n] for n in chosen)
        for size in range(len(open_) + 1)
        for chosen in combinations(open_, size)
        if not any(facts.overfull({n: facts.demand[n] for n in chosen}, facts.rate))
        and not any(broken(rule, facts, frozenset(chosen)) for rule in rules)
        and not any(unseated(rule, facts, frozenset(chosen)) for rule in seats)
    ]
    return max(found, default=None)


def some_constraint(jobs: int) -> st.SearchStrategy[Constraint]:
    """Draw a side constraint of any kind on jobs j0, j1, ... of three teams."""
    names = [f"j{i}" for i in range(jobs)]
    several = st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True).map(tuple)
    share = st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.5, 0.75, 1.0])
    teams = list(TEAMS[: min(jobs, 3)])
    shares = st.dictionaries(st.sampled_from(teams), share, min_size=1, max_size=2)
    of = st.sampled_from(["capacity", "selected"])
    count = st.integers(0, 3)
    group = st.sampled_from(teams)
    return st.one_of(
        st.builds(lambda s, o: FairShare(by="team", at_most=s, of=o), shares, of),
        st.builds(lambda s, o: FairShare(by="team", at_least=s, of=o), shares, of),
        st.builds(lambda j: Require(jobs=j[:1]), several),
        st.builds(lambda j: Forbid(jobs=j), several),
        st.builds(
            lambda a, b: Imply(if_=a, then=b), st.sampled_from(names), st.sampled_from(names)
        ),
        st.builds(lambda j: Together(jobs=j), several),
        st.builds(lambda j: Apart(jobs=j), several),
        st.builds(lambda j, c: AtMost(jobs=j, count=c), several, count),
        st.builds(lambda g, c: AtLeast(by="team", group=g, count=c), group, count),
        st.builds(
            lambda u, c: Resource(name="disk", use=u, capacity=c),
            st.dictionaries(st.sampled_from(names), st.integers(0, 5).map(float), min_size=1),
            st.integers(0, 8).map(float),
        ),
    )
