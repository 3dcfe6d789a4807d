"""Why jobs are left out: each reason is held against every subset of small instances."""

from itertools import chain, combinations
from random import Random

import pytest
from builders.dssp import night
from builders.effort import examples
from contract.dssp import some_rule
from hypothesis import example, given, settings
from hypothesis import strategies as st

from schedopt.formulations.dssp import Selection
from schedopt.instances.constraints import (
    AtMost,
    Constraint,
    FairShare,
    Forbid,
    Imply,
    Seats,
    label,
)
from schedopt.instances.dssp import Instance
from schedopt.problems.dssp.reasons import left_out
from schedopt.validation.dssp.constraints import broken
from schedopt.validation.dssp.facts import Facts
from schedopt.verbs.solve import solve


def told(instance: Instance, *added: Constraint, fill: float = 1.0) -> dict[str, str]:
    result = solve(instance, constraints=added, options={"fill": fill})
    assert result.proven
    found = left_out(Selection(instance, fill=fill).add(*added), result.solution)
    return {name: str(reason) for name, reason in found.items()}


def test_a_cap_keeps_out_what_would_pay_in_place_of_others() -> None:
    farm = night([(9, 5), (1, 4), (1, 1), (8, 4), (0.5, 4)])  # j0 and j3 are fx's
    cap = FairShare(name="fx cap", by="team", at_most={"fx": 0.5})
    assert told(farm, cap) == {"j3": "rule:fx cap", "j4": "outbid"}
    tight = FairShare(name="fx cap", by="team", at_most={"fx": 0.3})
    assert told(farm, tight) == dict.fromkeys(("j0", "j3"), "rule:fx cap")
    assert told(farm) == {"j1": "outbid", "j4": "outbid"}


def test_a_forbidden_job_is_kept_out_by_the_rule_though_there_is_no_room_for_it() -> None:
    farm = night([(9, 9), (1, 5)])
    assert told(farm, Forbid(jobs=("j1",))) == {"j1": "rule:forbid[0]"}


def test_a_rule_on_what_has_to_come_along() -> None:
    farm = night([(1, 1), (9, 6), (9, 6), (8, 10)])
    both = Imply(name="pair", if_="j0", then="j3")
    assert told(farm, both)["j0"] == "rule:pair"
    two = AtMost(name="one of", jobs=("j0", "j1", "j2", "j3"), count=1)
    assert told(farm, two)["j0"] == "rule:one of"


@settings(max_examples=examples(120))
@example([(0, 0), (0, 1), (1, 10)], 0)  # of two rules, only one is broken once others make way
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 12)), max_size=7), st.integers(0))
def test_reasons_hold_against_all_subsets(pairs: list[tuple[int, int]], seed: int) -> None:
    instance, draw = night(pairs, 10.0), Random(seed)  # noqa: S311
    count = draw.randint(0, 3) if pairs else 0
    rules = [some_rule(draw, [job.name for job in instance.jobs]) for _ in range(count)]
    rules = [rule for rule in rules if not isinstance(rule, Seats)]
    result = solve(instance, constraints=rules)
    if result.solution is None:
        return
    facts, chosen = Facts(instance, 1.0), frozenset(result.solution.selected)
    named = {label(rule, i): rule for i, rule in enumerate(rules)}
    found = left_out(Selection(instance).add(*rules), result.solution)
    assert set(found) == set(facts.demand) - chosen
    subsets = list(
        chain.from_iterable(combinations(sorted(chosen), k) for k in range(len(chosen) + 1))
    )
    reward = {job.name: job.reward for job in instance.jobs}

    def fits(names: frozenset[str]) -> bool:
        return facts.total(names) <= facts.capacity

    possible = {name for name in reward if fits(frozenset({name}))}
    for name, reason in found.items():
        assert (reason.kind == "never") == (not fits(frozenset({name})))
        swaps = [
            chosen - set(gone) | {name}
            for gone in subsets
            if fits(chosen - set(gone) | {name})
            and (not gone or sum(reward[other] for other in gone) < reward[name])
        ]
        if reason.kind == "rule":
            rule = named[reason.rule]
            everyone = [
                frozenset({name, *others})
                for size in range(len(reward))
                for others in combinations(possible - {name}, size)
            ]
            shut_out = all(broken(rule, facts, names) for names in everyone)
            assert shut_out or any(broken(rule, facts, names) for names in swaps)
        elif reward[name] and chosen | {name} in swaps:
            pytest.fail(f"{name} is {reason}, though there is room for it")


def test_many_jobs_are_judged_at_once() -> None:
    farm = night([(1 + i % 7, 1 + i % 11) for i in range(1500)], 2000.0)
    cap = FairShare(by="team", at_most={"fx": 0.2})
    reasons = told(farm, cap)
    assert {"outbid", "rule:fair-share[0]"} == set(reasons.values())
