"""Tracing: which calls are part of a traced function, thread by thread."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.errors import FormulaError
from clmapreduce.formula.formula import symbol
from clmapreduce.formula.node import Node, Record, Symbol, index
from clmapreduce.program.step import Result
from clmapreduce.program.tracing import current_tracing, is_traced, tracing

X = Symbol("x", np.dtype("f4"), varies=True)


def test_nothing_is_traced_outside() -> None:
    assert current_tracing() is None


def test_a_block_says_what_steps_are_bound_to() -> None:
    with tracing(False, "compensated") as line:
        assert current_tracing() is line
        assert (line.fp64, line.accumulate, line.length) == (False, "compensated", None)
    assert current_tracing() is None


def test_blocks_nest_and_the_outer_one_comes_back() -> None:
    with tracing(True, "auto") as outer:
        outer.length = 7
        with tracing(False, "fast") as inner:
            assert current_tracing() is inner
            assert inner.length is None
        assert current_tracing() is outer and outer.length == 7


def test_an_error_ends_the_block_too() -> None:
    with tracing(True, "auto") as outer:
        with pytest.raises(ZeroDivisionError), tracing(True, "auto"):
            raise ZeroDivisionError
        assert current_tracing() is outer
    assert current_tracing() is None


def test_another_thread_is_not_traced() -> None:
    with tracing(True, "auto"), ThreadPoolExecutor(1) as pool:
        assert pool.submit(current_tracing).result() is None
        with pytest.raises(FormulaError, match=r"cm\.fuse"):
            pool.submit(cm.Reduce("sum"), X).result()


def test_threads_trace_side_by_side() -> None:
    """Each binds its steps as its own block says, although all blocks are open at the same time."""
    ready = threading.Barrier(4)

    def program_of_sum(accumulate: Any) -> Any:
        with tracing(True, accumulate):
            ready.wait(30)
            result = cm.Reduce("sum")(X)
            ready.wait(30)
        assert isinstance(result, Result)
        return [c.dtype for c in result.step.bound.components]

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(program_of_sum, ["fast", "auto", "double", "compensated"]))
    f4, f8 = np.dtype("f4"), np.dtype("f8")
    assert results == [[f4], [f8], [f8], [f4, f4]]


def test_nested_blocks_bind_steps_as_the_innermost_says() -> None:
    with tracing(True, "auto"):
        with tracing(True, "fast"):
            inner = cm.Reduce("sum")(X)
        outer = cm.Reduce("sum")(X)
    assert [r.step.bound.components[0].dtype.itemsize for r in (inner, outer)] == [4, 8]


SYMBOLIC: list[Any] = [
    X, index, X + 1, symbol("r", np.dtype([("a", "f4"), ("m", "f4", 2)])), {"a": X}, np.array([X, 1], object),
    {"a": 1, "b": {"c": X}},
]  # fmt: skip
PLAIN: list[Any] = [1, 2.5, "x", None, np.ones(3), np.array([1, "a", None], object), {"a": np.ones(2)}, {}, [X]]


@pytest.mark.parametrize("value", SYMBOLIC, ids=lambda v: type(v).__name__)
def test_symbols_are_noticed_wherever_they_are(value: Any) -> None:
    with tracing(True, "auto"):
        assert is_traced([3, value])


@pytest.mark.parametrize("value", PLAIN, ids=lambda v: type(v).__name__)
def test_numbers_and_arrays_are_not_symbols(value: Any) -> None:
    with tracing(True, "auto"):
        assert is_traced([value]) == isinstance(value, (int, float)), "numbers written in a fused function are its own"
    assert not is_traced([value]), "which is no error outside either"


@pytest.mark.parametrize("value", SYMBOLIC, ids=lambda v: type(v).__name__)
def test_errors_for_symbols_outside_name_fuse(value: Any) -> None:
    with pytest.raises(FormulaError, match=r"inside cm\.Map .*cm\.fuse"):
        is_traced([value])


def test_arrays_are_computed_while_tracing_numbers_alone_begin_an_unfold() -> None:
    with tracing(True, "auto") as line:
        assert isinstance(cm.Unfold("product")(2.0, 5), Node)
        assert line.length == 5
        assert not isinstance(cm.Unfold("index")(5), Record)
