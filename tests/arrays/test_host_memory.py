"""DeviceArrays in memory of the host, shared with NumPy and whoever takes DLPack, without copies."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm

pytestmark = pytest.mark.drawn
LENGTHS = [0, 1, 2, 31, 33, 100_003]


@pytest.fixture
def here(context: cm.Context) -> cm.Context:
    if not context.facts.lends_memory:
        pytest.skip("the device has memory of its own")
    return context


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("code", ["f4", "i2", "c8", "?", "f8"])
def test_both_see_what_the_other_writes(
    length: int, code: str, here: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    a = rng.integers(0, 2, length).astype(code)
    expected = a.copy()
    x = cm.from_dlpack(a, copy=False, context=here)
    np.testing.assert_array_equal(x.to_numpy(), expected)
    cm.Map(lambda v: cm.where(v == 0, 1, 0).astype(code))(x, out=x, mode=mode)
    view = np.from_dlpack(x)
    np.testing.assert_array_equal(view, (expected == 0).astype(code))
    assert not length or np.shares_memory(view, a)
    a[...] = expected
    copied = x.copy()
    np.testing.assert_array_equal(copied.to_numpy(), expected)
    assert not np.shares_memory(np.from_dlpack(x, copy=True), a)


def test_parts_and_every_kind_of_call(here: cm.Context, mode: str, rng: np.random.Generator) -> None:
    a = rng.standard_normal(6000).astype("f4")
    x, b = cm.from_dlpack(a, copy=False, context=here), a.copy()
    part = x[5:37]
    part += 1
    b[5:37] += 1
    view = np.asarray(part, copy=False)
    assert np.shares_memory(view, a)
    np.testing.assert_array_equal(view, b[5:37])
    np.testing.assert_array_equal(x.to_numpy(), b)
    np.testing.assert_array_equal(part.copy().to_numpy(), b[5:37])
    np.add(x[:-1], x[1:], out=x[1:])
    b[1:] = b[:-1] + b[1:]
    np.testing.assert_array_equal(x[::7].to_numpy(), b[::7])
    x[x > 0] = 0
    b[b > 0] = 0
    x[10:20] = cm.array(np.arange(10, dtype="f4"), here)
    b[10:20] = np.arange(10)
    x.result()
    np.testing.assert_array_equal(a, b)
    assert abs(cm.Reduce("sum")(x, mode=mode).item() - b.astype("f8").sum()) < 1e-2
    np.testing.assert_array_equal(cm.sort(x, mode=mode).to_numpy(), np.sort(b))
    segments = cm.segmented_reduce(x, np.array([0, 10, 6000]), "minimum", mode=mode)
    np.testing.assert_array_equal(segments.to_numpy(), [b[:10].min(), b[10:].min()])
    points = x.reshape(2000, 3)
    sums = (cm.Vi(points[:10]) - cm.Vj(points)).sqnorm2().min(axis=1, mode=mode)
    assert (sums.to_numpy() == 0).all()
    compiled = cm.fuse(lambda v: v - cm.Reduce("maximum")(v)).compile([(6000,)], "f4", context=here, mode=mode)
    np.testing.assert_array_equal(compiled(x).to_numpy(), b - b.max())
    target = cm.from_dlpack(np.full(6000, 77, "f4"), copy=False, context=here)
    assert cm.Map(lambda v: -v)(x, out=target, mode=mode) is target
    np.testing.assert_array_equal(np.from_dlpack(target), -b)


def test_the_memory_lives_as_long_as_anybody(here: cm.Context) -> None:
    a = np.full(5000, 3.0, np.float32)
    x = cm.from_dlpack(a, copy=False, context=here)
    del a
    gc.collect()
    x *= 2
    view = np.from_dlpack(x)
    del x
    gc.collect()
    assert (view == 6).all()


class Lender:
    """Another library's array: DLPack and nothing else."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.values.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def test_other_librarys_arrays(here: cm.Context) -> None:
    lender = Lender(np.arange(10, dtype="f4"))
    x = cm.from_dlpack(lender, copy=False, context=here)
    x += 1
    x.result()
    np.testing.assert_array_equal(lender.values, np.arange(1, 11))


def test_what_cannot_be_shared(here: cm.Context) -> None:
    fixed = np.ones(4)
    fixed.flags.writeable = False
    for wrong, match in (
        (fixed, "is read-only"), (np.ones((4, 4))[:, 1], "has steps"), (np.ones(3, ">f4"), "byte order"),
        (np.frombuffer(bytearray(41), "u1")[1:41].view("f8"), "between numbers"),
    ):  # fmt: skip
        with pytest.raises(cm.ExportError, match=match):
            cm.from_dlpack(wrong, copy=False, context=here)
    x = cm.from_dlpack(np.ones(4), copy=False, context=here)
    with pytest.raises(cm.ExportError, match=r"x\.copy\(\)"):
        x.to_pyopencl()
    assert x.copy().to_pyopencl().get().tolist() == [1.0] * 4
    plain = cm.array(np.ones(3), here)
    with pytest.raises(BufferError, match="as a copy"):
        np.from_dlpack(plain, copy=False)
    with pytest.raises(cm.ModeError, match="without a copy"):
        np.asarray(plain, copy=False)
