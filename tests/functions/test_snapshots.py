"""Snapshots of functions: one for all functions of one key. It computes the same whatever changes later."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.functions.portable import Portable, rebuilt
from clmapreduce.functions.snapshots import shared_function

FACTOR = 2.0
SHIFT = (1.0, 2.0)


def scaled(a: Any) -> Any:
    return FACTOR * a


def calls_scaled(a: Any, times: int = 2, *, more: Any = SHIFT) -> Any:
    """Calls a function, with defaults, in an inner function too."""

    def inner(b: Any) -> Any:
        return scaled(b) + sum(more)

    for _ in range(times):
        a = inner(a)
    return a


def even(n: int) -> Any:
    return FACTOR if n == 0 else odd(n - 1)


def odd(n: int) -> Any:
    return -FACTOR if n == 0 else even(n - 1)


def around(factor: Any) -> Callable[..., Any]:
    def later(value: Any) -> None:
        nonlocal factor
        factor = value

    def function(a: Any) -> Any:
        return factor * a

    function_of[0] = later
    return function


function_of: list[Any] = [None]


@pytest.mark.parametrize(("function", "argument"), [(scaled, 3.0), (calls_scaled, 3.0), (even, 4), (even, 5), (odd, 0)])
def test_globals_stay(function: Callable[..., Any], argument: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    before, snapshot = function(argument), shared_function(function)
    assert snapshot is not function and snapshot(argument) == before
    assert shared_function(function) is snapshot
    monkeypatch.setattr(f"{__name__}.FACTOR", 5.0)
    assert function(argument) != before and snapshot(argument) == before
    other = shared_function(function)
    assert other is not snapshot and other(argument) == function(argument)
    monkeypatch.setattr(f"{__name__}.FACTOR", 2.0)
    assert shared_function(function) is snapshot


def test_functions_that_are_called_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = shared_function(calls_scaled)
    monkeypatch.setattr(f"{__name__}.scaled", lambda a: 0 * a)
    assert snapshot(3.0) == 2 * (2 * 3 + 3) + 3 and calls_scaled(3.0) == 3
    assert shared_function(calls_scaled)(3.0) == 3


def test_variables_of_functions_around_stay() -> None:
    one = around(2.0)
    change = function_of[0]
    snapshot = shared_function(one)
    assert shared_function(around(2.0)) is snapshot
    change(7.0)
    assert one(1.0) == 7 and snapshot(1.0) == 2
    assert shared_function(around(2.0))(1.0) == 2 and shared_function(one)(1.0) == 7


def test_defaults_stay() -> None:
    def function(a: Any, by: Any = 2.0, *, more: Any = (1.0,)) -> Any:
        return a * by + more[0]

    snapshot = shared_function(function)
    function.__defaults__, function.__kwdefaults__ = (3.0,), {"more": (5.0,)}
    assert snapshot(1.0) == 3 and function(1.0) == 8 and shared_function(function)(1.0) == 8


def test_functions_among_defaults_stay() -> None:
    inner = around(2.0)
    change = function_of[0]

    def function(a: Any, by: Any = inner) -> Any:
        return by(a)

    snapshot = shared_function(function)
    change(7.0)
    assert snapshot(1.0) == 2 and function(1.0) == 7 and shared_function(function)(1.0) == 7


def test_names_and_signatures_stay() -> None:
    snapshot = shared_function(calls_scaled)
    assert (snapshot.__name__, snapshot.__qualname__, snapshot.__module__) == ("calls_scaled", "calls_scaled", __name__)
    assert list(inspect.signature(snapshot).parameters) == ["a", "times", "more"]
    assert snapshot(1.0, 1, more=(0.0,)) == calls_scaled(1.0, 1, more=(0.0,))


def test_what_has_no_key_is_itself() -> None:
    state = [2.0]
    unknown = [lambda a: state[0] * a, abs, cm.math.exp, np.add, state.append]
    assert all(shared_function(function) is function for function in unknown)


def test_primitives_inside_stay(context: cm.Context) -> None:
    """Those that a fused function calls."""
    x = cm.array(np.ones(100, np.float32), context)
    inner = cm.Map(around(2.0))
    change = function_of[0]

    def build() -> Any:
        return cm.fuse(lambda x: inner(x) + cm.Reduce("maximum")(x))

    early = build()
    assert float(early(x).to_numpy()[0]) == 3
    change(7.0)
    for _ in range(3):
        assert float(build()(x).to_numpy()[0]) == 8
        assert float(early(x).to_numpy()[0]) == 3
    assert float(inner(x).to_numpy()[0]) == 7
    change(2.0)
    for _ in range(3):
        assert float(build()(x).to_numpy()[0]) == 3
        assert float(inner(x).to_numpy()[0]) == 7, "it was called when it read 7"


def test_object_ofs_go_into_pickles() -> None:
    snapshot = cm.Map(calls_scaled).representative
    again = pickle.loads(pickle.dumps(snapshot))
    assert again.function(3.0) == calls_scaled(3.0)
    function = rebuilt(lambda f: f, pickle.loads(pickle.dumps(Portable(snapshot.function))))
    assert function(3.0) == calls_scaled(3.0)
