"""Functions that are held: one for all that are equal, which computes the same whatever changes later."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.functions.held import held_function
from clmapreduce.functions.portable import Portable, rebuilt

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
    before, held = function(argument), held_function(function)
    assert held is not function and held(argument) == before
    assert held_function(function) is held
    monkeypatch.setattr(f"{__name__}.FACTOR", 5.0)
    assert function(argument) != before and held(argument) == before
    other = held_function(function)
    assert other is not held and other(argument) == function(argument)
    monkeypatch.setattr(f"{__name__}.FACTOR", 2.0)
    assert held_function(function) is held


def test_functions_that_are_called_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    held = held_function(calls_scaled)
    monkeypatch.setattr(f"{__name__}.scaled", lambda a: 0 * a)
    assert held(3.0) == 2 * (2 * 3 + 3) + 3 and calls_scaled(3.0) == 3
    assert held_function(calls_scaled)(3.0) == 3


def test_variables_of_functions_around_stay() -> None:
    one = around(2.0)
    change = function_of[0]
    held = held_function(one)
    assert held_function(around(2.0)) is held
    change(7.0)
    assert one(1.0) == 7 and held(1.0) == 2
    assert held_function(around(2.0))(1.0) == 2 and held_function(one)(1.0) == 7


def test_defaults_stay() -> None:
    def function(a: Any, by: Any = 2.0, *, more: Any = (1.0,)) -> Any:
        return a * by + more[0]

    held = held_function(function)
    function.__defaults__, function.__kwdefaults__ = (3.0,), {"more": (5.0,)}
    assert held(1.0) == 3 and function(1.0) == 8 and held_function(function)(1.0) == 8


def test_names_and_signatures_stay() -> None:
    held = held_function(calls_scaled)
    assert (held.__name__, held.__qualname__, held.__module__) == ("calls_scaled", "calls_scaled", __name__)
    assert list(inspect.signature(held).parameters) == ["a", "times", "more"]
    assert held(1.0, 1, more=(0.0,)) == calls_scaled(1.0, 1, more=(0.0,))


def test_what_has_no_key_is_itself() -> None:
    state = [2.0]
    unheld = [lambda a: state[0] * a, abs, cm.math.exp, np.add, state.append]
    assert all(held_function(function) is function for function in unheld)


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


def test_held_objects_go_into_pickles() -> None:
    held = cm.Map(calls_scaled).held
    again = pickle.loads(pickle.dumps(held))
    assert again.function(3.0) == calls_scaled(3.0)
    function = rebuilt(lambda f: f, pickle.loads(pickle.dumps(Portable(held.function))))
    assert function(3.0) == calls_scaled(3.0)
