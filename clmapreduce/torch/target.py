"""Reductions that write into tensors of the caller's: out=."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from clmapreduce.checks import quoted, repeats
from clmapreduce.errors import DeviceError, ModeError, ShapeError
from clmapreduce.gradients.job import Job
from clmapreduce.torch.tensors import host_view, is_followed


def write_to(job: Job, tensors: Sequence[Any], out: Any) -> Any:
    """`out` with the results of a job in it. Raises ModeError if it is not a tensor or would need a gradient,
    DeviceError for a tensor that is neither on the CPU nor on a CUDA device, ShapeError and DTypeError for one that
    does not fit, or that repeats its elements. Results for a CUDA device are copied there from pinned memory.
    """
    targets = out if isinstance(out, tuple) else (out,)
    for target in targets:
        if not isinstance(target, torch.Tensor):
            raise ModeError(f"out= is {quoted(target)}; give a tensor, or a tuple of one per result")
        if target.device.type not in ("cpu", "cuda") or target.is_neg():
            raise DeviceError(
                f"out= is a tensor on {target.device}; give a plain tensor on the CPU or a CUDA device, or leave it out"
            )
        if repeats(target.shape, target.stride(), 1):
            raise ShapeError("out= has elements that share their memory; give a tensor of its own, such as out.clone()")
    if not all(map(_has_memory, (*tensors, *targets))):
        raise ModeError("out= is not offered under torch.vmap and torch.func; take the tensor that the reduction gives")
    if any(map(is_followed, (*tensors, *targets))):
        raise ModeError("out= has no gradient; call under torch.no_grad(), or leave out= away")
    hosts = tuple(map(_on_host, targets))
    views = tuple(map(host_view, hosts))
    job.results(list(map(host_view, tensors)), views if isinstance(out, tuple) else views[0])
    for target, host in zip(targets, hosts, strict=True):
        if target is not host:
            target.detach().copy_(host)
    torch.autograd.graph.increment_version(targets)
    return out


def _on_host(target: Any) -> Any:
    """The target itself where it is on the CPU; else pinned memory for its numbers."""
    if target.device.type == "cpu":
        return target
    return torch.empty(target.shape, dtype=target.dtype, pin_memory=True)


def _has_memory(tensor: Any) -> bool:
    """Whether a tensor is numbers in memory; those inside of vmap and torch.func are not."""
    try:
        tensor.data_ptr()
    except RuntimeError:
        return False
    return True
