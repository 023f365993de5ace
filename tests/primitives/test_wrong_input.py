"""Wrong input: the right class, what was given in its message, no command on the device, no byte of `out` changed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from oracles import assert_same

import clmapreduce as cm
from clmapreduce.primitives.base import check_device

X = np.ones(3)
PAIR = np.dtype([("x", "f4"), ("n", "i4")])
ENTRY = np.zeros((), PAIR)[()]
PAIRS = np.zeros(3, PAIR)
Refusal = tuple[type[cm.ClMapReduceError], str, Callable[..., Any]]


@pytest.fixture(scope="module")
def watched(context: cm.Context) -> Iterator[cm.Context]:
    """A context that logs every command."""
    made = cm.Context(context.device, profile=True)
    yield made
    made.wait()


def refused(watched: cm.Context, error: type[Exception], told: str, call: Callable[..., Any], out: Any) -> None:
    """Calls, and asserts the error, its text, an unchanged log and an unchanged `out`."""
    before, content = len(watched.queue.log), np.asarray(out).tobytes()
    logged = len(watched.queue.log) - before  # reading a DeviceArray is itself a command
    with pytest.raises(error, match=told) as raised:
        call(out=out, context=watched)
    assert isinstance(raised.value, cm.ClMapReduceError)
    assert len(watched.queue.log) == before + logged, "a command reached the device"
    assert np.asarray(out).tobytes() == content, "the output was touched"


def poison(shape: Any = 3, dtype: Any = "f8") -> np.ndarray:
    return np.full(int(np.prod(shape)) * np.dtype(dtype).itemsize, 0xA5, np.uint8).view(dtype).reshape(shape)


def scalar(dtype: Any = "f8") -> np.ndarray:
    return poison((), dtype)


BAD_TEXT = {
    "b *": "cannot parse", "b.real": "Attribute is not allowed", "__import__('os')": "unknown function '__import__'",
    "f(b)": "unknown function 'f'", "[b for b in c]": "ListComp is not allowed",
    "sqrt(a, b)": r"sqrt takes 1 argument\(s\), 2 given",
    "lambda: 1": "Lambda is not allowed", "a if b else c": "IfExp is not allowed", "a and b": "BoolOp is not allowed",
    "'text'": "Constant is not allowed", "sin + 1": "'sin' cannot name", "_x": "'_x' cannot name",
    "a < b < c": "Compare is not allowed",
    "a[0]": "Subscript is not allowed", "(a := 1)": "NamedExpr is not allowed", "f'{a}'": "JoinedStr is not allowed",
    "sqrt(x=a)": "Call is not allowed", "a @ b": "BinOp is not allowed", "not a": "UnaryOp is not allowed",
    "": "cannot parse",
    "a * 9**9**9": "at most 1000", "a; b": "cannot parse", "a, b": "Tuple is not allowed",
}  # fmt: skip


@pytest.mark.parametrize("text", BAD_TEXT)
def test_expressions_that_are_not_allowed(text: str, watched: cm.Context) -> None:
    refused(watched, cm.FormulaError, BAD_TEXT[text], lambda **how: cm.Map(text)(X, **how), poison())


MAPS: dict[str, Refusal] = {
    "shapes": (cm.ShapeError, r"\(3,\) and \(4,\)", lambda **how: cm.Map("a + b")(X, np.ones(4), **how)),
    "2-d shapes": (cm.ShapeError, r"\(2, 3\) and \(3, 2\)",
        lambda **how: cm.Map("a + b")(np.ones((2, 3)), np.ones((3, 2)), **how)),
    "length": (cm.ShapeError, r"\(3,\) and \(5,\)", lambda **how: cm.Map("a + index")(X, length=5, **how)),
    "negative length": (cm.ShapeError, "length is -1", lambda **how: cm.Map("index + 0.0")(length=-1, **how)),
    "uint64 with int64": (cm.DTypeError, "uint64, int64",
        lambda **how: cm.Map("a + b")(np.ones(3, "u8"), np.ones(3, "i8"), **how)),
    "unknown name": (cm.FormulaError, r"unknown \['c'\]", lambda **how: cm.Map("a * b")(a=X, b=X, c=X, **how)),
    "missing name": (cm.FormulaError, r"missing \['b'\]", lambda **how: cm.Map("a * b")(a=X, **how)),
    "name given twice": (cm.FormulaError, r"given twice \['a'\]", lambda **how: cm.Map("a * b")(X, a=X, b=X, **how)),
    "name of a lambda": (cm.FormulaError, r"unknown \['a'\]", lambda **how: cm.Map(lambda a: a)(a=X, **how)),
    "too few values": (cm.FormulaError, "needs values for a, b; 1 given", lambda **how: cm.Map("a * b")(X, **how)),
    "too many values": (cm.FormulaError, r"takes \(a\), 2 argument", lambda **how: cm.Map(lambda a: a)(X, X, **how)),
    "no function": (cm.FormulaError, "3", lambda **how: cm.Map(3)(X, **how)),  # type: ignore[arg-type]
    "objects": (cm.DTypeError, "object", lambda **how: cm.Map("a")(np.array([object()] * 3), **how)),
    "strings": (cm.DTypeError, "<U1", lambda **how: cm.Map("a")(np.array(["a", "b", "c"]), **how)),
    "dates": (cm.DTypeError, "datetime64", lambda **how: cm.Map("a")(np.zeros(3, "M8[s]"), **how)),
    "extended": (cm.DTypeError, str(np.dtype(np.clongdouble)),
        lambda **how: cm.Map("a")(np.zeros(3, np.clongdouble), **how)),
    "None": (cm.DTypeError, "object", lambda **how: cm.Map("a")(None, **how)),
    "ragged": (cm.ShapeError, "inhomogeneous", lambda **how: cm.Map("a")([[1.0], [1.0, 2.0], []], **how)),
    "branch": (cm.FormulaError, "where", lambda **how: cm.Map(lambda a: a if a > 0 else -a)(X, **how)),
    "constant": (cm.DTypeError, "300 does not fit int8",
        lambda **how: cm.Map(lambda a: a + 300)(np.ones(3, "i1"), **how)),
    "number": (cm.DTypeError, "300 does not fit int8", lambda **how: cm.Map("a + b")(np.ones(3, "i1"), 300, **how)),
    "huge number": (cm.DTypeError, "1000000000000000000000",
        lambda **how: cm.Map("a + b")(np.ones(3, "i8"), 10**21, **how)),
    "missing field": (cm.FormulaError, "'y'", lambda **how: cm.Map(lambda a: a["y"])(PAIRS, **how)),
    "mode": (cm.ModeError, "mode='fast'", lambda **how: cm.Map("a")(X, mode="fast", **how)),
    "tiles": (cm.ModeError, "tiles=2", lambda **how: cm.Map("a")(X, mode="sequential", tiles=2, **how)),
    "scan twice": (cm.ShapeError, r"shape \(3, 1\)", lambda **how: cm.Scan("sum")(np.ones((3, 1)), **how)),
    "scan of a number": (cm.ShapeError, r"shape \(\)", lambda **how: cm.Scan("sum")(1.0, **how)),
    "exclusive argmax": (cm.ShapeError, "argmax does not have",
        lambda **how: cm.Scan("argmax", exclusive=True)(X, **how)),
    "scan operator": (cm.ModeError, "'median'", lambda **how: cm.Scan("median")(X, **how)),
    "complex order": (cm.DTypeError, "complex128", lambda **how: cm.Scan("maximum")(X + 1j, **how)),
    "unfold below 0": (cm.ShapeError, "length is -1", lambda **how: cm.Unfold("sum")(1.0, -1, **how)),
    "unfold by halves": (cm.ShapeError, "length is 2.5", lambda **how: cm.Unfold("sum")(1.0, 2.5, **how)),
    "unfold truth": (cm.ShapeError, "length is True", lambda **how: cm.Unfold("sum")(1.0, True, **how)),
    "unfold text": (cm.ShapeError, "length is '3'", lambda **how: cm.Unfold("sum")(1.0, "3", **how)),
    "unfold a vector": (cm.ShapeError, r"shape is \(3,\)", lambda **how: cm.Unfold("sum")(X, 3, **how)),
    "unfold base": (cm.DTypeError, "1.5 does not fit int32", lambda **how: cm.Unfold("sum")(1.5, 3, dtype="i4", **how)),
    "unfold range": (cm.DTypeError, "300 is out of range for int8",
        lambda **how: cm.Unfold("sum")(300, 3, dtype="i1", **how)),
    "unfold complex": (cm.DTypeError, "1j does not fit float32",
        lambda **how: cm.Unfold("product")(1j, 3, dtype="f4", **how)),
    "unfold objects": (cm.DTypeError, "object", lambda **how: cm.Unfold("sum")(1.0, 3, dtype=object, **how)),
    "unfold places": (cm.DTypeError, "argmin", lambda **how: cm.Unfold("argmin")(1.0, 3, **how)),
    "unfold index": (cm.ModeError, r"takes \(length\), 2", lambda **how: cm.Unfold("index")(1, 2, **how)),
    "unfold nothing": (cm.ModeError, r"takes \(base, length\), 1", lambda **how: cm.Unfold("sum")(3, **how)),
    "powers": (cm.DTypeError, "largest n that fits is 62", lambda **how: cm.series.powers(2, 70, **how)),
    "factorials": (cm.DTypeError, "largest n that fits is 170", lambda **how: cm.series.factorials(171, **how)),
    "derivatives": (cm.ShapeError, r"shape is \(2, 2\)",
        lambda **how: cm.series.power_series(np.ones((2, 2)), X, **how)),
    "complex points": (cm.DTypeError, "real numbers", lambda **how: cm.series.exp(X * 1j, 3, **how)),
    "series mode": (cm.ModeError, "mode='fast'", lambda **how: cm.series.cosh(X, 17, mode="fast", **how)),
}  # fmt: skip


@pytest.mark.parametrize("case", MAPS)
def test_calls_that_give_a_vector(case: str, watched: cm.Context) -> None:
    error, told, call = MAPS[case]
    refused(watched, error, told, call, poison())


def user(combine: Any, identity: Any = ENTRY, dtype: Any = PAIR, values: Any = PAIRS) -> Callable[..., Any]:
    return lambda **how: cm.Reduce(cm.Operator(combine, identity, dtype))(values, **how)


SCALARS: dict[str, Refusal] = {
    "operator": (cm.ModeError, "'median'", lambda **how: cm.Reduce("median")(X, **how)),
    "no operator": (cm.ModeError, r"\['sum'\]", lambda **how: cm.Reduce(["sum"])(X, **how)),  # type: ignore[arg-type]
    "mode": (cm.ModeError, "mode=None", lambda **how: cm.Reduce("sum")(X, mode=None, **how)),
    "accumulate": (cm.ModeError, "'kahan'", lambda **how: cm.Reduce("sum")(X, accumulate="kahan", **how)),
    "finish": (cm.ModeError, "'later'", lambda **how: cm.Reduce("sum")(X, finish="later", **how)),
    "tiles": (cm.ModeError, "tiles=1", lambda **how: cm.Reduce("sum")(X, tiles=1, mode="parallel", **how)),
    "complex order": (cm.DTypeError, "complex128", lambda **how: cm.Reduce("minimum")(X + 1j, **how)),
    "records": (cm.DTypeError, "sum", lambda **how: cm.Reduce("sum")(PAIRS, **how)),
    "pipeline shapes": (cm.ShapeError, r"\(3,\) and \(4,\)",
        lambda **how: (cm.Map("a * b") >> cm.Reduce("sum"))(X, np.ones(4), **how)),
    "two outputs": (cm.ShapeError, "gives 2", lambda **how: (cm.Map(lambda a: (a, a)) >> cm.Reduce("sum"))(X, **how)),
    "missing field": (cm.DTypeError, "'n'|'x'", user(lambda a, b: {"x": a["x"] + b["x"]})),
    "unknown field": (cm.FormulaError, "'y'", user(lambda a, b: {"x": a["y"], "n": a["n"]})),
    "plain result": (cm.DTypeError, "plain number", user(lambda a, b: a["x"])),
    "identity": (cm.DTypeError, "identity", user(lambda a, b: a, identity="zero")),
    "identity of int8": (cm.DTypeError, "300 does not fit", user(lambda a, b: a, 300, None, np.ones(3, "i1"))),
    "values": (cm.DTypeError, "float64", user(lambda a, b: a, values=X)),
    "values that lose": (cm.DTypeError, "cannot become int32", user(lambda a, b: a + b, 0, "i4", X)),
    "one argument": (cm.FormulaError, "combine", user(lambda a: a, 0, "f8", X)),
    "series": (cm.ShapeError, "terms is -1", lambda **how: cm.series.sin(0.5, -1, **how)),
}  # fmt: skip


@pytest.mark.parametrize("case", SCALARS)
def test_calls_that_give_a_scalar(case: str, watched: cm.Context) -> None:
    error, told, call = SCALARS[case]
    refused(watched, error, told, call, scalar())


@pytest.mark.parametrize("name", ["argmin", "argmax"])
def test_nothing_has_no_place(name: str, watched: cm.Context, mode: str) -> None:
    call: Callable[..., Any] = lambda **how: cm.Reduce(name)(np.zeros((0, 2), "f4"), mode=mode, **how)  # noqa: E731
    refused(watched, cm.ShapeError, f"{name} of an empty input", call, scalar("i8"))


# ----------------------------------------------------------------------------------------------------------------- out
VECTOR_CALLS: dict[str, Callable[..., Any]] = {
    "map": lambda **how: cm.Map("a + 1")(X, **how),
    "scan": lambda **how: cm.Scan("sum")(X, **how),
    "unfold": lambda **how: cm.Unfold("product")(0.5, 3, **how),
    "powers": lambda **how: cm.series.powers(0.5, 2, **how),
    "factorials": lambda **how: cm.series.factorials(2, **how),
    "series": lambda **how: cm.series.exp(X, 7, **how),
    "power series": lambda **how: cm.series.power_series(X, X, 1.0, **how),
    "empty map": lambda **how: cm.Map("a + b")(np.zeros((0, 3)), X, **how),
}
SCALAR_CALLS: dict[str, Callable[..., Any]] = {
    "reduce": lambda **how: cm.Reduce("sum")(X, **how),
    "host": lambda **how: cm.Reduce("sum")(X, finish="host", **how),
    "empty": lambda **how: cm.Reduce("sum")(X[:0], **how),
    "series": lambda **how: cm.series.sin(0.5, 9, **how),
    "power series": lambda **how: cm.series.power_series(X, 0.5, 0.25, **how),
}


def read_only(shape: Any) -> np.ndarray:
    made = poison(shape)
    made.flags.writeable = False
    return made


@pytest.mark.parametrize("name", [*VECTOR_CALLS, *(f"{name}, scalar" for name in SCALAR_CALLS)])
def test_outputs_that_do_not_fit(name: str, watched: cm.Context) -> None:
    alone = name.removesuffix(", scalar")
    call = VECTOR_CALLS[name] if name in VECTOR_CALLS else SCALAR_CALLS[alone]
    shape: Any = (0, 3) if name == "empty map" else 3 if name in VECTOR_CALLS else ()
    other = cm.Context(watched.device)
    refused(watched, cm.ShapeError, r"out has shape \(4,\)", call, poison(4))
    refused(watched, cm.DTypeError, "out has dtype float32", call, poison(shape, "f4"))
    refused(watched, cm.DTypeError, "out has dtype int64", call, poison(shape, "i8"))
    refused(watched, cm.ShapeError, "read-only", call, read_only(shape))
    with pytest.raises(cm.ShapeError, match=r"out holds 2 array\(s\), the call gives 1"):
        call(out=(poison(shape), poison(shape)), context=watched)
    with pytest.raises(cm.DTypeError, match="not list"):
        call(out=[0.0, 0.0, 0.0], context=watched)
    for held, error, told in (
        (cm.array(poison(4), watched), cm.ShapeError, r"\(4,\)"),
        (cm.array(poison(shape, "c16"), watched), cm.DTypeError, "complex128"),
        (cm.array(poison(shape), other), cm.DeviceError, "out lives on"),
    ):
        content, before = held.to_numpy().tobytes(), len(watched.queue.log)
        with pytest.raises(error, match=told):
            call(out=held, context=watched)
        assert len(watched.queue.log) == before, "a command reached the device"
        assert held.to_numpy().tobytes() == content


def test_several_outputs_are_checked_together(watched: cm.Context) -> None:
    both = cm.Map(lambda a: (a, a + 1))
    good, bad = poison(), poison(4)
    before = len(watched.queue.log)
    with pytest.raises(cm.ShapeError, match=r"\(4,\)"):
        both(X, out=(good, bad), context=watched)
    with pytest.raises(cm.ShapeError, match="the call gives 2"):
        both(X, out=good, context=watched)
    assert len(watched.queue.log) == before
    assert_same(good, poison())
    assert_same(bad, poison(4))


def test_partials_and_their_prefixes(watched: cm.Context) -> None:
    with pytest.raises(cm.ShapeError, match=r"shape \(3, 1\)"):
        cm.Partials("sum")(np.ones((3, 1)), context=watched)
    kept = cm.Partials("sum")(X, context=watched)
    for i, error, told in (
        (4, cm.ShapeError, r"prefix\(4\) at position 0 is outside 0 … 3"), (-1, cm.ShapeError, r"prefix\(-1\)"),
        ([0, 3, 9], cm.ShapeError, r"prefix\(9\) at position 2"), (1.5, cm.DTypeError, "float64"),
        ([True], cm.DTypeError, "bool"),
        (np.array([2**63], "u8"), cm.ShapeError, "prefix"),
    ):  # fmt: skip
        shape = np.shape(i)
        refused(watched, error, told, lambda out, context, i=i: kept.prefix(i, out=out), poison(shape))
    refused(watched, cm.ShapeError, r"\(3,\)", lambda out, context: kept.prefix(out=out), poison(3))
    refused(watched, cm.ModeError, "mode='x'", lambda out, context: kept.prefix(out=out, mode="x"), poison(4))
    assert_same(kept.prefix([0, 3]), np.array([0.0, 3.0]))


# ------------------------------------------------------------------------------------------------------------- devices
def test_devices_that_are_not_there() -> None:
    for ask in (cm.select_device, cm.use, cm.Context):
        for spec in ("no such device", "pocl:99", "nowhere:0"):
            with pytest.raises(cm.DeviceError, match=spec.partition(":")[0]) as raised:
                ask(spec)
            assert cm.devices()[0].name in str(raised.value), "what was found is listed"
    assert_same(cm.Reduce("sum")(X), np.float64(3))


def test_arrays_of_two_contexts(watched: cm.Context) -> None:
    other = cm.Context(watched.device)
    here, there = cm.array(X, watched), cm.array(X, other)
    for call in (
        lambda **how: cm.Map("a + b")(here, there, out=how["out"]), lambda **how: cm.Map("a")(there, **how),
        lambda **how: cm.Scan("sum")(there, **how),
        lambda **how: cm.series.exp(there, 3, **how), lambda **how: cm.series.power_series(here, there, out=how["out"]),
        lambda **how: cm.series.power_series(there, X, **how),
        lambda **how: cm.series.powers(cm.array(2.0, other), 2, **how),
    ):  # fmt: skip
        refused(watched, cm.DeviceError, "must share a context", call, poison())


def test_float16_where_there_is_none(watched: cm.Context) -> None:
    x = np.ones(3, np.float16)
    if watched.device.fp16:
        assert_same(cm.Map("a + a")(x, context=watched), x + x)
        return
    for call in (
        lambda **how: cm.Map("a + a")(x, **how), lambda **how: cm.Scan("maximum")(x, **how),
        lambda **how: cm.series.factorials(2, dtype="f2", **how),
        lambda **how: cm.Unfold("sum")(1.0, 3, dtype="f2", **how),
        lambda **how: cm.Map(lambda a: a.astype("f2"))(X, **how),
    ):  # fmt: skip
        refused(watched, cm.DTypeError, "no float16 arithmetic", call, poison(dtype="f2"))


def test_float64_where_there_is_none() -> None:
    bare: Any = SimpleNamespace(device=SimpleNamespace(name="Small", fp64=False, fp16=False))
    for dtype in ("f8", "c16"):
        with pytest.raises(cm.DTypeError, match=rf"Small has no float64, which {np.dtype(dtype)} needs"):
            check_device([np.dtype("f4"), np.dtype(dtype)], bare)
    check_device([np.dtype(code) for code in ("?", "i8", "u8", "f4", "c8")], bare)


OUT_OF_MEMORY = """
import sys
import numpy as np
import clmapreduce as cm
with cm.Context(cm.devices()[int(sys.argv[1])]) as context:
    length = context.queue.facts.max_allocation // 8 + 1
    for call in (
        lambda: cm.Map("a + index")(cm.array(0.0), length=length),
        lambda: cm.Map("index * 2")(length=length),
        lambda: cm.Unfold("product")(cm.array(0.5), length),
        lambda: cm.Map(lambda a: a * cm.index)(cm.array(1.0), length=2**60),
        lambda: cm.Unfold("index")(2**60),
    ):
        try:
            call()
        except cm.DeviceMemoryError as error:
            assert isinstance(error, MemoryError) and "bytes" in str(error), error
        else:
            raise AssertionError("no error")
        assert cm.Reduce("sum")(np.arange(1000)) == 499500, "the device does not compute any more"
        assert (cm.Map("a + 1")(cm.array(np.arange(5))).to_numpy() == np.arange(1, 6)).all()
print("usable")
"""


def test_more_memory_than_there_is(context: cm.Context) -> None:
    """In a child: a driver or the system may end the process that asks for too much."""
    number = cm.devices().index(context.device)
    paths = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    child = subprocess.run(
        [sys.executable, "-c", OUT_OF_MEMORY, str(number)],
        capture_output=True, text=True, timeout=250, env=os.environ | {"PYTHONPATH": paths},
    )  # fmt: skip
    assert child.stdout == "usable\n", child.stderr
