"""The question that a policy is measured against."""

from dataclasses import dataclass, field
from typing import Any, Generic

from typing_extensions import TypeVar

from schedopt.instances.options import Options
from schedopt.instances.protocol import AnyInstance

I = TypeVar("I", bound=AnyInstance, default=Any)  # the type of a problem's instances


@dataclass(frozen=True)
class Question(Generic[I]):
    """What a policy is measured against: what is solved, and what its optimum bounds.

    Attributes
    ----------
    instance : Instance
        What to solve.
    formulation, options : str, mapping
        As what, with its options; the default formulation where not given.
    ruled : bool
        Whether side constraints beyond the instance's apply to it.
    bounding : bool
        Whether no policy can be better than its optimum.
    """

    instance: I
    formulation: str | None = None
    options: Options = field(default_factory=dict)
    ruled: bool = True
    bounding: bool = True
