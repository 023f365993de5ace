"""Tensors on a CUDA device, where PyTorch has one: what tensors on the CPU give, to the bit, back on that device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm

torch = pytest.importorskip("torch")
ct = pytest.importorskip("clmapreduce.torch")

CUDA = "cuda"

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch has no CUDA device here")


def on_both(rng: np.random.Generator, *shapes: tuple[int, ...], dtype: str = "f8") -> tuple[list[Any], list[Any]]:
    """The same random tensors on the CPU and on the CUDA device, all of which need gradients."""
    arrays = [rng.standard_normal(shape).astype(dtype) for shape in shapes]
    host, there = ([torch.tensor(a, device=d, requires_grad=True) for a in arrays] for d in ("cpu", CUDA))
    return host, there


def assert_equal(host: Any, there: Any) -> None:
    assert there.device.type == CUDA and there.dtype == host.dtype and torch.equal(there.cpu(), host)


def gaussian(x: Any, y: Any, b: Any, **how: Any) -> Any:
    return ((-ct.Vi(x).sqdist(ct.Vj(y))).exp() * ct.Vj(b)).sum(1, **how)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_values_and_two_derivatives(dtype: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    if dtype == "f8" and not context.device.fp64:
        pytest.skip("no float64")
    steps: list[list[Any]] = []
    for x, y, b in on_both(rng, (40, 3), (300, 3), (300, 2), dtype=dtype):
        value = gaussian(x, y, b, context=context, mode=mode)
        first = torch.autograd.grad(value.sum(), (x, y, b), create_graph=True)
        steps.append([value, *first, *torch.autograd.grad(first[0].square().sum(), (x, b))])
    for host, there in zip(*steps, strict=True):
        assert_equal(host.detach(), there.detach())


@pytest.mark.parametrize("call", [
    lambda x, y: ct.Vi(x).sqdist(ct.Vj(y)).argmin(1),
    lambda x, y: ct.Vi(x).sqdist(ct.Vj(y)).argKmin(3, 1),
    lambda x, y: (-ct.Vi(x).sqdist(ct.Vj(y))).logsumexp(1),
    lambda x, y: ct.Genred("SqDist(x, y)", ["x = Vi(3)", "y = Vj(3)"], reduction_op="Max", axis=1)(x, y),
])  # fmt: skip
def test_other_reductions(call: Callable[..., Any], context: cm.Context, rng: np.random.Generator) -> None:
    with context:
        host, there = (call(*tensors) for tensors in on_both(rng, (40, 3), (300, 3), dtype="f4"))
    assert_equal(host.detach(), there.detach())


def test_out_takes_the_result(context: cm.Context, rng: np.random.Generator) -> None:
    """Also where the target's numbers are not contiguous; a target of another shape keeps its numbers."""
    with context, torch.no_grad():
        host, there = ([ct.Vi(x), ct.Vj(y)] for x, y in on_both(rng, (40, 3), (300, 3), dtype="f4"))
        squares, nearest = (x.sqdist(y) for x, y in (there, host))
        out = torch.full((1, 40), torch.nan, device=CUDA).T
        both = out, torch.full((40, 1), -1, device=CUDA)
        assert squares.min_argmin(1, out=both) is not None
        for target, expected in zip(both, nearest.min_argmin(1), strict=True):
            assert_equal(expected, target)
        before = out.clone()
        with pytest.raises(cm.ShapeError, match="shape"):
            squares.min(1, out=out[:39])
        assert torch.equal(out, before)


def test_clusters_and_ranges(context: cm.Context, rng: np.random.Generator) -> None:
    cluster = pytest.importorskip("clmapreduce.torch.cluster")
    sums = []
    for x, y in on_both(rng, (150, 2), (120, 2), dtype="f4"):
        (x, i), (y, j) = (cluster.sort_clusters(points, cluster.grid_cluster(points, 1.0)) for points in (x, y))
        (rows, a, _), (columns, b, _) = cluster.cluster_ranges_centroids(x, i), cluster.cluster_ranges_centroids(y, j)
        K = (-ct.Vi(x).sqdist(ct.Vj(y))).exp()
        # on the CPU for both, since a CUDA device may round a distance to the other side of the limit
        keep = (a.detach().cpu()[:, None] - b.detach().cpu()).square().sum(-1) < 2
        ranges = cluster.from_matrix(rows, columns, keep)
        sums.append(K.sum(1, ranges=ranges, context=context).detach())
        K.ranges = ranges
        assert torch.equal(K.sum(1, context=context).detach(), sums[-1])
    assert_equal(*sums)


def test_a_solver(context: cm.Context, rng: np.random.Generator) -> None:
    if not context.device.fp64:
        pytest.skip("no float64")
    solve = ct.KernelSolve("Exp(-SqDist(x, y)) * b", ["x = Vi(2)", "y = Vj(2)", "b = Vj(1)"], "b", axis=1)
    with context:
        host, there = (solve(x, x, b, alpha=0.5) for x, b in on_both(rng, (50, 2), (50, 1)))
    assert there.device.type == CUDA
    # PyTorch iterates on the tensors' device. Both end with residuals of 1e-6 (root mean square of 50); an error is a
    # residual over the least eigenvalue, which is 0.5 at least.
    assert torch.linalg.vector_norm(there.cpu() - host) <= 2 * 1e-6 * 50**0.5 / 0.5


def test_tensors_of_two_devices_are_refused(rng: np.random.Generator) -> None:
    (x, _), (_, y) = on_both(rng, (5, 3), (6, 3), dtype="f4")
    with pytest.raises(cm.DeviceError, match="move them to one device"):
        ct.Vi(x).sqdist(ct.Vj(y)).sum(1)
