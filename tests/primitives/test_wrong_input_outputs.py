"""Outputs that do not fit, and right outputs of wrong calls, stay untouched; nothing is launched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided
from support.oracles import assert_same
from support.plain_primitives import ADD, DOUBLE, PRIMITIVES

import clmapreduce as cm


def readonly(shape: Any, dtype: Any) -> np.ndarray:
    array = np.full(shape, 7, dtype)
    array.flags.writeable = False
    return array


WRONG_OUTS: dict[str, tuple[Callable[[Any, Any], Any], type]] = {
    "shape": (lambda shape, dtype: np.full((*shape, 2), 7, dtype), cm.ShapeError),
    "short": (lambda shape, dtype: np.full(5, 7, dtype), cm.ShapeError),
    "narrow": (lambda shape, dtype: np.full(shape, 7, np.int16), cm.DTypeError),
    "integer": (lambda shape, dtype: np.full(shape, 7, np.int64), cm.DTypeError),
    "record": (lambda shape, dtype: np.zeros(shape, [("a", dtype)]), cm.DTypeError),
    "read-only": (readonly, cm.ShapeError),
    "list": (lambda shape, dtype: [0.0] * 1025, cm.DTypeError),
    "number": (lambda shape, dtype: 3.0, cm.DTypeError),
    "two": (lambda shape, dtype: (np.full(shape, 7, dtype), np.full(shape, 7, dtype)), cm.ShapeError),
}


@pytest.mark.parametrize(
    ("shape", "strides"), [((3, 1025), (4, 0)), ((1025,), (0,)), ((500, 3), (4, 4)), ((2, 3, 5), (0, 20, -4))], ids=str
)
def test_outputs_that_repeat_their_elements_are_refused(shape: Any, strides: Any, context: cm.Context) -> None:
    """Several results would be written to one place."""
    memory = np.full(4096, 7, np.float32)
    out = as_strided(memory[4:], shape, strides)
    with pytest.raises(cm.ShapeError, match="share their memory"):
        cm.Map("a + 1")(np.ones(shape, np.float32), out=out, context=context)
    assert np.all(memory == 7)
    apart = memory.reshape(64, 64)[::2, 1::3]
    assert np.all(cm.Map("a + 1")(np.ones(apart.shape, np.float32), out=apart, context=context) == 2)


@pytest.mark.parametrize("wrong", WRONG_OUTS)
@pytest.mark.parametrize("primitive", PRIMITIVES)
def test_outputs_that_do_not_fit_stay_untouched(
    primitive: str, wrong: str, context: cm.Context, mode: str, launches: list[str]
) -> None:
    make, error = WRONG_OUTS[wrong]
    x = np.ones(1025, np.float32)
    out = make(() if primitive in ("reduce", "fused") else (1025,), np.float32)
    before = [np.array(o).tobytes() for o in (out if isinstance(out, tuple) else (out,))]
    for values in (x, cm.array(x, context)):
        with pytest.raises(error):
            PRIMITIVES[primitive](values, context=context, mode=mode, out=out)
    assert [np.array(o).tobytes() for o in (out if isinstance(out, tuple) else (out,))] == before
    assert not launches


def test_device_outputs_that_do_not_fit(context: cm.Context, launches: list[str]) -> None:
    x = np.ones(17, np.float32)
    for wrong in (np.zeros(16, np.float32), np.zeros(17, np.int32), np.zeros(17, np.float64)):
        if wrong.dtype == np.float64 and not context.device.fp64:
            continue
        out = cm.array(wrong, context)
        with pytest.raises((cm.ShapeError, cm.DTypeError)):
            DOUBLE(x, context=context, out=out)
        assert_same(out.to_numpy(), wrong)
    assert not launches


def test_wrong_input_beside_a_right_output_leaves_it(context: cm.Context, mode: str, launches: list[str]) -> None:
    out = np.full(3, 7, np.float32)
    x = np.ones(3, np.float32)
    for call in (
        lambda: ADD(x, np.ones(4, np.float32), context=context, mode=mode, out=out),
        lambda: ADD(x, "text", context=context, mode=mode, out=out),
        lambda: cm.Map(lambda x: x.no_such_thing)(x, context=context, mode=mode, out=out),
        lambda: DOUBLE(x, context=context, mode="fast", out=out),
        lambda: cm.Scan("argmin", exclusive=True)(x, context=context, mode=mode, out=out),
    ):
        with pytest.raises((cm.ClMapReduceError, AttributeError)):
            call()
        assert (out == 7).all()
    assert not launches


def test_the_same_output_twice_is_refused(context: cm.Context, launches: list[str]) -> None:
    """Which of two results would it hold?"""
    both = cm.Map(lambda x: (x, -x))
    out = np.full(17, 7, np.float32)
    for outs in ((out, out), (out, out[::-1])):
        with pytest.raises(cm.ShapeError, match="memory"):
            both(np.ones(17, np.float32), context=context, out=outs)
    device_array = cm.array(out, context)
    with pytest.raises(cm.ShapeError, match="memory"):
        both(np.ones(17, np.float32), context=context, out=(device_array, device_array))
    assert (out == 7).all()
    assert not launches
