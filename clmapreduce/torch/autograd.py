"""The autograd function of reductions: its backward pass is a reduction again, so it can be differentiated as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from clmapreduce.gradients.framework import Framework, Results, Tensors
from clmapreduce.gradients.job import Job
from clmapreduce.gradients.terms import gradients
from clmapreduce.torch.tensors import host_view, tensor_from


class _Reduce(torch.autograd.Function):
    """The results of a job, for its tensors."""

    @staticmethod
    def forward(ctx: Any, job: Job, *tensors: Any) -> Any:
        device = tensors[0].device
        results = tuple(tensor_from(result, device) for result in job.results(list(map(host_view, tensors))))
        ctx.job = job
        ctx.save_for_backward(*tensors, *results)
        ctx.mark_non_differentiable(*(result for result in results if not result.is_floating_point()))
        ctx.set_materialize_grads(False)
        return results

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        job, count, saved = ctx.job, len(ctx.job.variables), ctx.saved_tensors
        tensors, needed = saved[:count], ctx.needs_input_grad[1:]
        if cotangents[0] is None:
            return (None, *(None for _ in tensors))
        return (None, *gradients(TORCH, job, (tensors, needed), saved[count], cotangents[0]))


class Torch(Framework):
    """PyTorch."""

    def run(self, job: Job, tensors: Tensors) -> Results:
        results: Results = _Reduce.apply(job, *tensors)
        return results

    def constants(self, job: Job, tensors: Tensors) -> Results:
        with torch.no_grad():
            return self.run(job, tensors)

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
