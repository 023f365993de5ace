"""New primitives for each call: they find the call that is ready, and never that of another function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.pairwise.reduction import _operator

FACTOR = 2.0
FACTORS = [2.0]
DOUBLE = cm.Map(lambda a: FACTOR * a)
TOTAL = cm.Reduce("sum")

BUILT: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "map": (lambda: cm.Map(lambda a: 2 * a + 1), lambda x: 2 * x + 1),
    "map of a global": (lambda: cm.Map(lambda a: FACTOR * a), lambda x: 2 * x),
    "text": (lambda: cm.Map("a * a"), lambda x: x * x),
    "two maps": (lambda: cm.Map(lambda a: a * a) >> cm.Map(lambda b: b - 1), lambda x: x * x - 1),
    "reduce": (lambda: cm.Reduce("maximum"), np.max),
    "operator": (lambda: cm.Reduce(cm.Operator(lambda a, b: a + b, identity=0)), np.sum),
    "scan": (lambda: cm.Scan("sum"), np.cumsum),
    "scan of an operator": (lambda: cm.Scan(cm.Operator(lambda a, b: a + b, identity=0)), np.cumsum),
    "chain": (lambda: cm.Map(lambda a: a * a) >> cm.Reduce("sum"), lambda x: (x * x).sum()),
    "chain of old parts": (lambda: DOUBLE >> TOTAL, lambda x: 2 * x.sum()),
    "chain with an operator": (
        lambda: cm.Map(lambda a: a * a) >> cm.Reduce(cm.Operator(lambda a, b: a + b, identity=0)), lambda x: (x * x).sum(),
    ),
    "fused": (lambda: cm.fuse(lambda x: x - cm.Reduce("maximum")(x)), lambda x: x - x.max()),
    "fused parts": (lambda: cm.fuse(lambda x: DOUBLE(x) - TOTAL(x)), lambda x: 2 * x - x.sum()),
}  # fmt: skip


@pytest.mark.parametrize("name", BUILT)
def test_new_objects_find_the_ready_call(
    name: str, context: cm.Context, mode: str, rng: np.random.Generator, prepared: list[Any]
) -> None:
    build, expected = BUILT[name]
    context = cm.Context(context.device)
    for turn in range(5):
        x = rng.random(1000, np.float32)
        result = build()(cm.array(x, context), mode=mode)
        np.testing.assert_allclose(result.to_numpy(), expected(x.astype("f8")), rtol=1e-5, atol=1e-4)
        if turn == 1:
            del prepared[:]
    assert not prepared


@pytest.mark.parametrize("name", ["map", "operator", "chain", "fused"])
def test_arrays_of_the_host(name: str, context: cm.Context, rng: np.random.Generator, prepared: list[Any]) -> None:
    build, expected = BUILT[name]
    context = cm.Context(context.device)
    for turn in range(5):
        x = rng.random(500, np.float32)
        np.testing.assert_allclose(build()(x, context=context), expected(x.astype("f8")), rtol=1e-5, atol=1e-4)
        if turn == 1:
            del prepared[:]
    assert not prepared


def ones(context: cm.Context, count: int = 100, dtype: Any = np.float32) -> Any:
    return cm.array(np.ones(count, dtype), context)


def first(result: Any) -> float:
    return float(result.to_numpy().reshape(-1)[0])


TOLD: dict[str, Callable[[Any], Any]] = {
    "closure": lambda k: cm.Map(lambda a: k * a),
    "default": lambda k: cm.Map(lambda a, by=k: by * a),
    "inner": lambda k: cm.Map(lambda a: (lambda b: k * b)(a)),
    "list": lambda k: cm.Map(lambda a, by=(k,): sum(b * a for b in by)),
    "untold": lambda k: cm.Map(lambda a, by=[k]: by[0] * a),
    "chain": lambda k: cm.Map(lambda a: k * a) >> cm.Reduce("maximum"),
    "untold chain": lambda k: cm.Map(lambda a, by=[k]: by[0] * a) >> cm.Reduce("maximum"),
    "fused": lambda k: cm.fuse(lambda x: cm.Map(lambda a: k * a)(x) + 0 * x.sum()),
    "operator": lambda k: cm.Map(lambda a: a) >> cm.Reduce(cm.Operator(lambda a, b: k + 0 * (a + b), 0, check=False)),
    "identity": lambda k: cm.Scan(cm.Operator(cm.math.maximum, k, check=False), exclusive=True),
}


@pytest.mark.parametrize("name", TOLD)
def test_numbers_tell_objects_apart(name: str, context: cm.Context) -> None:
    context = cm.Context(context.device)
    x = ones(context)
    for _ in range(4):
        for k in (2, 3.0, 2.0, -1):
            assert first(TOLD[name](k)(x)) == k


def test_kinds_of_numbers_tell_objects_apart(context: cm.Context) -> None:
    """2 and 2.0 give integers other dtypes; zeros have signs."""
    context = cm.Context(context.device)
    x = ones(context, dtype=np.int16)
    for _ in range(4):
        for k, dtype in ((2, np.int16), (2.0, np.float64 if context.device.fp64 else np.float32), (np.int32(2), np.int32)):
            if dtype != np.float64 or context.device.fp64:
                assert TOLD["closure"](k)(x).dtype == dtype
        y = ones(context)
        signs = [np.signbit(first(TOLD["closure"](zero)(y))) for zero in (0.0, -0.0)]
        assert signs == [False, True]


def test_globals_are_read_by_new_objects(context: cm.Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was called keeps what it read."""
    context = cm.Context(context.device)
    x = ones(context)
    old = cm.Map(lambda a: FACTOR * a)
    assert first(old(x)) == 2
    for factor in (2.0, 5.0, 2.0, 7.0):
        monkeypatch.setattr(f"{__name__}.FACTOR", factor)
        for _ in range(3):
            assert first(cm.Map(lambda a: FACTOR * a)(x)) == factor
            assert first((cm.Map(lambda a: FACTOR * a) >> cm.Reduce("maximum"))(x)) == factor
            assert first((DOUBLE >> cm.Reduce("maximum"))(x)) == factor
            assert first(old(x)) == 2
    monkeypatch.setattr(f"{__name__}.FACTORS", [2.0])
    for factor in (2.0, 5.0):
        FACTORS[0] = factor
        for _ in range(3):
            assert first(cm.Map(lambda a: FACTORS[0] * a)(x)) == factor


@pytest.mark.parametrize("look", ["explain", "source", "another length", "another dtype", "compile"])
def test_what_an_object_read_early_reaches_no_other(context: cm.Context, look: str) -> None:
    """An object that was traced before its number changed stands for itself: others see the number of their time."""
    context = cm.Context(context.device)
    factor: float = 2.0

    def build() -> Any:
        return cm.Map(lambda a: factor * a) >> cm.Reduce("maximum")

    x = ones(context)
    early = build()
    if look == "compile":
        early.compile([(100,)], np.float32, context=context)
    elif look.startswith("another"):
        early(ones(context, 50) if look.endswith("length") else ones(context, 100, np.float16))
    else:
        getattr(early, look)(x)
    factor = 3.0
    for _ in range(4):
        early(x)
        assert first(build()(x)) == 3
    factor = 2.0
    for _ in range(4):
        assert first(build()(x)) == 2
        early(x)
    factor = 3.0
    assert first(build()(x)) == 3


def test_what_an_operator_read_early_reaches_no_other(context: cm.Context) -> None:
    context = cm.Context(context.device)
    most = 2.0

    def build() -> Any:
        return cm.Operator(lambda a, b: a * 0 + b * 0 + most, identity=0, check=False)

    x, early = ones(context), build()
    assert first(cm.Reduce(early)(x)) == 2
    most = 3.0
    for _ in range(4):
        cm.Reduce(early)(x)
        assert first(cm.Reduce(build())(x)) == 3
    most = 2.0
    for _ in range(4):
        cm.Reduce(early)(x)
        assert first(cm.Reduce(build())(x)) == 2


SEGMENTED: dict[str, Callable[[Any, Any, Any, float], Any]] = {
    "operator": lambda x, ends, keys, k: cm.segmented_reduce(x, ends, cm.Operator(lambda a, b: 0 * (a + b) + k, 0, check=False)),
    "map": lambda x, ends, keys, k: cm.segmented_reduce(x, ends, "maximum", map=lambda a: k * a),
    "by key": lambda x, ends, keys, k: cm.reduce_by_key(keys, x, "maximum", map=lambda a: k * a)[1],
    "operator by key": lambda x, ends, keys, k: cm.reduce_by_key(
        keys, x, cm.Operator(lambda a, b: 0 * (a + b) + k, 0, check=False)
    )[1],
    "scan": lambda x, ends, keys, k: cm.segmented_scan(
        x, ends, cm.Operator(cm.math.maximum, k, check=False), exclusive=True
    ),
    "equal": lambda x, ends, keys, k: k + 0 * cm.reduce_by_key(keys, x, equal=lambda a, b: a + k == b + k)[1],
}


@pytest.mark.parametrize("name", SEGMENTED)
def test_functions_of_segments(name: str, context: cm.Context) -> None:
    """New operators and functions: numbers tell them apart."""
    context = cm.Context(context.device)
    x, ends = cm.array(np.ones(100, np.float32), context), cm.array(np.arange(0, 101, 10), context)
    keys = cm.array(np.repeat(np.arange(10), 10), context)
    for _ in range(4):
        for k in (2.0, 3.0, 2.0):
            assert first(SEGMENTED[name](x, ends, keys, k)) == k


def test_operators_of_segments_are_built_once(context: cm.Context, prepared: list[Any]) -> None:
    context = cm.Context(context.device)
    x, ends = cm.array(np.ones(100, np.float32), context), cm.array(np.arange(0, 101, 10), context)
    for turn in range(5):
        result = cm.segmented_reduce(x, ends, cm.Operator(lambda a, b: a + b, identity=0), map=lambda a: 2 * a)
        np.testing.assert_array_equal(result.to_numpy(), np.full(10, 20, np.float32))
        if turn == 1:
            del prepared[:]
    assert not prepared


@pytest.mark.parametrize("primitive", [cm.Reduce, cm.Scan])
def test_operators_without_a_key_are_shared_themselves(
    primitive: Callable[[Any], Any], context: cm.Context, prepared: list[Any]
) -> None:
    context, state = cm.Context(context.device), [0.0]
    total, x = cm.Operator(lambda a, b: a + b + state[0], identity=0), ones(context)
    for turn in range(5):
        assert float(primitive(total)(x).to_numpy().reshape(-1)[-1]) == 100
        if turn == 1:
            del prepared[:]
    assert not prepared


def test_classes_of_users_stand_for_themselves(context: cm.Context) -> None:
    class Doubled(cm.Map):
        def prepared(self, *args: Any, **more: Any) -> Any:
            raise RuntimeError("its own")

    for _ in range(3):
        with pytest.raises(RuntimeError, match="its own"):
            Doubled(lambda a: 2 * a)(ones(context))
        assert first(cm.Map(lambda a: 2 * a)(ones(context))) == 2


def test_all_of_an_operator_is_in_its_key() -> None:
    def add(a: Any, b: Any) -> Any:
        return a + b

    variants = [
        cm.Operator(add, 0), cm.Operator(add, 1), cm.Operator(add, 0.0), cm.Operator(add, 0, dtype="f4"),
        cm.Operator(add, 0, commutative=False), cm.Operator(add, 0, name="plus"), cm.Operator(add, 0, check=False),
    ]  # fmt: skip
    assert len({operator.key() for operator in variants}) == len(variants)
    assert cm.Operator(add, 0).key() == variants[0].key() is not None
    assert _operator(cm.Operator(add, 0)) is _operator(cm.Operator(add, 0)) is not _operator(variants[1])


def test_errors_come_from_new_objects_too(context: cm.Context) -> None:
    x = ones(context)
    for _ in range(4):
        with pytest.raises(cm.FormulaError):
            cm.Map(lambda a, b: a + b)(x)
        with pytest.raises(cm.FormulaError):
            (cm.Map(lambda a: a.nothing) >> cm.Reduce("sum"))(x)


def test_operators_by_name_are_shared() -> None:
    assert cm.Reduce("sum").representative == cm.Reduce("add").representative != cm.Reduce("max").representative
    assert cm.Scan("sum").representative != cm.Scan("sum", exclusive=True).representative != cm.Reduce("sum").representative
