"""Reductions under torch.vmap: a mapped axis is one more axis of the batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clmapreduce.gradients.job import Job
from clmapreduce.vector.node import Category


def batched(job: Job, tensors: Sequence[Any], places: Sequence[int | None]) -> list[Any]:
    """The tensors of a job with their mapped axis in front of all axes of the batch.

    places: per tensor, which axis is mapped; None for none. Tensors without a mapped axis broadcast.
    """
    ranks = [
        tensor.ndim - (place is not None) - (1 if variable.category is Category.PARAMETER else 2)
        for variable, tensor, place in zip(job.variables, tensors, places, strict=True)
    ]
    most = max(ranks)
    return [
        tensor if place is None else _in_front(tensor, place, most - rank)
        for tensor, place, rank in zip(tensors, places, ranks, strict=True)
    ]


def _in_front(tensor: Any, place: int, missing: int) -> Any:
    """One axis before all others, and so many axes of length 1 behind it."""
    moved = tensor.movedim(place, 0)
    return moved.reshape(moved.shape[0], *(1,) * missing, *moved.shape[1:])
