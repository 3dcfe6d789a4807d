"""Re-prove a bound on the reward of a selection or a schedule in whole numbers, without a solver.

The certificate is a tree of branchings on columns: jobs, or what lifts a row. For whole multipliers
y of rows (above 0 of an upper bound, below 0 of a lower) and a whole weight w >= 0, no selection of
a branch has w·reward above

    L = sum over columns of the most of (w·R_j - sum_i y_i a_ij)·x_j + sum over rows of y_i·bound_i,

so a branch is closed where L is below w times the least reward above the claimed bound, and a
column is fixed where L would be with the column at its other value. What L is above that is the
*slack*: what a better selection may lose at most by columns that are not at what they are worth,
and by room that rows leave unused. Rows over columns of their own, whose keeping costs more than
the slack together, close a branch too (see `validation.dssp.blocks`). Between these steps each row
fixes what it alone decides.

The rows are written anew from the instance (see `validation.dssp.program`); those of side
constraints that are not known here are left out, which makes bounds weaker and never wrong. The
bound on a schedule is one on the selection that it is: jobs whose tasks, as they happen, fit.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import floor, isfinite
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from schedopt.instances.constraints import Constraint, Seats
from schedopt.instances.decimals import as_written, total
from schedopt.instances.dssp import Instance, bounding, bounding_rules
from schedopt.instances.dssp.planned import FORGIVEN
from schedopt.instances.errors import InputError
from schedopt.solvers.result import Document
from schedopt.validation.dssp.blocks import Block, TooManyError, costs_at_least
from schedopt.validation.dssp.facts import Facts, facts_of
from schedopt.validation.dssp.program import FREE, ROOMY, LinearRow, Program, Whole, exact_array

ROUNDING = Fraction(1, 10**14)  # relative error allowed to a claim: rounding in a sum of rewards
Values = NDArray[np.int8]
Number = int | Annotated[str, msgspec.Meta(pattern="^-?[0-9]{1,2000}$")]
"""A whole number; in text where 64 bits do not hold it."""


class Node(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A branch: reasons in order, [weight, [[row, multiplier], ...]], then how it ends.

    ``blocks`` are rows that, with the last reason, cost so much together: [row, cost]. ``split`` is
    the column whose 0 and whose 1 are looked at next, in this order.
    """

    reasons: list[tuple[Number, list[tuple[int, Number]]]] = []
    blocks: list[tuple[int, Number]] = []
    split: str | None = None


class Branchings(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="branchings"
):
    """A certificate as a document holds it: the rows that a tree uses, and all of its branches."""

    rows: list[str]
    nodes: list[Node]


class NotShownError(ValueError):
    """A step that does not follow; the message says which."""


def reprove(
    instance: Instance,
    constraints: Sequence[Constraint],
    certificate: Mapping[str, object],
    claim: Document,
) -> str | None:
    """Re-prove a claimed bound with all side constraints.

    Returns None where the bound holds; else a line that says why it does not follow.
    """
    try:
        branchings = msgspec.convert(certificate, Branchings, strict=True)
        _Proof(instance, constraints, branchings, claim).run()
    except msgspec.ValidationError as error:
        return f"the certificate cannot be read: {error}"
    except InputError as error:
        return f"the certificate is for other options: {error}"
    except (NotShownError, TooManyError, OverflowError) as reason:
        return str(reason)
    return None


class _Proof:
    """A walk through all branches: none may earn `target` units."""

    def __init__(
        self,
        instance: Instance,
        constraints: Sequence[Constraint],
        given: Branchings,
        claim: Document,
    ) -> None:
        if claim.sense != "maximize":
            raise NotShownError(f"reward is maximized, not {claim.sense}d")
        facts, rules = _jobs_and_rules(instance, constraints, claim)
        self.program = program = Program(facts, rules, given.rows)
        self.nodes = given.nodes
        self.values: Values = np.full(len(program.names), FREE, dtype=np.int8)
        self.rows = dict(program.rows)
        self.possible = self._propagate(self.values)
        self.rows = {key: row.reduced(self.values) for key, row in program.rows.items()}
        self.target = _refuting_value(program, self.values, _claimed_bound(claim, facts))
        unknown = [key for key in given.rows if key not in self.rows]
        if unknown:
            raise NotShownError(f"there is no row {unknown[0]!r} here")
        self.named = [self.rows[key] for key in given.rows]

    def run(self) -> None:
        """Walk; raise `NotShownError` where a branch is not closed."""
        waiting: list[Values | None] = [self.values if self.possible else None]
        for number, node in enumerate(self.nodes):
            if not waiting:
                raise NotShownError(f"nodes[{number}]: there is no such branch")
            values = waiting.pop()
            if values is not None and self._closes_branch(values, node):
                values = None  # what is below needs no look
            if node.split is None:
                if values is not None:
                    raise NotShownError(f"nodes[{number}]: this branch is not closed")
                continue
            column = self.program.column(node.split)
            if column is None:
                raise NotShownError(f"nodes[{number}]: there is no column {node.split!r}")
            for value in (1, 0):
                child = None
                if values is not None and values[column] in (FREE, value):
                    child = values.copy()
                    child[column] = value
                waiting.append(child)
        if waiting:
            raise NotShownError(f"{len(waiting)} branches are missing")

    def _closes_branch(self, values: Values, node: Node) -> bool:
        """Draw a node's conclusions in place; tell whether they close the branch."""
        if not self._propagate(values):
            return True
        losses, slack = None, 0
        for weight, multipliers in node.reasons:
            losses, slack = self._losses(values, int(weight), multipliers)
            if slack < 0:
                return True
            free = np.flatnonzero(values == FREE)
            ruled = free[(np.abs(losses[free]) > slack).astype(bool)]
            values[ruled] = (losses[ruled] > 0).astype(np.int8)
            if len(ruled) and not self._propagate(values):
                return True
        if not (values == FREE).any():
            return int(self.program.rewards[values == 1].sum()) < self.target
        if not node.blocks or losses is None:
            return False
        losses, slack = self._losses(values, int(node.reasons[-1][0]), node.reasons[-1][1])
        return slack < 0 or self._blocks_cost(values, node, losses, slack)

    def _losses(
        self, values: Values, weight: int, multipliers: Sequence[tuple[int, Number]]
    ) -> tuple[Whole, int]:
        """Return w·R_j - sum_i y_i a_ij, shape (columns,), and L - w·target."""
        if weight < 0:
            raise NotShownError("a weight below 0")
        used = [(self._row(i), int(y)) for i, y in multipliers]
        reach = weight * (self.program.worth + abs(self.target))
        reach += sum(abs(price) * row.reach for row, price in used)
        # No sum below is larger than that: with room for it, 64 bits hold them all.
        kind: type = np.int64 if reach < ROOMY else object
        reduced: Whole = self.program.rewards.astype(kind) * weight
        slack = -weight * self.target
        for place, (row, price) in enumerate(used):
            bound = row.upper if price > 0 else row.lower
            if bound is None:
                raise NotShownError(f"rows[{multipliers[place][0]}] has no bound on that side")
            reduced[row.columns] -= row.coefficients.astype(kind) * price
            slack += price * bound
        slack += int(reduced[values == 1].sum())
        slack += int(np.maximum(reduced[values == FREE], 0).sum())
        return reduced, slack

    def _blocks_cost(self, values: Values, node: Node, losses: Whole, slack: int) -> bool:
        """Tell whether satisfying rows over disjoint columns costs more than the slack."""
        prices: dict[int, int] = {}
        for i, y in node.reasons[-1][1]:
            prices[i] = prices.get(i, 0) + int(y)
        used = np.zeros(len(values), dtype=bool)
        total, seen = 0, set()
        for i, cost in node.blocks:
            row, least = self._row(i), int(cost)
            free = row.columns[values[row.columns] == FREE]
            if i in seen or used[free].any() or least < 0:
                raise NotShownError(f"rows[{i}]: its columns are another block's too")
            used[free] = True
            seen.add(i)
            if not costs_at_least(_free_block(row, values, losses, prices.get(i, 0)), least):
                raise NotShownError(f"rows[{i}] may cost less than {least}")
            total += least
        return total > slack

    def _row(self, i: int) -> LinearRow:
        if not 0 <= i < len(self.named):
            raise NotShownError(f"there is no rows[{i}]")
        return self.named[i]

    def _propagate(self, values: Values) -> bool:
        """Fix in place what single rows imply; False where a row cannot be satisfied."""
        waiting = True
        while waiting:
            waiting = False
            for row in self.rows.values():
                held = values[row.columns]
                free = held == FREE
                size = row.coefficients
                fixed, open_ = int(size[held == 1].sum()), size[free]
                above = int(np.maximum(open_, 0).sum())
                least, most = fixed + int(open_.sum()) - above, fixed + above
                for bound, room, sign in ((row.upper, least, 1), (row.lower, most, -1)):
                    if bound is None:
                        continue
                    spare = sign * (bound - room)
                    if spare < 0:
                        return False
                    ruled = free & (np.abs(size) > spare).astype(bool)
                    if ruled.any():
                        values[row.columns[ruled]] = (sign * size[ruled] < 0).astype(np.int8)
                        waiting = True
                        break  # the row's sums are other ones now
        return True


def _free_block(row: LinearRow, values: Values, losses: Whole, price: int) -> Block:
    """Return what a row requires of its free columns."""
    held = values[row.columns]
    used, free = int(row.coefficients[held == 1].sum()), held == FREE
    own = losses[row.columns[free]]
    cost = np.abs(own)
    return Block(
        coefficients=row.coefficients[free],
        start=(own > 0).astype(bool),
        losses=exact_array(cost.tolist()),
        lower=None if row.lower is None else row.lower - used,
        upper=None if row.upper is None else row.upper - used,
        multiplier=price,
    )


def _jobs_and_rules(
    instance: Instance, constraints: Sequence[Constraint], claim: Document
) -> tuple[Facts, Sequence[Constraint]]:
    """Return the jobs that the claim is about, and the side constraints in force.

    What is run by some time has, as it happens, no more demand than that time on all processors. So
    a schedule's jobs are those of a selection from what happens, up to the time after which nothing
    is paid; side constraints speak of what was planned, and of the deadline, but for seats.
    """
    if claim.formulation == "selection":
        return facts_of(instance, claim), constraints
    if claim.formulation != "schedule":
        raise NotShownError(f"branchings say nothing of {claim.formulation}")
    last = as_written(instance.late[-1][0]) if instance.late else Fraction(0)
    predicted = (
        job.demand is not None or job.critical_path is not None
        for job in instance.jobs
        if job.stages
    )
    if not last and not any(predicted):  # what is left is the rounding of deadlines
        return Facts(bounding(instance), 1.0), bounding_rules(instance, constraints)
    if instance.features:
        what = next(iter(instance.features))
        raise NotShownError(f"branchings of late or predicted jobs say nothing of `{what}`")
    jobs = [
        msgspec.structs.replace(job, demand=None, critical_path=None) if job.stages else job
        for job in instance.jobs
    ]
    facts = Facts(msgspec.structs.replace(instance, jobs=tuple(jobs), constraints=()), 1.0)
    forgiven = Fraction(1) if instance.has_common_unit else FORGIVEN
    facts.deadline = (facts.deadline + last) * forgiven
    facts.capacity = facts.rate * facts.deadline
    facts.due = {name: (due + last) * forgiven for name, due in facts.due.items()}
    return facts, [rule for rule in constraints if isinstance(rule, Seats)]


def _refuting_value(program: Program, values: Values, bound: Fraction) -> int:
    """Return the least value, in units, that would refute a bound.

    What is selected is worth what is fixed, and multiples of what the worths of the free columns
    have in common.
    """
    fixed = int(program.rewards[values == 1].sum())
    step = int(np.gcd.reduce(program.rewards[values == FREE])) or 1
    return int(fixed + ((floor(bound * program.scale) - fixed) // step + 1) * step)


def _claimed_bound(claim: Document, facts: Facts) -> Fraction:
    """Return the claimed bound on the reward.

    A bound that is the objective stands for the exact sum of the selected rewards, where that is
    the same up to rounding.
    """
    if claim.bound is None or not isfinite(claim.bound):
        raise NotShownError(f"no bound is claimed but {claim.bound}")
    bound, exact = Fraction(claim.bound), None
    chosen = claim.solution.get("selected")
    if claim.bound == claim.objective and isinstance(chosen, list):
        names = set(map(str, chosen))
        exact = total(job.reward for job in facts.night.jobs if job.name in names)
    if exact is not None and abs(exact - bound) <= ROUNDING * bound:
        bound = exact
    elif claim.formulation == "schedule":  # a sum of parts of rewards
        bound += ROUNDING * bound
    return bound
