"""The autograd function of reductions. Its derivatives are reductions again, so they can be differentiated as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from clmapreduce.gradients.framework import Framework, Results, Tensors
from clmapreduce.gradients.job import Job
from clmapreduce.gradients.tangents import tangent
from clmapreduce.gradients.terms import gradients
from clmapreduce.torch.mapped import batched
from clmapreduce.torch.tensors import host_view, tensor_from


class _Reduce(torch.autograd.Function):
    """The results of a job, for its tensors."""

    @staticmethod
    def forward(job: Job, *tensors: Any) -> Any:
        device = tensors[0].device
        return tuple(tensor_from(result, device) for result in job.results(list(map(host_view, tensors))))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.job, *tensors = inputs
        ctx.save_for_backward(*tensors, output[0])
        ctx.save_for_forward(*tensors, output[0])
        ctx.mark_non_differentiable(*(result for result in output if not result.is_floating_point()))
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        *tensors, result = ctx.saved_tensors
        needed = ctx.needs_input_grad[1:]
        if cotangents[0] is None:
            return (None, *(None for _ in tensors))
        return (None, *with_zeros(gradients(TORCH, ctx.job, (tensors, needed), result, cotangents[0]), tensors, needed))

    @staticmethod
    def jvp(ctx: Any, _: None, *directions: Any) -> Any:
        *tensors, result = ctx.saved_tensors
        change = tangent(TORCH, ctx.job, (tensors, directions), result)
        return (torch.zeros_like(result) if change is None else change,)

    @staticmethod
    def vmap(info: Any, in_dims: Any, job: Job, *tensors: Any) -> Any:
        results = _Reduce.apply(job, *batched(job, tensors, in_dims[1:]))
        return results, tuple(0 for _ in results)


def with_zeros(gradients: Sequence[Any], tensors: Sequence[Any], needed: Sequence[bool]) -> list[Any]:
    """Gradients with zeros for those that are None and needed: of floor(x), say, as PyTorch's own functions give."""
    return [
        torch.zeros_like(tensor) if gradient is None and is_needed else gradient
        for gradient, tensor, is_needed in zip(gradients, tensors, needed, strict=True)
    ]


class Torch(Framework):
    """PyTorch."""

    def run(self, job: Job, tensors: Tensors) -> Results:
        results: Results = _Reduce.apply(job, *tensors)
        return results

    def constants(self, job: Job, tensors: Tensors) -> Results:
        with torch.no_grad():
            return self.run(job, [tensor.detach() for tensor in tensors])  # no_grad leaves forward mode on

    def where(self, mask: Any, chosen: Any, other: Any) -> Any:
        return torch.where(mask, chosen, other)

    def clamped(self, places: Any, last: int) -> Any:
        return places.clamp(0, last)

    def root(self, values: Any) -> Any:
        return values.sqrt()

    def split(self, tensor: Any, dims: Sequence[int]) -> Sequence[Any]:
        parts: Sequence[Any] = tensor.split(list(dims), -1)
        return parts

    def fitted(self, values: Any, shape: tuple[int, ...]) -> Any:
        return values.sum_to_size(shape)

    def spread(self, values: Any, shape: tuple[int, ...]) -> Any:
        return values.expand(shape)

    def gathered(self, tensor: Any, places: Any) -> Any:
        batch, dim = places.shape[:-2], tensor.shape[-1]
        index = places.flatten(-2).unsqueeze(-1).expand(*batch, -1, dim)
        return tensor.expand(*batch, *tensor.shape[-2:]).gather(-2, index).unflatten(-2, places.shape[-2:])

    def stacked(self, coordinates: Sequence[Any]) -> Any:
        return torch.stack(list(coordinates), -1).transpose(-2, -3)


TORCH = Torch()
