"""Constants by fast series beside mpmath's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from support.oracles import into_poison
from support.series_points import error, exactly

import clmapreduce as cm

CONSTANTS: dict[str, Callable[[], Any]] = {
    "pi": lambda: +mpmath.pi, "e": lambda: +mpmath.e, "log2": lambda: mpmath.log(2), "zeta3": lambda: mpmath.zeta(3),
    "catalan": lambda: +mpmath.catalan,
}  # fmt: skip


@pytest.mark.drawn(unless=lambda params: not params["context"].fp64)
@pytest.mark.parametrize("name", CONSTANTS)
def test_constants(name: str, context: cm.Context, mode: str) -> None:
    if not context.device.fp64:
        pytest.skip("needs float64")
    with mpmath.workdps(80):
        value = CONSTANTS[name]()
        for digits in (1, 17, 60, None):
            result = cm.series.constant(name, digits, context=context, mode=mode)
            assert result.dtype == (np.dtype("f8") if (digits or 16) <= 16 else cm.dd if digits <= 31 else cm.qd)
            assert error(value, exactly(result)[0], digits or 16) <= (1 if digits else 0.501)


def test_dtypes_of_constants(context: cm.Context) -> None:
    for dtype, digits in ((cm.qf, 28), (cm.df, 14), *(((cm.dd, 31),) if context.device.fp64 else ())):
        result = cm.series.e(dtype=dtype, context=context)
        assert result.dtype == dtype
        with mpmath.workdps(80):
            assert error(+mpmath.e, exactly(result)[0], digits) <= 1


def test_constants_reach_outputs(context: cm.Context) -> None:
    out = into_poison(lambda out: cm.series.pi(7, dtype="f4", context=context, out=out), (), "f4")
    assert out == np.float32(np.pi)
    assert cm.series.e(dtype="f4", context=context) == np.float32(np.e)


def test_what_constants_refuse(context: cm.Context) -> None:
    with pytest.raises(cm.ModeError, match="name='tau' is unknown; use one of pi, e, log2, zeta3, catalan"):
        cm.series.constant("tau", context=context)
    with pytest.raises(cm.DTypeError, match="holds 7 digits"):
        cm.series.pi(8, dtype="f4", context=context)
