"""Dask arrays in formulas of pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from clmapreduce.dask.pairs import pairs
from clmapreduce.dtypes import DType
from clmapreduce.pairwise.guest import GuestArray


class ChunkedArray(GuestArray):
    """A Dask array in a formula."""

    def __init__(self, chunked: Any) -> None:
        self.chunked = chunked
        self.shape, self.dtype = tuple(int(extent) for extent in chunked.shape), chunked.dtype
        self.key = (chunked.name, self.shape, self.dtype)

    def example(self) -> np.ndarray[Any, Any]:
        """Of one chunk of whole vectors."""
        return np.zeros((*(chunks[0] for chunks in self.chunked.chunks[:-1]), self.shape[-1]), self.dtype)

    def reduced(self, call: Any, arrays: Mapping[Any, Any], settings: Mapping[str, Any]) -> Any:
        return pairs(call, arrays, settings)

    def reshape(self, shape: tuple[int, ...]) -> ChunkedArray:
        """The same numbers in another shape."""
        return ChunkedArray(self.chunked.reshape(shape))

    def view(self, dtype: DType | None) -> ChunkedArray:
        """Complex numbers as parts by turns, or the other way round."""
        return ChunkedArray(self.chunked.rechunk({-1: -1}).view(dtype))

    def __getitem__(self, key: Any) -> ChunkedArray:
        """As of a NumPy array."""
        return ChunkedArray(self.chunked[key])

    def __repr__(self) -> str:
        return f"a Dask array of shape {self.shape}"
