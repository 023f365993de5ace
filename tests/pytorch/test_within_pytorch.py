"""Reductions among PyTorch's other parts: no_grad, memory, versions, loaders' workers, the compiler."""

from __future__ import annotations

import textwrap
import warnings
from typing import Any

import numpy as np
import pytest
from support.child_processes import ended_well, run_on

import clmapreduce as cm
from clmapreduce.gradients.job import Job

torch = pytest.importorskip("torch")
ct = pytest.importorskip("clmapreduce.torch")

pytestmark = pytest.mark.drawn

FORMULA = "Exp(-g * SqDist(x, y)) * b"
ALIASES = ["x = Vi(3)", "y = Vj(3)", "b = Vj(2)", "g = Pm(1)"]
REDUCTION = ct.Genred(FORMULA, ALIASES, axis=1)
DTYPES = {torch.float16: 2e-3, torch.bfloat16: 2e-2, torch.float32: 1e-5, torch.float64: 1e-12}
"""Relative to results of 1 or more. A result is rounded once: 2^-11, 2^-8, 2^-24; the sum of five terms loses no more."""


@pytest.fixture
def how(context: cm.Context, mode: str) -> dict[str, Any]:
    return {"context": context, "mode": mode}


@pytest.fixture
def dtype(context: cm.Context) -> Any:
    return torch.float64 if context.device.fp64 else torch.float32


def inputs(rng: np.random.Generator, dtype: Any) -> list[Any]:
    shapes = (6, 3), (5, 3), (5, 2), (1,)
    return [torch.from_numpy(rng.uniform(0.5, 1, shape)).to(dtype) for shape in shapes]


def dense(x: Any, y: Any, b: Any, g: Any) -> Any:
    x, y, b, g = (t.double() for t in (x, y, b, g))
    return torch.exp(-g * (x[:, None] - y).square().sum(-1)) @ b


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes_and_devices_are_kept(dtype: Any, how: Any, context: cm.Context, rng: np.random.Generator) -> None:
    if dtype is torch.bfloat16:
        pytest.importorskip("ml_dtypes")
    if dtype is torch.float64 and not context.device.fp64:
        pytest.skip("needs fp64")
    operands = [t.requires_grad_() for t in inputs(rng, dtype)]
    result = REDUCTION(*operands, **how)
    assert (result.dtype, result.device) == (dtype, operands[0].device)
    exact = dense(*operands)
    torch.testing.assert_close(result.double(), exact, rtol=DTYPES[dtype], atol=DTYPES[dtype])
    gradients = torch.autograd.grad(result.sum(), operands)
    assert [(g.dtype, g.device, g.shape) for g in gradients] == [(t.dtype, t.device, t.shape) for t in operands]
    for gradient, expected in zip(gradients, torch.autograd.grad(exact.sum(), operands), strict=True):
        bound = 30 * DTYPES[dtype]  # of sums of 12 terms or fewer, of size 1
        torch.testing.assert_close(gradient.double(), expected.double(), rtol=bound, atol=bound)


@pytest.mark.parametrize("asking", range(4))
def test_only_tensors_that_ask_have_gradients(asking: int, how: Any, dtype: Any, rng: np.random.Generator) -> None:
    operands = inputs(rng, dtype)
    operands[asking].requires_grad_()
    result = REDUCTION(*operands, **how)
    assert result.requires_grad
    result.sum().backward()
    assert [t.grad is not None for t in operands] == [place == asking for place in range(4)]
    with torch.no_grad():
        assert not REDUCTION(*operands, **how).requires_grad
    with torch.inference_mode():
        assert REDUCTION(*operands, **how).is_inference()
    assert not REDUCTION(*(t.detach() for t in operands), **how).requires_grad


def test_tensors_of_the_cpu_are_read_and_given_where_they_are(
    how: Any, dtype: Any, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    outs: list[Any] = []
    results = Job.results

    def watched(job: Job, arrays: Any, out: Any = None) -> Any:
        result = results(job, arrays, out)
        outs.append(([a.__array_interface__["data"][0] for a in arrays], [a.__array_interface__["data"][0] for a in result]))
        return result

    monkeypatch.setattr(Job, "results", watched)
    operands = [t.requires_grad_() for t in inputs(rng, dtype)]
    result = REDUCTION(*operands, **how)
    assert outs == [([t.data_ptr() for t in operands], [result.data_ptr()])]
    lazy = (-ct.Vi(operands[0]).sqdist(ct.Vj(operands[1][1:]))).exp().sum(1, **how)  # a view of a part
    assert outs[1] == ([operands[0].data_ptr(), operands[1][1:].data_ptr()], [lazy.data_ptr()])
    result.sum().backward()
    assert {t.data_ptr() for t in operands} <= set(outs[2][0])  # of one of the backward pass's reductions


def test_layouts_of_memory_change_nothing(how: Any, dtype: Any, rng: np.random.Generator) -> None:
    x, y, b, g = inputs(rng, dtype)
    expected = REDUCTION(x, y, b, g, **how)
    strided = x.t().contiguous().t(), y.repeat_interleave(2, 0)[::2], torch.stack([b, b], -1)[..., 0], g.expand(1)
    assert not any(t.is_contiguous() for t in strided[:3])
    torch.testing.assert_close(REDUCTION(*strided, **how), expected, rtol=0, atol=0)
    ones = torch.ones(1, 1, dtype=dtype, requires_grad=True)
    everywhere = REDUCTION(x, y, ones.expand(5, 2), g, **how)  # a stride of 0
    torch.testing.assert_close(everywhere, REDUCTION(x, y, torch.ones_like(b), g, **how), rtol=0, atol=0)
    everywhere.sum().backward()
    torch.testing.assert_close(ones.grad.double(), dense(x, y, torch.ones_like(b), g).sum()[None, None], rtol=1e-5, atol=0)
    negative = torch._neg_view(x)  # a view that changes signs where it is read
    torch.testing.assert_close(REDUCTION(negative, y, b, g, **how), REDUCTION(-x, y, b, g, **how), rtol=0, atol=0)


def test_a_tensor_that_changed_after_the_forward_pass_is_refused(how: Any, dtype: Any, rng: np.random.Generator) -> None:
    operands = inputs(rng, dtype)
    operands[0].requires_grad_()
    result = REDUCTION(*operands, **how)
    operands[1].add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()


def test_maps_refuse_tensors_that_ask_for_gradients(how: Any, dtype: Any) -> None:
    x = torch.ones(3, dtype=dtype, requires_grad=True)
    for call in (cm.Map("x * 2"), cm.Reduce("sum")):
        with pytest.raises(cm.DTypeError, match="detach"):
            call(x, **how)
        assert np.asarray(call(x.detach(), **how)).sum() in (3, 6)


def test_out_takes_the_result(how: Any, dtype: Any, rng: np.random.Generator) -> None:
    operands = inputs(rng, dtype)
    out = torch.full((6, 2), torch.nan, dtype=dtype)
    version = out._version
    assert REDUCTION(*operands, out=out, **how) is out and out._version > version
    torch.testing.assert_close(out, REDUCTION(*operands, **how), rtol=0, atol=0)
    x, y = ct.Vi(operands[0]), ct.Vj(operands[1])
    both = torch.full((6, 1), torch.nan, dtype=dtype), torch.full((6, 1), -1)
    result = x.sqdist(y).min_argmin(1, out=both, **how)
    assert result[0] is both[0] and result[1] is both[1]
    for one, expected in zip(both, x.sqdist(y).min_argmin(1, **how), strict=True):
        assert torch.equal(one, expected)
    before = out.clone()
    for wrong, error, match in (
        (out.numpy(), cm.ModeError, "give a tensor"),
        (torch.empty(6, 3, dtype=dtype), cm.ShapeError, "shape"),
        (torch.empty(6, 1, dtype=dtype).expand(6, 2), cm.ShapeError, "share their memory"),
        (torch.empty(6, 2, dtype=torch.int32), cm.DTypeError, "int32"),
        (torch.empty(6, 2, dtype=dtype, device="meta"), cm.DeviceError, "meta"),
    ):
        with pytest.raises(error, match=match):
            REDUCTION(*operands, out=wrong, **how)
    operands[2].requires_grad_()
    with pytest.raises(cm.ModeError, match="no_grad"):
        REDUCTION(*operands, out=out, **how)
    with pytest.raises(cm.ModeError, match=r"under torch\.vmap"):
        torch.vmap(lambda g: REDUCTION(*(t.detach() for t in operands[:3]), g, out=out, **how))(torch.ones(2, 1, dtype=dtype))
    with torch.no_grad():
        REDUCTION(operands[0], operands[1], 2 * operands[2], operands[3], out=out, **how)
    torch.testing.assert_close(out, 2 * before, rtol=0, atol=0)


def test_compiled_functions_call_reductions(how: Any, dtype: Any, rng: np.random.Generator) -> None:
    import torch._dynamo as dynamo

    operands = [t.requires_grad_() for t in inputs(rng, dtype)]

    def loss(x: Any, y: Any, b: Any, g: Any) -> Any:
        return (REDUCTION(2 * x, y, b, g, **how) * 3).square().sum()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of PyTorch's compiler about itself
        dynamo.reset()
        compiled = torch.compile(loss, backend="eager")(*operands)
        parts = dynamo.explain(loss)(*operands)
        dynamo.reset()
    assert parts.graph_count == 2  # before and behind the reduction
    expected = loss(*operands)
    torch.testing.assert_close(compiled, expected, rtol=0, atol=0)
    for ours, exact in zip(torch.autograd.grad(compiled, operands), torch.autograd.grad(expected, operands), strict=True):
        torch.testing.assert_close(ours, exact, rtol=0, atol=0)


LOADER = """
import os, tempfile
from pathlib import Path

folder = Path(tempfile.mkdtemp())
(folder / "nearest_rows.py").write_text('''
import torch
import clmapreduce as cm
import clmapreduce.torch as ct


class Nearest(torch.utils.data.Dataset):
    def __init__(self, device):
        self.device, self.points = device, torch.arange(40, dtype=torch.float32)[:, None]

    def __len__(self):
        return 12

    def __getitem__(self, place):
        row = self.points[3 * place : 3 * place + 1] + 0.2
        return ct.Vi(row).sqdist(ct.Vj(self.points)).argmin(1, context=cm.Context(cm.devices()[self.device]))[0]
''')
sys.path.insert(0, str(folder))
os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), os.environ["PYTHONPATH"]])
import torch
from nearest_rows import Nearest

data = Nearest(INDEX)
first = data[1]  # OpenCL runs in this process as well
if __name__ == "__main__":
    loader = torch.utils.data.DataLoader(data, batch_size=4, num_workers=2, multiprocessing_context="spawn")
    print(int(first), torch.cat(list(loader))[:, 0].tolist())
"""


def test_workers_of_a_loader_reduce(context: cm.Context) -> None:
    index = cm.devices().index(context.device)
    process = run_on(index, textwrap.dedent(LOADER).replace("INDEX", str(index)), seconds=240)
    ended_well(process, f"3 {[3 * place for place in range(12)]}")
