"""Reductions in functions that torch.compile compiles: they run as they are, between two compiled parts."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch


def as_it_is(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that torch.compile does not look into. PyTorch's compiler is imported once something is compiled."""

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling():
            return torch.compiler.disable(function)(*args, **kwargs)
        return function(*args, **kwargs)

    return called
