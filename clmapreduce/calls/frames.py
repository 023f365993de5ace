"""pandas' columns and tables among arguments: results by key take their names, and the keys as their index.

pandas is never imported here: where one of its objects comes, it is there.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from clmapreduce.errors import ShapeError


def is_frame(x: Any) -> bool:
    """Whether `x` is one of pandas' Series, Index or DataFrame."""
    kind: Any = type(x)
    return _of_pandas(kind)


@lru_cache(maxsize=1024)
def _of_pandas(kind: Any) -> bool:
    bases = [base for base in kind.__mro__ if base.__module__.partition(".")[0] == "pandas"]
    return any(base.__name__ in ("Series", "Index", "DataFrame") for base in bases)


@dataclass(frozen=True)
class Framed:
    """What pandas' objects tell of a call by key. key: the name of the keys. values: those reduced, or None where they
    are no pandas' object.
    """

    key: Any
    values: Any

    def keyed(self, keys: Any, reduced: Any) -> tuple[Any, Any]:
        """(the keys as an Index, the reductions as a Series or a DataFrame under it)."""
        pandas = sys.modules["pandas"]
        keys = keys if isinstance(keys, pandas.Index) else np.asarray(keys)
        index, reduced = pandas.Index(keys, name=self.key), np.asarray(reduced)
        if reduced.ndim == 2:
            return index, pandas.DataFrame(reduced, index=index, columns=getattr(self.values, "columns", None))
        return index, pandas.Series(reduced, index=index, name=getattr(self.values, "name", None))

    def alike(self, results: Any) -> Any:
        """Results, one for each value, as a Series under the values' own index."""
        pandas = sys.modules["pandas"]
        if not is_frame(self.values) or not hasattr(self.values, "index"):
            return results
        return pandas.Series(results, index=self.values.index, name=self.values.name)


def arrays_of(values: Any) -> Any:
    """Values, or a tuple of them, with NumPy's arrays for pandas' objects."""
    if isinstance(values, tuple):
        return tuple(arrays_of(each) for each in values)
    return np.asarray(values) if is_frame(values) else values


def framed(keys: Any, values: Any) -> Framed | None:
    """What pandas' objects among keys and values tell; None where there are none. values: an array, or a tuple of them,
    which has no names. Raises ShapeError where both have an index, and another one.
    """
    several = values if isinstance(values, tuple) else (values,)
    if not any(map(is_frame, (keys, *several))):
        return None
    indices = [x.index for x in (keys, *several) if is_frame(x) and hasattr(x, "index")]
    if any(not indices[0].equals(other) for other in indices[1:]):
        raise ShapeError("keys and values have another index each; align them, as by values.reindex(keys.index)")
    return Framed(getattr(keys, "name", None), None if isinstance(values, tuple) else values)
