"""What is refused: the one error for bad input that a call ends in."""

from collections.abc import Callable
from typing import Any

import pytest

from schedopt.instances.errors import InputError


def refusal(call: Callable[..., object], *args: Any, **options: Any) -> InputError:
    """Return the error that a call raises; it must raise one."""
    with pytest.raises(InputError) as caught:
        call(*args, **options)
    return caught.value
