"""Functions that users pass, in pickles: by name where it can be imported, else by value, with cloudpickle."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from clmapreduce.errors import ArgumentError

__all__ = ["Portable", "rebuilt"]


class Portable:
    """A function inside a pickle. Pickling it raises ArgumentError if that needs cloudpickle, which is not there."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __deepcopy__(self, memo: Any) -> Portable:
        return self

    def __reduce__(self) -> Any:
        try:
            pickle.dumps(self.function)
        except Exception as error:
            return _by_value, (_bytes_of(self.function, error),)
        return Portable, (self.function,)


def rebuilt(kind: Callable[..., Any], *arguments: Any) -> Any:
    """What `kind` makes of the arguments, of which those inside a Portable are functions."""
    return kind(*(argument.function if isinstance(argument, Portable) else argument for argument in arguments))


def _bytes_of(function: Callable[..., Any], refused: Exception) -> bytes:
    try:
        import cloudpickle
    except ImportError:
        raise ArgumentError(
            f"{function!r} cannot be pickled by name ({refused}); by value it can, once cloudpickle is installed: "
            "pip install cloudpickle"
        ) from refused
    pickled: bytes = cloudpickle.dumps(function)
    return pickled


def _by_value(pickled: bytes) -> Portable:
    return Portable(pickle.loads(pickled))
