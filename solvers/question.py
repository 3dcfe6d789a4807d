"""The question that a result answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from schedopt.instances.constraints import Constraint
from schedopt.instances.encoding import to_json
from schedopt.instances.protocol import Identity, identity


class Question(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was asked, as a document holds it.

    Attributes
    ----------
    instance : Identity
    formulation : str or None
        None for a policy.
    options : dict
        The options that change the meaning of the question.
    constraints : tuple of dict
        The side constraints of the instance, then those that were added.
    """

    instance: Identity
    formulation: str | None = None
    options: dict[str, Any] = {}
    constraints: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, eq=False)
class LazyQuestion:
    """What was asked; `question` is computed when needed, since its digest takes time.

    Attributes
    ----------
    instance : Instance
    formulation : str or None
        None for a policy.
    options : mapping
        The options that change the meaning of the question.
    added : sequence of Constraint
        The side constraints beyond the instance's.
    history : sequence, optional
        Of a plan: what had happened when the rest of the instance was planned.
    """

    instance: Any
    formulation: str | None
    options: Mapping[str, Any]
    added: Sequence[Constraint] = ()
    history: Sequence[Any] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LazyQuestion) and self.question == other.question

    def __hash__(self) -> int:
        return hash(self.formulation)

    @classmethod
    def of_document(
        cls, question: Question, instance: Any = None, history: Sequence[Any] | None = None
    ) -> LazyQuestion:
        """Return the lazy question for a question that a result document holds."""
        asked = cls(instance, question.formulation, question.options, (), history)
        asked.__dict__["question"] = question
        return asked

    @cached_property
    def question(self) -> Question:
        """What was asked, as a document holds it."""
        rules = [*self.instance.constraints, *self.added]
        return Question(
            instance=identity(self.instance),
            formulation=self.formulation,
            options=as_document(dict(self.options)),
            constraints=tuple(as_document(rule) for rule in rules),
        )


def as_document(record: Any) -> Any:
    """Return a record as values of JSON types."""
    return msgspec.json.decode(to_json(record))
