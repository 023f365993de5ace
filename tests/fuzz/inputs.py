"""Arrays in every form that a call takes, and outputs full of other numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from fuzz.case import Case

import clmapreduce as cm

FORMS = ("plain", "plain", "plain", "strided", "reversed", "offset", "readonly", "swapped", "shared", "device", "device")


def in_some_form(case: Case, x: np.ndarray[Any, Any], name: str = "x", forms: Sequence[str] = FORMS) -> Any:
    """The same values in another form."""
    form = case.one(forms)
    if form == "swapped" and (x.dtype.names is not None or x.dtype.itemsize == 1 or x.dtype.kind not in "iufc"):
        form = "plain"
    if form == "shared" and not (x.size and (x == x.reshape(-1)[0]).all() if x.dtype.names is None else False):
        form = "plain"
    case.note(f"{name}: {x.dtype if x.dtype.names is None else list(x.dtype.descr)} {x.shape}, {form}")
    array = _FORMS[form](case, x)
    if isinstance(array, np.ndarray):
        assert array.shape == x.shape
    return array


def _with_steps(case: Case, x: Any) -> Any:
    step = case.below(4, 2)
    base = np.empty((*x.shape[:-1], x.shape[-1] * step) if x.ndim else (step,), x.dtype)
    if not x.ndim:
        base[0] = x
        return base[0:1].reshape(())
    base[..., ::step] = x
    return base[..., ::step]


def _from_the_end(case: Case, x: Any) -> Any:
    return np.ascontiguousarray(x[::-1])[::-1] if x.ndim else x.copy()


def _offset(case: Case, x: Any) -> Any:
    """A view at an offset, at times one that is aligned to bytes only."""
    shift = case.one([x.dtype.itemsize, 1, 3 * x.dtype.itemsize])
    memory = np.zeros(x.nbytes + shift, np.uint8)
    array = memory[shift : shift + x.nbytes].view(x.dtype) if x.size else x.reshape(-1)
    array = array.reshape(x.shape)
    if x.size:
        array[...] = x
    return array


def _readonly(case: Case, x: Any) -> Any:
    array = x.copy()
    array.flags.writeable = False
    return array


_FORMS: dict[str, Callable[[Case, Any], Any]] = {
    "plain": lambda case, x: x.copy(),
    "strided": _with_steps,
    "reversed": _from_the_end,
    "offset": _offset,
    "readonly": _readonly,
    "swapped": lambda case, x: x.astype(x.dtype.newbyteorder(">")),
    "shared": lambda case, x: np.broadcast_to(x.reshape(-1)[0], x.shape),
    "device": lambda case, x: cm.array(x, case.home.context),
}


def on_host(x: Any) -> Any:
    return x.to_numpy() if isinstance(x, cm.DeviceArray) else np.asarray(x)


def results(
    case: Case, call: Callable[..., Any], arguments: Sequence[Any], how: dict[str, Any], outputs: bool = True
) -> tuple[np.ndarray[Any, Any], ...]:
    """A call's results, copied to the host. Asserts that they are on the device if an argument is; that a repeated call, or
    one into a poisoned `out`, gives the same bits; and that arguments do not change.
    """
    before = [on_host(x).copy() for x in arguments]
    result = call(**how)
    several = isinstance(result, tuple)
    outputs_of_call = result if several else (result,)
    device = any(isinstance(x, cm.DeviceArray) for x in arguments)
    assert all(isinstance(one, cm.DeviceArray) == device for one in outputs_of_call), f"{[type(o) for o in outputs_of_call]} of {[type(x) for x in arguments]}"
    host = tuple(on_host(one) for one in outputs_of_call)
    if outputs and case.chance(0.25):
        outs = tuple(poison(case, one.shape, one.dtype) for one in host)
        case.note(f"out: {[type(o).__name__ for o in outs]}")
        out = outs if several else outs[0]
        again = call(out=out, **how)
        again_as_tuple = again if several else (again,)
        assert all(a is b for a, b in zip(again_as_tuple, outs, strict=True)), "out is not what the call returns"
        _same(host, tuple(on_host(o) for o in outs), "out= holds other bits")
    elif case.chance(0.1):
        again = call(**how)
        _same(host, tuple(on_host(o) for o in (again if several else (again,))), "another run gives other bits")
    for x, old in zip(arguments, before, strict=True):
        assert bits(on_host(x)) == bits(old), "an argument was written"
    return host


def poison(case: Case, shape: Any, dtype: Any) -> Any:
    """An array full of odd bytes, on the device or in host memory, there in one piece or not."""
    fill = case.one([0x00, 0x7F, 0xA5, 0xFF])
    size = int(np.prod(shape, dtype=np.int64))
    form = case.one(["plain", "device", "strided", "offset"])
    shift, step = (3, 1) if form == "offset" else (0, 2) if form == "strided" else (0, 1)
    memory = np.full((size * step + shift) * np.dtype(dtype).itemsize, fill, np.uint8)
    if np.dtype(dtype) == np.bool_:
        memory &= 1
    array = memory.view(dtype)[shift::step][:size].reshape(shape)
    return cm.array(array.copy(), case.home.context) if form == "device" else array


def _same(first: Any, second: Any, message: str) -> None:
    for a, b in zip(first, second, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape, f"{message}: {a.dtype} {a.shape}, {b.dtype} {b.shape}"
        assert bits(a) == bits(b), message


def bits(a: Any) -> Any:
    """An array's bytes, without what lies between fields."""
    if a.dtype.names is not None:
        return tuple(np.ascontiguousarray(a[name]).tobytes() for name in a.dtype.names)
    return np.ascontiguousarray(a).tobytes()
