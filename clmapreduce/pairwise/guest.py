"""Arrays of other libraries, which formulas hold in place of NumPy's until a reduction runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from clmapreduce.dtypes import DType


class GuestArray(ABC):
    """An array of another library with NumPy's words for what formulas ask: shapes, dtypes, views and subscripts.

    shape, dtype: as NumPy has them. key: equal for arrays that are one variable. Whoever brings such arrays brings what
    computes with them: `reduced`, or a class of reductions (`Symbolic.reducing`).
    """

    shape: tuple[int, ...]
    dtype: DType
    key: Hashable

    @property
    def ndim(self) -> int:
        """How many axes there are."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many numbers there are."""
        count = 1
        for length in self.shape:
            count *= length
        return count

    def example(self) -> np.ndarray[Any, Any]:
        """A NumPy array that reductions of this one are planned by."""
        return np.zeros(self.shape, self.dtype)

    def reduced(self, call: Any, arrays: Mapping[Any, Any], settings: Mapping[str, Any]) -> Any:
        """What a reduction of such arrays gives, where `Symbolic.reducing` knows nothing of them. call: a PairCall.
        arrays: by variable. settings: its keywords.
        """
        raise NotImplementedError(f"{type(self).__name__} brings a class of reductions")

    @abstractmethod
    def reshape(self, shape: tuple[int, ...]) -> GuestArray:
        """The same numbers in another shape."""

    @abstractmethod
    def view(self, dtype: DType | None) -> GuestArray:
        """Complex numbers as alternating real and imaginary parts, or the reverse."""

    @abstractmethod
    def __getitem__(self, key: Any) -> GuestArray:
        """As of a NumPy array, for `...`, slices, lists of indices and masks."""
