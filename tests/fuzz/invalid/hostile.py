"""Values that no argument should be, and right values with one wrong part."""

from __future__ import annotations

import decimal
import fractions
from collections.abc import Callable
from typing import Any

import numpy as np
from fuzz.invalid.strings import hostile_string, mutate

import clmapreduce as cm

WIDE = 1 << 48
"""More elements than a process can address, so that no call can fill them."""


class Liar:
    """An object with wrong attributes of an array."""

    shape = (-1, "x")
    dtype = "f4"
    ndim = 7
    __array_interface__ = {"shape": (-5,), "typestr": "<f4", "version": 3, "data": (0, False)}  # noqa: RUF012

    def __len__(self) -> int:
        return -1


VALUES: list[Callable[[np.random.Generator], Any]] = [
    *(lambda rng, v=v: v for v in (
        None, True, False, -1, 0, 1, 2, 3, -7, 1.5, -0.0, float("nan"), float("inf"), 1e308, 2**31, 2**31 - 1, 2**32, 2**63, 2**63 - 1,
        -(2**63), 2**64, 10**30, 1j, "", "sum", "\0", "sequential", b"sum", (), [], {}, (1,), (1, 2, 3), [[1], [1, 2]], ["a"], ..., slice(None),
        NotImplemented, int, np, object, decimal.Decimal("1.5"), fractions.Fraction(1, 3), range(5), range(0), WIDE, 10**400,
    )),
    lambda rng: object(), lambda rng: Liar(), lambda rng: lambda *a: a, lambda rng: (lambda: 1 / 0), lambda rng: iter([1, 2]),
    lambda rng: hostile_string(rng), lambda rng: hostile_string(rng), lambda rng: [hostile_string(rng)],
    lambda rng: np.float32("nan"), lambda rng: np.int64(-5), lambda rng: np.bool_(True), lambda rng: np.str_("x"), lambda rng: np.void(b"ab"),
    lambda rng: np.datetime64("2020-01-01"), lambda rng: np.array([1, "a", None], object), lambda rng: np.array(["a", "b"]),
    lambda rng: np.zeros(3, "M8[s]"), lambda rng: np.zeros((2, 0, 3)), lambda rng: np.zeros(0), lambda rng: np.array(5.0),
    lambda rng: np.zeros((1,) * 20), lambda rng: np.broadcast_to(np.float32(1), (WIDE,)), lambda rng: np.zeros(3, "V7"),
    lambda rng: np.zeros(3, [("a", "O")]), lambda rng: np.zeros(3, [("a", "f4"), ("b", "S3")]), lambda rng: np.zeros(5, "g"),
    lambda rng: np.zeros(5, "G"), lambda rng: np.ma.masked_array([1.0, 2.0, 3.0], [0, 1, 0]), lambda rng: np.ma.masked,
    lambda rng: np.full(7, np.nan), lambda rng: np.array([2**63], np.uint64), lambda rng: cm.array(np.zeros(0, "f4")),
    lambda rng: cm.array(np.ones(3, "f4")), lambda rng: cm.Map("x * 2"), lambda rng: cm.Reduce("sum"), lambda rng: cm.Reduce,
    lambda rng: cm.index, lambda rng: cm.Vi(np.ones((3, 2), "f4")), lambda rng: cm.Vj(0, 3), lambda rng: cm.Operator(lambda a, b: a + b, 0.0),
    lambda rng: np.matrix([[1.0, 2.0]]), lambda rng: np.recarray(3, [("a", "f4")]), lambda rng: np.zeros(4, "f4").__array_interface__,
]  # fmt: skip


def hostile(rng: np.random.Generator, good: Any) -> Any:
    """Another value than `good`, in most cases a changed copy of it."""
    if rng.random() < 0.4:
        return VALUES[int(rng.integers(len(VALUES)))](rng)
    if isinstance(good, str):
        return mutate(rng, good)
    if isinstance(good, (tuple, list)) and len(good):
        return _sequence(rng, good)
    if isinstance(good, np.ndarray):
        return _ARRAYS[int(rng.integers(len(_ARRAYS)))](rng, good)
    if isinstance(good, (int, float, np.generic)) and not isinstance(good, bool):
        odd = [-good, good + 0.5, float(good), str(good), [good], np.array([good]), good * 1e300, good - 1, good + 1, np.float16(3), complex(good), -good - 1, good * 2**40]
        return odd[int(rng.integers(len(odd)))]
    return VALUES[int(rng.integers(len(VALUES)))](rng)


def _sequence(rng: np.random.Generator, good: Any) -> Any:
    items, k = list(good), int(rng.integers(len(good)))
    match int(rng.integers(5)):
        case 0:
            items.pop(k)
        case 1:
            items.insert(k, items[k])
        case 2:
            return items if isinstance(good, tuple) else tuple(items)
        case 3:
            rng.shuffle(items)  # type: ignore[arg-type]
        case _:
            items[k] = hostile(rng, items[k])
    return type(good)(items)


def _with_entry(rng: np.random.Generator, a: Any, odd: Any) -> Any:
    array = a.copy()
    if array.size:
        with np.errstate(all="ignore"):
            try:
                array.reshape(-1)[int(rng.integers(array.size))] = odd
            except (ValueError, OverflowError, TypeError):
                array = array.astype(object)
    return array


def _cast(a: Any, dtype: Any) -> Any:
    with np.errstate(all="ignore"):
        try:
            return a.astype(dtype)
        except (TypeError, ValueError, OverflowError):
            return np.zeros(a.shape, dtype)


_CODES = ("?", "i1", "u2", "i4", "i8", "u8", "f2", "f4", "f8", "g", "c8", "c16", "O", "S4", "U4", "M8[s]", "m8[s]", "V4", ">f4", ">i8")
_ARRAYS: list[Callable[[np.random.Generator, Any], Any]] = [
    *(lambda rng, a: _cast(a, _CODES[int(rng.integers(len(_CODES)))]) for _ in range(4)),
    lambda rng, a: a.T, lambda rng, a: a[None], lambda rng, a: a[..., None], lambda rng, a: a[:-1], lambda rng, a: a[:0],
    lambda rng, a: np.concatenate([a, a]), lambda rng, a: a.reshape(-1), lambda rng, a: a.reshape(-1)[0] if a.size else a,
    lambda rng, a: a.tolist(), lambda rng, a: tuple(a.tolist()), lambda rng, a: np.ma.masked_array(a, rng.random(a.shape) < 0.5),
    lambda rng, a: np.ma.masked_array(a, np.ones(a.shape, bool)), lambda rng, a: _with_entry(rng, a, np.nan), lambda rng, a: _with_entry(rng, a, -1),
    lambda rng, a: _with_entry(rng, a, 2**40), lambda rng, a: _with_entry(rng, a, np.inf), lambda rng, a: -a if a.dtype.kind in "iuf" else a,
    lambda rng, a: np.broadcast_to(a.reshape(-1)[:1], (WIDE,)) if a.size else a, lambda rng, a: cm.array(a) if a.dtype.kind in "biuf" else a,
    lambda rng, a: np.asmatrix(a) if a.ndim < 3 else a, lambda rng, a: memoryview(np.ascontiguousarray(a)), lambda rng, a: a.tobytes(),
    lambda rng, a: np.ascontiguousarray(a)[::-1], lambda rng, a: a.astype(object), lambda rng, a: str(a), lambda rng, a: iter(a) if a.ndim else a,
    lambda rng, a: np.lib.stride_tricks.as_strided(a, (*a.shape, 2), (*a.strides, 0)), lambda rng, a: [a, a], lambda rng, a: {"x": a},
]  # fmt: skip
