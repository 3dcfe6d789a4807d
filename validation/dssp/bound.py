"""Re-prove a bound on the reward of a selection, a season or a schedule, in integers.

A certificate is a tree that branches on columns. A node has an integer weight w >= 0 and integer
multipliers y of declared rows, positive for the upper bound of a row and negative for its lower
bound. By weak duality, every selection x of the node satisfies

    w·R(x) <= sum_i y_i·b_i + sum_j max{r_j·x_j : x_j in the node},  r_j = w·R_j - sum_i y_i·a_ij.

The *slack* is the right-hand side less w·T, where T is the smallest reward that would refute the
claimed bound. If it is negative, the node has no such selection; with w = 0 it has none that
satisfies the rows. Otherwise a column whose |r_j| exceeds the slack is fixed to the value that r_j
prefers: reduced-cost fixing, which is done once, at the root.

The rows are those of the formulation, which declare what the problem means. They are integers in
lowest terms. A schedule is bounded by the selection of the jobs that complete in time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import isfinite
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.dssp import Season, Selection
from schedopt.formulations.program import IntegerProgram
from schedopt.instances.constraints import Constraint
from schedopt.instances.decimals import total
from schedopt.instances.dssp import Instance, bounding, bounding_rules
from schedopt.instances.errors import InputError
from schedopt.solvers.result import Document

ROUNDING = Fraction(1, 10**14)
"""Relative rounding error allowed in a claimed sum of rewards."""
FREE = -1
"""The value of a column that is not fixed."""
INT64_SAFE = 1 << 61
"""Sums below this fit 64 bits, with a bit to spare."""

Integers = NDArray[Any]  # int64 where every sum fits, else Python integers
Number = int | Annotated[str, msgspec.Meta(pattern="^-?[0-9]{1,2000}$")]
"""An integer, written as text if it does not fit 64 bits."""


class Node(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A node of the tree: a leaf, or a branching on a column.

    The nodes are in depth-first order; the branch in which the column is 0 comes first. A leaf has
    multipliers that exclude all of its better selections.
    """

    split: str | None = None
    weight: Number = 0
    multipliers: list[tuple[int, Number]] = []


class Tree(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="tree"):
    """A certificate.

    ``rows`` are keys of declared rows; multipliers name rows by position. ``fixing`` has
    multipliers that fix columns at the root.
    """

    rows: list[str]
    nodes: list[Node]
    fixing: Node = Node()


class NotProvenError(ValueError):
    """The certificate does not prove the bound; the message names the step."""


def reprove(
    instance: Instance,
    constraints: Sequence[Constraint],
    certificate: Mapping[str, object],
    claim: Document,
) -> str | None:
    """Return None if the certificate proves the claimed bound, else the reason why it does not.

    ``constraints`` are all side constraints, those of the instance first.
    """
    try:
        tree = msgspec.convert(certificate, Tree, strict=True)
        program = _declared_program(instance, constraints, claim)
        _check_tree(program, tree, program.next_reward(_claimed_bound(instance, claim)))
    except msgspec.ValidationError as error:
        return f"the certificate cannot be read: {error}"
    except InputError as error:
        return f"the certificate is for other options: {error}"
    except (NotProvenError, OverflowError) as reason:
        return str(reason)
    return None


def _declared_program(
    instance: Instance, constraints: Sequence[Constraint], claim: Document
) -> IntegerProgram:
    """Return the integer program whose optimum bounds the claimed formulation."""
    added = constraints[len(instance.constraints) :]
    fill = claim.options.get("fill", 1.0)
    model: Selection | Season
    if claim.formulation == "schedule":
        model, added = Selection(bounding(instance)), bounding_rules(instance, added)
    elif claim.formulation == "selection":
        model = Selection(instance, fill=fill)
    elif claim.formulation == "season":
        model = Season(instance, fill=fill)
    else:
        raise NotProvenError(f"rows of a selection do not bound {claim.formulation}")
    return model.add(*added).integer_program().with_count()


def _claimed_bound(instance: Instance, claim: Document) -> Fraction:
    """Return the claimed bound without the rounding error of a sum of rewards."""
    if claim.sense != "maximize":
        raise NotProvenError(f"reward is maximized, not {claim.sense}d")
    if claim.bound is None or not isfinite(claim.bound):
        raise NotProvenError(f"the claimed bound is {claim.bound}")
    bound = Fraction(claim.bound)
    if claim.bound == claim.objective:
        nights = claim.solution.get("nights", [claim.solution])
        selected = {name for night in nights for name in night.get("selected", ())}
        exact = total(job.reward for job in instance.jobs if job.name in selected)
        if abs(exact - bound) <= ROUNDING * bound:
            return exact
    return bound + ROUNDING * bound if claim.formulation == "schedule" else bound


def _check_tree(program: IntegerProgram, tree: Tree, target: int) -> None:
    """Raise `NotProvenError` unless every leaf excludes rewards of ``target`` units or more."""
    column = {name: j for j, name in enumerate(program.columns)}
    declared = {label: i for i, label in enumerate(program.labels)}
    unknown = [key for key in tree.rows if key not in declared]
    if unknown:
        raise NotProvenError(f"there is no row {unknown[0]!r} here")
    duality = WeakDuality(program, [declared[key] for key in tree.rows], target)
    root = np.where(program.high > 0, FREE, 0).astype(np.int8)
    slack, reduced = duality.slack(root, tree.fixing)
    fixed = (root == FREE) & (np.abs(reduced) > slack).astype(bool)
    root[fixed] = (reduced[fixed] > 0).astype(np.int8)
    open_nodes = [root]
    for number, node in enumerate(tree.nodes):
        if not open_nodes:
            raise NotProvenError(f"nodes[{number}]: there is no such branch")
        values = open_nodes.pop()
        if node.split is None:
            if duality.slack(values, node)[0] >= 0:
                raise NotProvenError(f"nodes[{number}]: this branch is not closed")
            continue
        j = column.get(node.split)
        if node.weight or node.multipliers:
            raise NotProvenError(f"nodes[{number}]: a branching has multipliers")
        if j is None or values[j] != FREE:
            raise NotProvenError(f"nodes[{number}]: no free column is called {node.split!r}")
        for value in (1, 0):
            child = values.copy()
            child[j] = value
            open_nodes.append(child)
    if open_nodes:
        raise NotProvenError(f"{len(open_nodes)} branches are missing")


class WeakDuality:
    """Evaluates weak duality for one program, exactly.

    Parameters
    ----------
    program : IntegerProgram
    rows : sequence of int
        The rows of the program that multipliers refer to by position.
    target : int
        The smallest total reward that would refute the claimed bound, in units.
    """

    def __init__(self, program: IntegerProgram, rows: Sequence[int], target: int) -> None:
        self.program, self.rows, self.target = program, rows, target
        self.rewards = sum(map(abs, program.rewards.tolist())) + abs(target)

    def slack(self, values: NDArray[np.int8], node: Node) -> tuple[int, Integers]:
        """Return the slack of a node and the reduced rewards r of its columns.

        ``values`` are 0 or 1 for columns fixed in the node, `FREE` for the others.
        """
        program, weight = self.program, int(node.weight)
        prices = [(i, int(y)) for i, y in node.multipliers]
        if weight < 0:
            raise NotProvenError("a weight is negative")
        if not all(0 <= i < len(self.rows) for i, _ in prices):
            raise NotProvenError("a multiplier is of no row")
        largest = self.rewards * max(1, weight)
        largest += sum((2 * int(program.reach[self.rows[i]]) + 2) * abs(y) for i, y in prices)
        kind: type = np.int64 if largest < INT64_SAFE else object
        reduced: Integers = program.rewards.astype(kind) * weight
        slack = -weight * self.target
        for i, y in prices:
            row = self.rows[i]
            if not (program.has_upper if y > 0 else program.has_lower)[row]:
                raise NotProvenError(f"rows[{i}] has no bound on that side")
            entries = slice(int(program.first[row]), int(program.first[row + 1]))
            reduced[program.column[entries]] -= program.coefficient[entries].astype(kind) * y
            slack += y * int((program.upper if y > 0 else program.lower)[row])
        slack += int(reduced[values == 1].sum())
        slack += int(np.maximum(reduced[values == FREE], 0).sum())
        return slack, reduced
