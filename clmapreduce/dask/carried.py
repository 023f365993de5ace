"""Values that tasks carry by their pickle: a process unpickles each once, so that it plans and builds once."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import cloudpickle
from dask.base import tokenize

from clmapreduce.errors import ArgumentError


class Carried:
    """A value by its pickle."""

    __slots__ = ("_pickle",)

    def __init__(self, pickle: bytes) -> None:
        self._pickle = pickle

    @property
    def value(self) -> Any:
        """The value, one object a process."""
        return _unpickled(self._pickle)

    def __reduce__(self) -> Any:
        return Carried, (self._pickle,)

    def __dask_tokenize__(self) -> Any:
        return tokenize(self._pickle)


def carried(value: Any, what: str) -> Carried:
    """A value to be carried. Raises ArgumentError where it cannot leave its process. what: names it."""
    try:
        return Carried(cloudpickle.dumps(value))
    except Exception as error:
        raise ArgumentError(
            f"{what} cannot be pickled for Dask's workers: {error}; let its functions read numbers and NumPy arrays"
        ) from error


@lru_cache(maxsize=512)
def _unpickled(pickle: bytes) -> Any:
    return cloudpickle.loads(pickle)
