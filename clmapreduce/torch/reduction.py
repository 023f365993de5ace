"""Reductions that are called with tensors and give tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clmapreduce.gradients.composed import reduce
from clmapreduce.gradients.job import job_of
from clmapreduce.pairwise.call import PairCall
from clmapreduce.pairwise.inputs import Inputs
from clmapreduce.pairwise.reduction import Reduced
from clmapreduce.torch.autograd import TORCH
from clmapreduce.torch.compiling import as_it_is
from clmapreduce.torch.target import write_to
from clmapreduce.torch.tensors import TensorArray, array_of, is_followed, tensors_of


class TensorReduced(Reduced):
    """As `Reduced`, for tensors: the result is a tensor of their dtype and device, with gradients by each of them."""

    @as_it_is
    def __call__(self, *arrays: Any, **options: Any) -> Any:
        """The result for these tensors; numbers may stand for parameters. out: a tensor, or a
        tuple of them, on the CPU or a CUDA device, without gradients. Raises as `Reduced`.
        """
        return plain(super().__call__(*arrays, **options))

    def _prepared(self, arrays: tuple[Any, ...], options: dict[str, Any]) -> tuple[PairCall, Inputs, dict[str, Any]]:
        return super()._prepared(tuple(map(array_of, arrays)), options)

    def _run(self, call: PairCall, inputs: Inputs, settings: Mapping[str, Any]) -> Any:
        arrays = inputs.arrays
        job = job_of(call, tuple(arrays), {**settings, "out": None})
        tensors = tensors_of(tuple(arrays.values()))
        if settings["out"] is not None:
            return write_to(job, tensors, settings["out"])
        results = tuple(map(TensorArray, reduce(TORCH, job, tensors, any(map(is_followed, tensors)))))
        return results[0] if len(results) == 1 else results


def plain(result: Any) -> Any:
    """The tensors of arrays of tensors, or of a tuple of them."""
    if isinstance(result, tuple):
        return tuple(map(plain, result))
    return result.tensor if isinstance(result, TensorArray) else result
