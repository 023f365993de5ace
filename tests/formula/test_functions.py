"""Every elementwise function: dtypes as NumPy's, twins as NumPy's values, and the device as the twin."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.dtypes import LANES, c_name
from clmapreduce.errors import DTypeError, FormulaError
from clmapreduce.formula.definitions import EXP_SCALED
from clmapreduce.formula.evaluate import evaluate
from clmapreduce.formula.functions import apply, as_node, cast, exp_scaled
from clmapreduce.formula.node import Apply, Literal, Node, Symbol
from clmapreduce.formula.registry import FUNCTIONS, Function

DTYPES = [
    np.dtype(code) for code in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16")
]
TRANSCENDENTAL = {
    "sqrt", "exp", "log", "exp2", "expm1", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh",
    "cbrt", "rint", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "arctan2", "hypot", "erf", "copysign",
}  # fmt: skip
REAL_ONLY = (TRANSCENDENTAL - {"sqrt", "exp", "log"}) | {
    "power", "sign", "minimum", "maximum", "less", "less_equal", "greater", "greater_equal", "floor", "ceil", "trunc",
    "signbit",
}  # fmt: skip
"""Refused for complex numbers, some of them against NumPy (which orders them by real part)."""
HALVES = [d for d in DTYPES if d.itemsize == 1]
"""What NumPy computes in float16 and we in float32."""


def values(dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """The ends of a dtype, and what functions tend to trip over."""
    if dtype.kind == "b":
        return np.array([False, True, True, False])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        middle = [0, 1, 2, 3, 5, 7, 8, 31, 63, 100] + ([-1, -2, -3, -7, -64, -100] if dtype.kind == "i" else [])
        return np.array([info.min, info.min + 1, *middle, info.max - 1, info.max], dtype)
    part = np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype
    info = np.finfo(part)
    small = [
        0.0,
        0.1,
        0.5,
        0.75,
        1.0,
        1.5,
        2.0,
        2.5,
        3.0,
        10.0,
        1e3,
        float(info.eps),
        float(info.tiny),
        float(info.max) / 2,
    ]
    real = np.array([*small, *(-x for x in small), math.inf, -math.inf, math.nan], part)
    if dtype.kind == "f":
        return real
    some = np.array([0.0, -0.0, 1.0, -2.0, 0.5, 1e-3, -30.0, 4.0, math.inf, -math.inf, math.nan], part)
    pairs = np.zeros((some.size, some.size), dtype)
    pairs.real, pairs.imag = some[:, None], some[None, :]
    return pairs.reshape(-1)


def arguments(function: Function, dtype: np.dtype[Any]) -> list[np.ndarray[Any, Any]]:
    """Every pair (or triple) of values, as flat arrays."""
    grid = np.meshgrid(*[values(dtype)] * function.arity, indexing="ij") if function.arity < 3 else [values(dtype)] * 3
    return [axis.reshape(-1) for axis in grid]


def numpys(name: str, *args: Any) -> Any:
    """NumPy's own result; None where it refuses."""
    try:
        with np.errstate(all="ignore"):
            if name == "erf":
                return np.array([math.erf(x) for x in args[0].tolist()], np.exp(args[0]).dtype)
            return getattr(np, name)(*args)
    except TypeError:
        return None


def dtype_of(name: str, dtype: np.dtype[Any], numpys_own: np.dtype[Any]) -> np.dtype[Any]:
    """NumPy's dtype; float32 instead of the float16 it gives transcendental functions of 8-bit integers."""
    return np.dtype("f4") if name in TRANSCENDENTAL and dtype in HALVES else numpys_own


# ------------------------------------------------------------------------------------------------------------- types
@pytest.mark.parametrize("name", FUNCTIONS)
def test_dtypes_are_numpys(name: str) -> None:
    function = FUNCTIONS[name]
    for dtype in DTYPES:
        operands = [Symbol("x", dtype) for _ in range(function.arity)]
        own = None if name == "erf" and dtype.kind == "c" else numpys(name, *[np.ones(1, dtype)] * function.arity)
        if own is None or (dtype.kind == "c" and name in REAL_ONLY):
            if (name, dtype.kind) == ("sign", "b"):
                continue  # an int8 here, refused by NumPy
            with pytest.raises(DTypeError):
                apply(name, *operands)
            continue
        assert apply(name, *operands).dtype == dtype_of(name, dtype, own.dtype), dtype


@pytest.mark.parametrize("name", FUNCTIONS)
def test_twins_are_numpy_on_every_dtype(name: str) -> None:
    function = FUNCTIONS[name]
    for dtype in DTYPES:
        args = arguments(function, dtype)
        operands = [Symbol("x", dtype) for _ in args]
        try:
            node = apply(name, *operands)
        except DTypeError:
            continue
        if name == "power" and dtype.kind == "i":
            args[1] = np.maximum(args[1], 0)  # NumPy raises for the rest; see below
        if (name, dtype.kind) == ("sign", "b"):
            continue
        own = numpys(name, *args)
        result = evaluate(node, dict(zip(operands, args, strict=True)))
        assert result.dtype == node.dtype
        if name in TRANSCENDENTAL and dtype in HALVES:
            with np.errstate(all="ignore"):
                np.testing.assert_allclose(result.astype(np.float16), own, rtol=2e-3)
        else:
            np.testing.assert_array_equal(result, own, err_msg=f"{name} {dtype}")


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d.kind == "i"], ids=str)
def test_integers_to_negative_powers_are_0_but_for_1_and_minus_1(dtype: np.dtype[Any]) -> None:
    x, e = Symbol("x", dtype), Symbol("e", dtype)
    base, exponent = np.array([0, 1, -1, -1, 2, -3, 2], dtype), np.array([-1, -5, -4, -3, -1, -2, 3], dtype)
    assert evaluate(x**e, {x: base, e: exponent}).tolist() == [0, 1, 1, -1, 0, 0, 8]


def test_a_negative_constant_power_of_an_integer_is_refused_as_in_numpy() -> None:
    n, x = Symbol("n", np.dtype("i4")), Symbol("x", np.dtype("f4"))
    for exponent in (-1, np.int32(-2)):
        with pytest.raises(DTypeError, match=f"an integer to the power {exponent} is no integer"):
            n**exponent
    assert (x**-1).dtype == np.float32
    assert (n**-1.0).dtype == np.float64


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 7, 63, 64, 65, 100])
@pytest.mark.parametrize("dtype", ["?", "u1", "i2", "i4", "i8", "u8", "f4", "f8"])
def test_whole_powers_are_products(dtype: str, exponent: int) -> None:
    x = Symbol("x", np.dtype(dtype))
    data = np.array([0, 1, 2, 3, 5], dtype)
    node = x**exponent
    result = evaluate(node, {x: data})
    if dtype == "?":
        assert node.dtype == np.int64
        data = data.astype(np.int64)
    assert result.dtype == data.dtype
    with np.errstate(over="ignore"):
        expected = np.power(data, exponent)
    rounding = exponent * np.finfo(dtype).eps if dtype.startswith("f") else 0
    np.testing.assert_allclose(result, expected, rtol=rounding)


def test_small_powers_are_products_and_larger_ones_are_not() -> None:
    x = Symbol("x", np.dtype("f4"))

    def products(node: Node) -> int:
        assert isinstance(node, Apply) and node.function.name == "multiply"
        return 1 + sum(products(arg) for arg in {id(a): a for a in node.args}.values() if isinstance(arg, Apply))

    assert x**1 is x
    assert products(x**2) == 1
    assert products(x**8) == 3
    assert isinstance(x**65, Apply) and (x**65).function.name == "power"  # type: ignore[attr-defined]
    z = Symbol("z", np.dtype("c8"))
    assert (z**64).dtype == np.complex64
    for exponent in (0, 65, 0.5, z, True):
        with pytest.raises(DTypeError, match="power is not offered for complex64"):
            z**exponent  # type: ignore[operator]


@pytest.mark.parametrize("code", ["f4", "f8", "i4", "u2", "c8"])
def test_a_square_needs_no_absolute_value(code: str) -> None:
    """|x|·|x| is x·x, bit for bit; not of complex numbers, nor of two different numbers."""
    x, y = Symbol("x", np.dtype(code)), Symbol("y", np.dtype(code))
    square = apply("multiply", apply("abs", x), apply("abs", x))
    other = apply("multiply", apply("abs", x), apply("abs", y))
    assert isinstance(square, Apply) and isinstance(other, Apply)
    assert all(arg is x for arg in square.args) == (code != "c8") and not any(arg is x for arg in other.args)
    if code != "c8":
        numbers = values(np.dtype(code))
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(evaluate(square, {x: numbers}), np.abs(numbers) * np.abs(numbers))


def test_wrong_counts_and_names_are_refused() -> None:
    with pytest.raises(FormulaError, match=r"sqrt takes 1 argument\(s\), 2 given"):
        apply("sqrt", 1, 2)
    with pytest.raises(FormulaError, match=r"power takes 2 argument\(s\), 1 given"):
        apply("power", Symbol("x", np.dtype("f4")))
    with pytest.raises(AttributeError, match=r"cm\.math has no function 'sine'; it has abs, "):
        _ = cm.math.sine


# -------------------------------------------------------------------------------------------------------- spellings
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_dtype_a_function_takes_has_a_spelling(name: str) -> None:
    """So that DTypeError comes when the formula is traced, never when a kernel is written."""
    function = FUNCTIONS[name]
    for dtype in DTYPES:
        try:
            node = apply(name, *[Symbol("x", dtype) for _ in range(function.arity)])
        except DTypeError:
            continue
        assert isinstance(node, Apply)
        text = function.spelling(node.args[-1].dtype)
        assert text is not None
        source = text.format(*["a", "b", "c"], V="V", S="S", M="M", zero="0", one="1", not0="!a", U="U", I="I")
        assert source.count("(") == source.count(")")
        assert source.startswith("(") or source.endswith(")") or name in ("logical_not", "invert"), source


def test_vector_spellings_are_operators_where_operators_can_say_it() -> None:
    """A library call costs PoCL up to five times the kernel."""
    for name in ("minimum", "maximum", "where", "sign", "isnan", "isfinite", "isinf"):
        text = FUNCTIONS[name].spelling(np.dtype("f4"))
        assert text is not None and not any(word in text for word in ("fmin", "fmax", "select", "fma", "mad"))


# ------------------------------------------------------------------------------------------------- nodes and numbers
def test_constants_take_their_own_dtype_or_the_requested_one() -> None:
    assert as_node(1).dtype == np.int64
    assert as_node(2.0).dtype == np.float64
    assert as_node(np.float32(1)).dtype == np.float32
    assert as_node(True).dtype == np.bool_
    assert as_node(7, np.dtype("u1")).dtype == np.uint8
    x = Symbol("x", np.dtype("f4"))
    assert as_node(x) is x
    with pytest.raises(DTypeError):
        as_node(10**30)
    with pytest.raises(DTypeError):
        as_node(np.longdouble(1))


def test_casting_a_python_constant_makes_a_constant() -> None:
    constant = cast(as_node(3), np.dtype("f4"))
    assert isinstance(constant, Literal) and constant.dtype == np.float32
    strong = cast(as_node(np.int64(3)), np.dtype("f4"))
    assert isinstance(strong, Apply), "a NumPy scalar rounds where its own dtype says"


def test_math_on_numbers_and_arrays_is_numpy() -> None:
    data = np.linspace(0.1, 0.9, 5, dtype=np.float32)
    for name in sorted(FUNCTIONS):
        function = getattr(cm.math, name)
        assert function.__name__ == name and f"numpy.{name}" in function.__doc__
        args = [data] * FUNCTIONS[name].arity
        if name not in ("bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift", "arccosh"):
            np.testing.assert_allclose(function(*args), numpys(name, *args), rtol=1e-6)
    assert cm.math.sqrt(4.0) == 2.0
    assert cm.math.erf(1) == pytest.approx(math.erf(1)), "a whole number is no reason to round"
    assert cm.math.erf(np.array([], np.float32)).shape == (0,)
    assert cm.where(True, 1, 2) == 1
    assert set(dir(cm.math)) == set(FUNCTIONS)


def test_the_fast_exponential_and_its_twin() -> None:
    x = Symbol("x", np.dtype("f8"))
    data = np.array([0.0, -1.0, -700.0, -math.inf, math.nan, 5.0])
    np.testing.assert_array_equal(evaluate(exp_scaled(x), {x: data}), np.exp(np.minimum(data, 0)))
    assert exp_scaled(x).dtype == np.float64
    assert EXP_SCALED.name not in FUNCTIONS, "it is ours alone"


# ------------------------------------------------------------------------------------------------------- on a device
EXACT = set(FUNCTIONS) - TRANSCENDENTAL - {"power", "divide", "floor_divide", "mod", "abs", "multiply"}


@pytest.mark.drawn
@pytest.mark.parametrize("dtype", [d for d in DTYPES if d.kind in "biu"], ids=str)
def test_whole_numbers_on_the_device_are_the_twins_bit_for_bit(context: cm.Context, dtype: np.dtype[Any]) -> None:
    """Division by 0 and by -1, shifts by negative and by huge counts, powers that wrap: every pair."""
    names = [name for name in FUNCTIONS if name not in TRANSCENDENTAL | {"divide"} and FUNCTIONS[name].arity < 3]
    assert_as_twins(names, dtype, context, exact=True)


@pytest.mark.drawn
@pytest.mark.parametrize("dtype", [d for d in DTYPES if d.kind in "fc"], ids=str)
def test_floats_on_the_device_are_the_twins(context: cm.Context, dtype: np.dtype[Any]) -> None:
    """Values, infinities, NaN and, for what rounds to whole numbers, the sign of zero."""
    exact = [name for name in FUNCTIONS if name in EXACT and FUNCTIONS[name].arity < 3]
    assert_as_twins(exact, dtype, context, exact=True)
    assert_as_twins(sorted(set(FUNCTIONS) - set(exact) - {"where"}), dtype, context, exact=False)


def assert_as_twins(names: list[str], dtype: np.dtype[Any], context: cm.Context, exact: bool) -> None:
    x, y = Symbol("x", dtype), Symbol("y", dtype)
    nodes = {}
    for name in names:
        try:
            nodes[name] = apply(name, *[x, y][: FUNCTIONS[name].arity])
        except DTypeError:
            continue
    if not nodes:
        return
    a, b = (axis.reshape(-1) for axis in np.meshgrid(values(dtype), values(dtype), indexing="ij"))

    def all_of_them(x: Node, y: Node) -> tuple[Node, ...]:
        return tuple(apply(name, *[x, y][: FUNCTIONS[name].arity]) for name in nodes)

    results = cm.Map(all_of_them)(a, b, context=context, mode="sequential")
    for (name, node), result in zip(nodes.items(), results if len(nodes) > 1 else [results], strict=True):
        twin = evaluate(node, {x: a, y: b})
        assert result.dtype == twin.dtype, name
        if exact:
            np.testing.assert_array_equal(result, twin, err_msg=name)
        else:
            assert_close(name, result, twin, a, b)


def assert_close(name: str, result: Any, twin: Any, a: Any, b: Any) -> None:
    """Within the error OpenCL allows, relative to the twin."""
    part = np.finfo(twin.dtype)
    ulps = 2e3 if twin.dtype.kind == "c" else 64
    with np.errstate(all="ignore"):
        finite = np.isfinite(twin) & (np.abs(twin) > part.tiny * 1e3) & (np.abs(twin) < part.max / 1e3)
        wrong = finite & ~(np.abs(result - twin) <= ulps * part.eps * np.abs(twin))
        if twin.dtype.kind == "f":
            special = np.isnan(twin) != np.isnan(result)
            special |= np.isinf(twin) & (result != twin)
            wrong |= special
    where = np.flatnonzero(wrong)
    differences = [(a[i], b[i], result[i], twin[i]) for i in where[:5]]
    assert not where.size, f"{name}: {where.size} of {twin.size} differ, (a, b, device, twin): {differences}"


def test_lanes_have_names_for_every_width() -> None:
    assert [c_name(np.dtype("f4"), lanes) for lanes in LANES] == ["float", "float2", "float4", "float8", "float16"]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_signs_are_numpys_to_the_bit(dtype: str, context: cm.Context) -> None:
    """Zeros of either sign, the smallest numbers, infinities, NaN; lengths that fill vectors and leave some over."""
    if dtype == "f8" and not context.facts.fp64:
        pytest.skip("no such numbers here")
    kind = np.finfo(dtype)
    one = np.array([0.0, -0.0, 1.5, -2, kind.tiny, -kind.tiny, np.inf, -np.inf, np.nan], dtype)
    x = np.tile(one, 15)
    result = np.asarray(cm.Map(cm.math.sign)(x, context=context))
    np.testing.assert_array_equal(result, np.sign(x))
    known = ~np.isnan(x)
    np.testing.assert_array_equal(np.signbit(result[known]), np.signbit(np.sign(x[known])))


@pytest.mark.parametrize("code", ["f2", "f4", "f8"])
def test_abs_clears_the_sign_and_nothing_else(
    context: cm.Context, mode: str, rng: np.random.Generator, code: str
) -> None:
    """Bit by bit, of every kind of number: zeros, subnormals, infinities, NaNs; sizes beyond a vector's."""
    if code == "f8" and not context.facts.fp64:
        pytest.skip("no such numbers here")
    bits = np.dtype(code.replace("f", "u"))
    x = rng.integers(0, 1 << 8 * bits.itemsize, 67, bits, endpoint=False).view(code)
    limits = np.finfo(code)
    x[:8] = [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, -limits.smallest_subnormal, -limits.max]
    result = np.asarray(cm.Map(abs)(x, mode=mode, context=context))
    usual = ~np.isnan(x)
    np.testing.assert_array_equal(result.view(bits)[usual], np.abs(x).view(bits)[usual])
    assert np.isnan(result[~usual]).all()
