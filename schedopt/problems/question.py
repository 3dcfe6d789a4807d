"""The question that a policy is measured against."""

from dataclasses import dataclass, field
from typing import Any, Generic

from typing_extensions import TypeVar

from schedopt.instances.options import Options
from schedopt.instances.protocol import AnyInstance

I = TypeVar("I", bound=AnyInstance, default=Any)  # the type of a problem's instances


@dataclass(frozen=True)
class Question(Generic[I]):
    """The question that a policy is measured against, and what its optimum bounds."""

    instance: I
    formulation: str | None = None  # the default one
    options: Options = field(default_factory=dict)
    ruled: bool = True  # whether side constraints beyond the instance's apply to it
    bounding: bool = True  # whether no policy can be better than its optimum
