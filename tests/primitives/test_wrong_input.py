"""Wrong input raises one of our errors before anything is launched, says what would work, and touches no output."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.oracles import assert_same

import clmapreduce as cm
from clmapreduce.calls.tracing import check_device

ROOT = Path(__file__).resolve().parents[2]
ADD = cm.Map(lambda x, y: x + y)
DOUBLE = cm.Map(lambda x: x + x)
DOT = cm.Map(lambda x, y: x * y) >> cm.Reduce("sum")
PRIMITIVES = {"map": DOUBLE, "reduce": cm.Reduce("sum"), "scan": cm.Scan("sum"), "fused": cm.Map(lambda x: -x) >> cm.Reduce("sum")}


@pytest.fixture
def launches(context: cm.Context, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the kernels launched in this test."""
    names: list[str] = []
    launch = type(context.queue).launch

    def counted(queue: Any, kernel: Any, *arguments: Any, **keywords: Any) -> Any:
        names.append(kernel.name)
        return launch(queue, kernel, *arguments, **keywords)

    monkeypatch.setattr(type(context.queue), "launch", counted)
    return names


# -------------------------------------------------------------------------------------------------------------- devices
@pytest.mark.parametrize("spec", ["no such device", "99:99", "intel:nvidia"])
def test_no_fitting_device(spec: str) -> None:
    with pytest.raises(cm.DeviceError) as raised:
        cm.select_device(spec)
    for device in cm.devices():
        assert device.name in str(raised.value), "what was found"
    assert "pip install" in str(raised.value), "what to install"
    with pytest.raises(cm.DeviceError):
        cm.Context(spec)
    with pytest.raises(cm.DeviceError):
        cm.use(spec)


def test_an_ambiguous_device() -> None:
    if len(cm.devices()) < 2:
        pytest.skip("one device only")
    with pytest.raises(cm.DeviceError, match="several"):
        cm.select_device("")


def test_a_device_named_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLMR_DEVICE", "no such device")
    with pytest.raises(cm.DeviceError, match="CLMR_DEVICE"):
        cm.select_device()
    device = cm.devices()[-1]
    monkeypatch.setenv("CLMR_DEVICE", device.vendor)
    assert cm.select_device().vendor == device.vendor


def test_use_restores_the_former_default() -> None:
    before = cm.select_device()
    device = cm.devices()[-1]
    with cm.use(device) as used:
        assert used.device == device
        assert cm.array(np.ones(2, np.float32)).context.device == device
    with pytest.raises(cm.DeviceError), cm.use("no such device"):
        pass
    with cm.Context(device) as inner:
        assert cm.array(np.ones(2, np.float32)).context is inner
    assert cm.array(np.ones(2, np.float32)).context.device == before


# --------------------------------------------------------------------------------------------------------------- shapes
@pytest.mark.parametrize("shapes", [((3,), (4,)), ((2, 3), (2,)), ((0,), (5,)), ((2, 3, 4), (3, 3, 4))], ids=str)
def test_shapes_that_do_not_broadcast(shapes: Any, context: cm.Context, launches: list[str]) -> None:
    x, y = (np.ones(shape, np.float32) for shape in shapes)
    for call in (ADD, DOT):
        with pytest.raises(cm.ShapeError, match="do not broadcast") as raised:
            call(x, y, context=context)
        assert all(str(shape) in str(raised.value) for shape in shapes)
        with pytest.raises(cm.ShapeError):
            call(cm.array(x, context), cm.array(y, context))
    assert not launches


@pytest.mark.parametrize("primitive", ["scan", "partials"])
@pytest.mark.parametrize("shape", [(), (2, 3), (0, 3)], ids=str)
def test_vectors_only(primitive: str, shape: Any, context: cm.Context, launches: list[str]) -> None:
    made = cm.Scan("sum") if primitive == "scan" else cm.Partials("sum")
    with pytest.raises(cm.ShapeError, match="one dimension"):
        made(np.ones(shape, np.float32), context=context)
    assert not launches


def test_ragged_lists_are_no_arrays(context: cm.Context) -> None:
    for call in (DOUBLE, cm.Reduce("sum")):
        with pytest.raises(cm.ShapeError):
            call([[1, 2], [3]], context=context)


@pytest.mark.parametrize("length", [-1, 2.0, "3", True])
def test_lengths_that_are_none(length: Any, context: cm.Context) -> None:
    for call in (cm.Map(lambda: cm.index), cm.Map(lambda: cm.index) >> cm.Reduce("sum"), cm.Map(lambda: cm.index) >> cm.Scan("sum")):
        with pytest.raises(cm.ShapeError):
            call(length=length, context=context)
    with pytest.raises(cm.ShapeError):
        cm.Unfold("index")(length, context=context)


@pytest.mark.parametrize("extent", [-1, 1.5, True, np.nan, 2**63, 10**30])
def test_shapes_that_nothing_has_cannot_be_compiled(extent: Any, context: cm.Context) -> None:
    for batch, shape in ((False, (extent,)), (False, [extent]), (True, (3, extent)), (True, (extent, 3))):
        with pytest.raises(cm.ShapeError, match=r"argument 1: an extent of its shape is "):
            DOT.compile([shape, shape], "f4", batch=batch, context=context)
    with pytest.raises(cm.ShapeError, match=r"argument 2"):
        DOT.compile([(3,), extent], "f4", context=context)


@pytest.mark.parametrize("tiles", [True, 2**40, -1, 1.5, "1", np.nan])
def test_tiles_that_are_not_one(tiles: Any, context: cm.Context, launches: list[str]) -> None:
    with pytest.raises(cm.ModeError, match="tiles=1 with mode='sequential'"):
        cm.Reduce("sum")(np.ones(3, "f4"), mode="sequential", tiles=tiles, context=context)
    assert not launches


@pytest.mark.parametrize("batch", [1, 0, -1, 2**40, "False", np.nan, [True]])
def test_batches_that_are_neither_yes_nor_no(batch: Any, context: cm.Context, launches: list[str]) -> None:
    with pytest.raises(cm.ArgumentError, match=r"batch is .*; use True or False"):
        DOT(np.ones(3, "f4"), np.ones(3, "f4"), batch=batch, context=context)
    with pytest.raises(cm.ArgumentError, match="batch is "):
        DOT.compile([(3,), (3,)], "f4", batch=batch, context=context)
    with pytest.raises(cm.ArgumentError, match="batch is "):
        cm.fuse(lambda x: x, batch=batch)
    assert not launches


def test_masked_arrays_and_numbers_are_refused(context: cm.Context, launches: list[str]) -> None:
    """Their masked values would count."""
    x, number = np.ma.masked_array(np.ones(3, "f4"), mask=[0, 1, 0]), np.ma.masked_array(np.float32(3), mask=True)
    compiled = cm.fuse(lambda a, b: a * b).compile([(3,), None], "f4", context=context)
    total = cm.Operator(lambda a, b: a + b, number)
    calls: list[Callable[[], Any]] = [
        lambda: DOUBLE(x, context=context), lambda: DOUBLE(np.ones(3, "f4"), out=x, context=context),
        lambda: ADD(np.ones(3, "f4"), number, context=context), lambda: cm.Unfold("sum")(number, 3, context=context),
        lambda: cm.Unfold("sum")(number, 3, dtype="f4", context=context), lambda: compiled(np.ones(3, "f4"), number),
        lambda: compiled(x, 2.0), lambda: cm.Reduce(total)(np.ones(3, "f4"), context=context),
        lambda: cm.segmented_reduce(np.ones(3, "f4"), [0, 3], init=number, context=context),
        lambda: cm.series.powers(number, 3, context=context),
    ]  # fmt: skip
    for i, call in enumerate(calls):
        with pytest.raises(cm.DTypeError, match="is a masked array, which has values that do not count"):
            call()
            pytest.fail(f"call {i} is not refused")
    assert not launches


# --------------------------------------------------------------------------------------------------------------- dtypes
@pytest.mark.parametrize(
    "x",
    [
        np.array(["a", "b"]), np.array([object()]), np.array(["2020"], "M8[D]"), np.zeros(3, np.longdouble), np.zeros(3, "V7"),
        np.zeros(3, [("v", "f4", 65)]), np.zeros(3, [("t", "M8[s]")]), np.zeros(3, []), None, "text", {"a": 1}, object(),
        np.ma.array([1, 2], mask=[True, False]),
    ],
    ids=lambda x: str(getattr(x, "dtype", type(x).__name__)),
)  # fmt: skip
def test_dtypes_that_no_kernel_holds(x: Any, context: cm.Context, launches: list[str]) -> None:
    for call in (*PRIMITIVES.values(), cm.Partials("sum"), cm.array):
        with pytest.raises(cm.DTypeError):
            call(x, context=context)
    assert not launches


def test_uint64_with_signed_integers(context: cm.Context, launches: list[str]) -> None:
    x = np.ones(3, np.uint64)
    for signed in (np.int8, np.int16, np.int32, np.int64):
        with pytest.raises(cm.DTypeError, match="astype"):
            ADD(x, np.ones(3, signed), context=context)
    with pytest.raises(cm.DTypeError, match="astype"):
        cm.Map(lambda x: x + cm.index)(x, context=context)
    assert not launches


@pytest.mark.parametrize("name", ["minimum", "maximum", "argmin", "argmax", "logsumexp"])
def test_complex_numbers_have_no_order(name: str, context: cm.Context, launches: list[str]) -> None:
    for x in (np.ones(3, np.complex64), np.zeros(0, np.complex64)):
        with pytest.raises(cm.DTypeError, match="complex64"):
            cm.Reduce(name)(x, context=context)
    assert not launches


@pytest.mark.parametrize("name", ["sum", "product", "minimum", "any", "argmax", "logsumexp"])
def test_records_need_a_users_operator(name: str, context: cm.Context, launches: list[str]) -> None:
    x = np.zeros(3, [("a", "f4"), ("b", "i2")])
    for primitive in (cm.Reduce(name), cm.Scan(name), cm.Partials(name)):
        with pytest.raises(cm.DTypeError):
            primitive(x, context=context)
    assert not launches


TAKES: dict[str, Callable[..., Any]] = {
    **PRIMITIVES, "partials": cm.Partials("sum"), "unfold": lambda x, context: cm.Unfold("product")(x.reshape(5)[0], 5, context=context),
    "segments": lambda x, context: cm.segmented_reduce(x, np.array([0, 5]), context=context),
    "centroids": lambda x, context: cm.cluster.cluster_centroids(x, np.zeros(5, int)),
}  # fmt: skip


@pytest.mark.parametrize("name", TAKES)
def test_bfloat16_is_for_pairs(name: str, context: cm.Context, launches: list[str]) -> None:
    """From the host and, but for one value, the device."""
    x = np.ones(5, ml_dtypes.bfloat16)
    for given in (x,) if name == "unfold" else (x, cm.array(x, context)):
        with pytest.raises(cm.DTypeError, match="bfloat16"):
            TAKES[name](given, context=context)
    if name in PRIMITIVES:
        with pytest.raises(cm.DTypeError, match=r"only pairwise reductions take; pass x\.astype\('float32'\)"):
            TAKES[name](x[:0], context=context)
    assert not launches


@pytest.mark.parametrize("dtype", [np.float64, np.complex128, np.float16], ids=lambda d: d.__name__)
def test_dtypes_that_the_device_lacks(dtype: Any, context: cm.Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """A context of the same device whose facts say that it has neither float64 nor float16."""
    poor = cm.Context(context.device)
    device = context.device
    poor.device = type(device)(device.cl_device)
    poor.device.facts = replace(device.facts, fp64=False, fp16=False)
    poor.facts = replace(poor.facts, fp64=False)
    with pytest.raises(cm.DTypeError, match="float16" if dtype is np.float16 else "float64"):
        check_device([np.dtype(dtype)], poor)
    x = np.ones(5, dtype)
    for call in (*PRIMITIVES.values(), cm.Partials("sum")):
        with pytest.raises(cm.DTypeError):
            call(x, context=poor)
    with pytest.raises(cm.DTypeError):
        cm.Unfold("product")(x[0], 5, context=poor)
    with pytest.raises(cm.DTypeError):
        cm.Map(lambda n: n / 2)(np.ones(5, np.int32), context=poor) if dtype is np.float64 else DOUBLE(x, context=poor)


def test_what_a_device_without_float64_computes(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    poor = cm.Context(context.device)
    poor.device = type(context.device)(context.device.cl_device)
    poor.device.facts = replace(context.device.facts, fp64=False)
    poor.facts = replace(poor.facts, fp64=False)
    x = rng.standard_normal(100_003).astype(np.float32)
    magnitude = np.abs(x).sum(dtype=np.float64)
    total = x.sum(dtype=np.float64)
    call = cm.Reduce("sum")
    assert abs(call(x, context=poor, mode=mode) - total) <= 6e-8 * (abs(total) + magnitude)
    assert "double" not in call.source(x, context=poor, mode=mode)
    for primitive in (cm.Scan("sum"), cm.Reduce("logsumexp"), cm.Reduce("argmin")):
        assert "double" not in primitive.source(x, context=poor, mode=mode)
    prefixes = cm.Scan("sum")(x, context=poor, mode=mode)
    assert np.abs(prefixes - np.cumsum(x, dtype=np.float64)).max() <= 4096 * 6e-8 * magnitude / 10
    assert_same(cm.Map(lambda x: x * 2.5)(x, context=poor, mode=mode), x * np.float32(2.5))
    with pytest.raises(cm.DTypeError, match="float64"):
        call(x, context=poor, accumulate="double")


# ------------------------------------------------------------------------------------------------------------- formulas
def system(x: Any) -> Any:
    return __import__("os").system("true") or x


REFUSED_TEXTS = [
    "", "x +", "x y", "__import__('os')", "x.__class__", "x.real", "(lambda: x)()", "[x]", "x[0]", "x if x else x", "x and y", "not x",
    "x < y < z", "f(x)", "sqrt()", "sqrt(x, x)", "sqrt(x=1)", "sqrt(*x)", "'text'", "x == None", "f'{x}'", "x := 3", "sqrt + 1", "_x + 1",
    "x\n+ y; y", "10 ** 100000 + x", "1 << 100000 + x", "{x}", "(x, y)[0]", "x @ y", "x is y", "x in y", "...", "b'x'", "x if 1 else y",
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED_TEXTS)
def test_expressions_that_are_not_allowed(text: str, context: cm.Context) -> None:
    with pytest.raises(cm.ClMapReduceError):
        cm.Map(text)(np.ones(3), np.ones(3), np.ones(3), context=context)


def test_undefined_and_missing_arguments(context: cm.Context) -> None:
    expression = cm.Map("b * c")
    b = np.ones(3, np.float32)
    for values, named in (((b,), {}), ((b, b, b), {}), ((), {"b": b}), ((b,), {"b": b}), ((b, b), {"d": b}), ((), {})):
        with pytest.raises(cm.FormulaError):
            expression(*values, context=context, **named)
    with pytest.raises(cm.FormulaError, match="takes"):
        ADD(b, context=context)
    with pytest.raises(cm.FormulaError):
        ADD(b, b, z=b, context=context)
    with pytest.raises(cm.FormulaError):
        cm.Reduce("sum")(context=context)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x if x > 0 else -x, lambda x: None, lambda x: (), lambda x: {}, lambda x: "text", lambda x: [x], lambda x: max(x, 1),
        lambda x: 0 < x < 1, lambda x: x and 1, lambda x: x + np.ones(3), lambda x: cm.math.sqrt(x, x), lambda x: sum(x), lambda x: x + "1",
        lambda x: {"a": {"b": x}},
    ],
)  # fmt: skip
def test_functions_that_cannot_be_traced(function: Callable[..., Any], context: cm.Context, launches: list[str]) -> None:
    with pytest.raises(cm.FormulaError):
        cm.Map(function)(np.ones(3, np.float32), context=context)
    assert not launches


def test_unknown_functions_of_math() -> None:
    with pytest.raises(AttributeError, match="sqrt"):
        cm.math.square_root  # noqa: B018


def test_what_no_map_can_be() -> None:
    for wrong in (3, None, [abs]):
        with pytest.raises(cm.FormulaError):
            cm.Map(wrong)  # type: ignore[arg-type]
    for wrong in ("median", None, 3, len):
        for primitive in (cm.Reduce, cm.Scan, cm.Partials, cm.Unfold):
            with pytest.raises(cm.ModeError):
                primitive(wrong)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------------------ no values
@pytest.mark.parametrize("name", ["argmin", "argmax"])
def test_places_in_nothing(name: str, context: cm.Context, launches: list[str]) -> None:
    x = np.zeros(0, np.float32)
    for call in (cm.Reduce(name), cm.Map(lambda x: -x) >> cm.Reduce(name)):
        with pytest.raises(cm.ShapeError, match="empty"):
            call(x, context=context)
        with pytest.raises(cm.ShapeError, match="empty"):
            call(cm.array(x, context))
    with pytest.raises(cm.ShapeError, match="identity"):
        cm.Scan(name, exclusive=True)(np.ones(3), context=context)
    assert not launches


def test_sequences_that_leave_their_dtype(context: cm.Context, launches: list[str]) -> None:
    for n, dtype, largest in ((13, "i4", 12), (21, "i8", 20), (35, "f4", 34), (171, "f8", 170), (6, "u1", 5)):
        with pytest.raises(cm.DTypeError, match=f"largest n that fits is {largest}"):
            cm.series.factorials(n, dtype=dtype, context=context)
    for base, n, dtype, largest in ((2, 31, "i4", 30), (-2, 32, "i4", 31), (3, 6, "u1", 5), (10, 19, "i8", 18)):
        with pytest.raises(cm.DTypeError, match=f"largest n that fits is {largest}"):
            cm.series.powers(np.dtype(dtype).type(base), n, context=context)
    for n in (-1, 2.5, True, "3", None):
        with pytest.raises(cm.ShapeError):
            cm.series.factorials(n, context=context)
        with pytest.raises(cm.ShapeError):
            cm.series.powers(2.0, n, context=context)
    assert not launches


# ----------------------------------------------------------------------------------------------------------------- out=
def readonly(shape: Any, dtype: Any) -> np.ndarray:
    made = np.full(shape, 7, dtype)
    made.flags.writeable = False
    return made


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


@pytest.mark.parametrize("wrong", WRONG_OUTS)
@pytest.mark.parametrize("primitive", PRIMITIVES)
def test_outputs_that_do_not_fit_stay_untouched(
    primitive: str, wrong: str, context: cm.Context, mode: str, launches: list[str]
) -> None:
    make, error = WRONG_OUTS[wrong]
    x = np.ones(1025, np.float32)
    out = make(() if primitive in ("reduce", "fused") else (1025,), np.float32)
    before = [np.array(o).tobytes() for o in (out if isinstance(out, tuple) else (out,))]
    for given in (x, cm.array(x, context)):
        with pytest.raises(error):
            PRIMITIVES[primitive](given, context=context, mode=mode, out=out)
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
    held = cm.array(out, context)
    with pytest.raises(cm.ShapeError, match="memory"):
        both(np.ones(17, np.float32), context=context, out=(held, held))
    assert (out == 7).all()
    assert not launches


# --------------------------------------------------------------------------------------------------------------- memory
def child(code: str, context: cm.Context, **environment: str) -> str:
    """What Python code prints in a process of its own; drivers may abort when memory runs out."""
    head = f"import numpy as np, clmapreduce as cm\ncontext = cm.Context(cm.devices()[{cm.devices().index(context.device)}])\n"
    done = subprocess.run(
        [sys.executable, "-c", head + code], cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


AFTERWARDS = """
assert float(cm.Reduce("sum")(cm.array(np.ones(1025, np.float32), context))) == 1025
print("works")
"""


def test_more_memory_than_the_device_gives(context: cm.Context) -> None:
    code = f"""
from clmapreduce.device.array import empty
for wish in ({context.device.global_memory} * 2, 1 << 60):
    for call in (
        lambda: empty((wish,), np.dtype(np.uint8), context),
        lambda: cm.Unfold("index")(wish // 8, context=context),
        lambda: cm.Map(lambda x: x + cm.index)(cm.array(np.array([1]), context), length=wish // 8),
        lambda: (cm.Map(lambda: cm.index) >> cm.Partials("sum"))(length=wish // 8, context=context),
    ):
        try:
            call()
        except cm.DeviceMemoryError as error:
            assert isinstance(error, MemoryError)
        else:
            raise AssertionError("no DeviceMemoryError")
{AFTERWARDS}"""
    assert child(code, context) == "works"


def test_an_input_larger_than_the_devices_largest_buffer(context: cm.Context) -> None:
    """Pages that are never touched cost nothing, so that the array fits every host. PoCL 5.0 says another largest buffer
    in every process, so that the child's may hold the array: then the result must be right.
    """
    code = f"""
x = np.zeros({context.device.facts.max_allocation + 4096}, bool)
for call in (cm.Reduce("any"), cm.Scan("any"), cm.Map(lambda x: x), cm.Partials("any"), cm.array):
    try:
        result = call(x, context=context)
    except cm.DeviceMemoryError:
        pass
    else:
        values = result.prefix(len(x)) if isinstance(result, cm.KeptPartials) else result
        assert not np.asarray(values).any()
{AFTERWARDS}"""
    assert child(code, context) == "works"


def test_a_limit_of_memory(context: cm.Context) -> None:
    code = f"""
held = cm.array(np.ones(1 << 20, np.float32), context)
try:
    kept = [cm.Map(lambda x: x + 1)(held) for _ in range(64)]
except cm.DeviceMemoryError as error:
    assert "CLMR_MEMORY_LIMIT" in str(error)
else:
    raise AssertionError("no DeviceMemoryError")
kept = None
{AFTERWARDS}"""
    assert child(code, context, CLMR_MEMORY_LIMIT="64M") == "works"


def test_memory_comes_back(context: cm.Context) -> None:
    """A limit of 64 MiB is enough for any number of results of 16 MiB, one after the other."""
    code = f"""
held = cm.array(np.ones(4 << 20, np.float32), context)
for _ in range(40):
    step = cm.Scan("sum")(held)
    total = cm.Reduce("sum")(step)
{AFTERWARDS}"""
    assert child(code, context, CLMR_MEMORY_LIMIT="96M") == "works"


def test_an_array_that_the_host_has_no_room_to_copy(context: cm.Context) -> None:
    """One number that is read 2^42 times. The array is refused before NumPy is asked for a copy: where the system
    promises more memory than it has, the copy ends the process.
    """
    huge = np.broadcast_to(np.float32(1), (1 << 42,))
    for call in (cm.Reduce("sum"), cm.Scan("sum"), cm.Map(lambda x: x + 1), cm.Partials("sum"), cm.run_lengths):
        with pytest.raises(cm.DeviceMemoryError, match="repeats its elements"):
            call(huge, context=context)


HUGE = np.broadcast_to(np.int64(1), (1 << 42,))
POINTS = np.broadcast_to(np.float32(1), (1 << 42, 2))
HOST_CALLS: dict[str, Callable[[], object]] = {
    "array": lambda: cm.array(HUGE),
    "cluster_ranges": lambda: cm.cluster.cluster_ranges(HUGE),
    "sort_clusters": lambda: cm.cluster.sort_clusters(POINTS, HUGE),
    "grid_cluster": lambda: cm.cluster.grid_cluster(POINTS, 0.5),
    "from_clusters": lambda: cm.Ranges.from_clusters(HUGE, HUGE, [[True]]),
    "from_mask": lambda: cm.Ranges.from_mask(np.broadcast_to(True, (1 << 20, 1 << 20))),
    "radius": lambda: cm.Ranges.radius(POINTS, None, 1.0, [[0, 9]]),
    "SegmentPlan": lambda: cm.SegmentPlan(HUGE, 1 << 42),
    "KeyPlan": lambda: cm.KeyPlan(HUGE),
    "SpmvPlan": lambda: cm.SpmvPlan(([0, 1 << 42], HUGE, HUGE)),
}


@pytest.mark.parametrize("name", HOST_CALLS)
def test_calls_that_work_on_the_host_refuse_what_it_cannot_hold(name: str) -> None:
    """One number that is read 2^42 times, which NumPy would walk through for hours or have no room to copy."""
    with pytest.raises(cm.DeviceMemoryError, match="repeats its elements"):
        HOST_CALLS[name]()


@pytest.mark.parametrize("exclusive", [[1], "yes", None, np.ones(2)], ids=str)
def test_exclusive_is_a_switch(exclusive: object) -> None:
    with pytest.raises(cm.ClMapReduceError, match=r"exclusive is .*; use True or False"):
        cm.Scan("sum", exclusive=exclusive)  # type: ignore[arg-type]


@pytest.mark.parametrize("base", [len, ..., np.zeros(1, [("a", "f4")]), "x", None], ids=str)
def test_the_base_of_an_unfold_is_a_number(base: object, context: cm.Context) -> None:
    with pytest.raises(cm.ClMapReduceError, match="the base"):
        cm.Unfold("product")(base, 10, dtype="f8", context=context)
