"""Keys of functions: equal for functions that compute the same, and for no others."""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.functions.keys import function_key

FACTOR = 2.0
STATE = SimpleNamespace(factor=2.0)
FACTORS = [2.0]
Numbers = Callable[[Any], Any]


def doubled(a: Any) -> Any:
    return FACTOR * a


def quadrupled(a: Any) -> Any:
    return doubled(doubled(a))


def even(n: int) -> Any:
    return n == 0 or odd(n - 1)


def odd(n: int) -> Any:
    return n != 0 and even(n - 1)


def times(factor: Any) -> Numbers:
    """New functions of one code."""
    return lambda a: factor * a


def with_default(factor: Any) -> Numbers:
    def function(a: Any, by: Any = factor, *, more: Any = factor) -> Any:
        return a * by + more

    return function


def with_inner(factor: Any) -> Numbers:
    def function(a: Any) -> Any:
        def inner(b: Any) -> Any:
            return factor * b

        return inner(a) + sum(inner(k) for k in range(2))

    return function


def of_modules() -> Numbers:
    return lambda a: cm.math.exp(a) * np.pi + math.sqrt(2) + operator.add(a, abs(a))


SAME: dict[str, Callable[[], Any]] = {
    "no number": lambda: lambda a: a + 1,
    "a number": lambda: times(2.5),
    "a number of NumPy": lambda: times(np.float32(2.5)),
    "a tuple": lambda: times((1, 2.5, "x", None)),
    "a function": lambda: times(doubled),
    "a dtype": lambda: times(np.dtype("f4")),
    "a type": lambda: times(np.float32),
    "a builtin": lambda: times(abs),
    "a ufunc": lambda: times(np.add),
    "a function of C": lambda: times(math.sin),
    "a primitive": lambda: times(cm.Reduce("sum")),
    "a map": lambda: times(cm.Map(lambda a: a + 1)),
    "a fused function": lambda: times(cm.fuse(lambda x: x - x.sum())),
    "a function of this package": lambda: times(cm.math.exp),
    "defaults": lambda: with_default(2.5),
    "inner functions": lambda: with_inner(2.5),
    "modules": of_modules,
    "a global": lambda: FunctionType(doubled.__code__, globals()),
    "functions that call each other": lambda: FunctionType(even.__code__, globals()),
}


@pytest.mark.parametrize("name", SAME)
def test_equal_functions_have_equal_keys(name: str) -> None:
    one, other = SAME[name](), SAME[name]()
    assert one is not other
    key = function_key(one)
    assert key is not None and key == function_key(other) and hash(key) == hash(function_key(other))


VALUES = [
    0, 0.0, -0.0, False, 1, 1.0, True, 1 + 0j, complex(1, -0.0), "1", b"1", None, math.inf, (1,), (1.0,), ((1,),), np.float32(1), np.float64(1),
    np.int64(1), np.bool_(True), np.dtype("f4"), np.dtype("f8"), np.float32, abs, max, np.add, math.sin, math, np, cm, cm.math.exp,
    cm.math.log, doubled, quadrupled, cm.Reduce("sum"), cm.Reduce("max"), cm.Scan("sum"), cm.Scan("sum", exclusive=True),
    cm.Map("a + 1"), cm.Map("a + 2"), cm.Map("a + 1") >> cm.Reduce("sum"), cm.Map("a + 1") >> cm.Map("b + 1"),
]  # fmt: skip


@pytest.mark.parametrize("maker", [times, with_default, with_inner])
def test_other_values_have_other_keys(maker: Callable[[Any], Numbers]) -> None:
    keys = [function_key(maker(value)) for value in VALUES]
    assert None not in keys and len(set(keys)) == len(VALUES)


def test_not_a_number_is_one_value() -> None:
    assert function_key(times(math.nan)) == function_key(times(float("nan"))) != function_key(times(math.inf))


def test_globals_are_read_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those of functions that are called."""
    before = function_key(doubled), function_key(quadrupled), function_key(with_inner(1))
    assert before == (function_key(doubled), function_key(quadrupled), function_key(with_inner(1)))
    monkeypatch.setattr(f"{__name__}.FACTOR", 3.0)
    after = function_key(doubled), function_key(quadrupled), function_key(with_inner(1))
    assert before[0] != after[0] and before[1] != after[1] and before[2] == after[2]


def test_variables_of_functions_around() -> None:
    factor = 2.0

    def function(a: Any) -> Any:
        return factor * a

    before = function_key(function)
    factor = 3.0
    assert before is not None and function_key(function) not in (None, before)


class Scaled:
    def __init__(self) -> None:
        self.factor = 2.0

    def __call__(self, a: Any) -> Any:
        return self.factor * a

    def method(self, a: Any) -> Any:
        return self.factor * a


def with_attribute() -> Numbers:
    def function(a: Any) -> Any:
        return a

    function.factor = 2.0  # type: ignore[attr-defined]
    return function


def counting() -> Numbers:
    count = 0

    def function(a: Any) -> Any:
        nonlocal count
        count += 1
        return a * count

    return function


def deep_counting() -> Numbers:
    count = 0

    def function(a: Any) -> Any:
        def inner() -> None:
            nonlocal count
            count += 1

        inner()
        return a

    return function


def imports(a: Any) -> Any:
    from os import urandom

    return a * urandom(1)[0]


def prints(a: Any) -> Any:
    print(a)
    return a


def changes_global(a: Any) -> Any:
    global CHANGED
    CHANGED = a
    return a


def has_class(a: Any) -> Any:
    class Inner:
        b = a

    return Inner.b


def forgets(a: Any) -> Any:
    return UNKNOWN * a  # type: ignore[name-defined]  # noqa: F821


def with_empty_cell() -> Numbers:
    def function(a: Any) -> Any:
        return later * a

    if function is None:
        later = 1
    return function


UNTOLD: dict[str, Any] = {
    "a list": times([1.0]),
    "a dict": times({}),
    "an array": times(np.ones(3)),
    "an object": times(STATE),
    "a generator of random numbers": times(np.random.default_rng(0)),
    "a module with state": times(random),
    "a global object": lambda a: STATE.factor * a,
    "a global list": lambda a: FACTORS[0] * a,
    "random numbers": lambda a: np.random.rand() * a,
    "random numbers of Python": lambda a: random.random() * a,
    "the time": lambda a: np.datetime64("now") + a,
    "a file": lambda a: np.load("factor.npy") * a,
    "an attribute": with_attribute(),
    "a method": Scaled().method,
    "a callable object": Scaled(),
    "a function that reads one": times(with_attribute()),
    "a count": counting(),
    "a deep count": deep_counting(),
    "an import": imports,
    "output": prints,
    "a changed global": changes_global,
    "a class": has_class,
    "an unknown name": forgets,
    "an empty cell": with_empty_cell(),
    "a map of one": times(cm.Map(times([1.0]))),
    "a chain with one": times(cm.Map(times([1.0])) >> cm.Reduce("sum")),
    "a class of the user": times(Scaled),
    "text that is computed": lambda a: eval("a * 2"),
    "attributes by name": lambda a: getattr(STATE, "factor") * a,  # noqa: B009
    "a default": with_default([1.0]),
    "no function": 3,
}


@pytest.mark.parametrize("name", UNTOLD)
def test_what_may_change_unseen_has_no_key(name: str) -> None:
    assert function_key(UNTOLD[name]) is None


def test_deep_calls_have_no_key() -> None:
    """The search ends."""
    function: Any = doubled
    for _ in range(100):
        function = times(function)
    assert function_key(function) is None
