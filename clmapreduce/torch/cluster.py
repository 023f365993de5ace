"""Clusters of points under the names of `pykeops.torch.cluster`: tensors in, tensors of their device out."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
import torch

from clmapreduce import cluster
from clmapreduce.errors import ShapeError
from clmapreduce.ranges import Ranges
from clmapreduce.torch.tensors import host_view, tensor_from

__all__ = [
    "cluster_centroids",
    "cluster_ranges",
    "cluster_ranges_centroids",
    "from_matrix",
    "grid_cluster",
    "sort_clusters",
    "swap_axes",
]


def _of_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arrays as one of tensors, without gradients; results lie on the first tensor's device."""

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        values = (*args, *kwargs.values())
        device = next((x.device for x in values if isinstance(x, torch.Tensor)), torch.device("cpu"))
        result = function(*map(_host, args), **{name: _host(value) for name, value in kwargs.items()})
        several = isinstance(result, tuple)
        tensors = tuple(tensor_from(np.ascontiguousarray(x), device) for x in (result if several else (result,)))
        return tensors if several else tensors[0]

    return called


grid_cluster = _of_tensors(cluster.grid_cluster)
cluster_ranges = _of_tensors(cluster.cluster_ranges)
cluster_centroids = _of_tensors(cluster.cluster_centroids)
cluster_ranges_centroids = _of_tensors(cluster.cluster_ranges_centroids)
from_matrix = _of_tensors(cluster.from_matrix)


def sort_clusters(x: Any, lab: Any) -> tuple[Any, Any]:
    """As `cm.cluster.sort_clusters`, of a tensor or a tuple or list of them; gradients reach them."""
    several = x if isinstance(x, (tuple, list)) else [x]
    order, labels = cluster.sort_clusters(np.arange(len(lab)), _host(lab))
    for one in several:
        if one.shape[:1] != (len(labels),):
            raise ShapeError(f"x has shape {tuple(one.shape)}, lab has length {len(labels)}; there is a label per row")
    points = [one[torch.from_numpy(order).to(one.device)] for one in several]
    return (type(x)(points) if isinstance(x, (tuple, list)) else points[0]), tensor_from(labels, lab.device)


def swap_axes(ranges: Any) -> Ranges | tuple[Any, ...] | None:
    """As `cm.cluster.swap_axes`: nothing is copied."""
    swapped: Ranges | tuple[Any, ...] | None = cluster.swap_axes(ranges)
    return swapped


def _host(x: Any) -> Any:
    return host_view(x) if isinstance(x, torch.Tensor) else x
