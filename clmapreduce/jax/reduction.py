"""Reductions that are called with JAX arrays and give JAX arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clmapreduce.gradients.composed import reduce
from clmapreduce.gradients.job import job_of
from clmapreduce.jax.arrays import JaxArray, array_of, is_traced, jax_arrays
from clmapreduce.jax.autodiff import JAX
from clmapreduce.pairwise.call import PairCall
from clmapreduce.pairwise.inputs import Inputs
from clmapreduce.pairwise.reduction import Reduced


class JaxReduced(Reduced):
    """As `Reduced`, for JAX arrays: the result is one of their dtype, with gradients by each of them."""

    def __call__(self, *arrays: Any, **options: Any) -> Any:
        """The result for these arrays; numbers may stand for parameters. Raises as `Reduced`, ModeError for `out`."""
        return plain(super().__call__(*arrays, **options))

    def _prepared(self, arrays: tuple[Any, ...], options: dict[str, Any]) -> tuple[PairCall, Inputs, dict[str, Any]]:
        return super()._prepared(tuple(map(array_of, arrays)), options)

    def _run(self, call: PairCall, inputs: Inputs, settings: Mapping[str, Any]) -> Any:
        arrays = inputs.arrays
        values = jax_arrays(tuple(arrays.values()))
        results = reduce(JAX, job_of(call, tuple(arrays), settings), values, is_traced(values))
        wrapped = tuple(map(JaxArray, results))
        return wrapped[0] if len(wrapped) == 1 else wrapped


def plain(result: Any) -> Any:
    """The JAX arrays that a formula holds, or a tuple of them."""
    if isinstance(result, tuple):
        return tuple(map(plain, result))
    return result.array if isinstance(result, JaxArray) else result
