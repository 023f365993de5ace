"""The elementwise functions: one entry each, with its types, its OpenCL spelling and its NumPy twin.

To add a function, add an entry. A spelling is text with `{0}`, `{1}` … for the arguments and these words: `{V}` the
computing type with its lanes, `{S}` the same with one lane, `{M}` signed integers as wide, `{zero}` and `{one}` in
every lane, `{not0}` the argument, a bool, negated; `{U}` and `{I}` cast a signed integer to its unsigned twin and back,
because overflow only wraps there (of two ints multiplied and then widened, clang makes a product of two longs). A
spelling used for a whole vector holds operators wherever they can say it: on PoCL, built-in functions such as fma, max,
select and convert_* are calls, not instructions (measured: up to five times on a whole kernel). A spelling that names a
helper of one scalar type (`cmr_mod_{S}`) exists for single values; the emitter writes it once per lane.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from clmapreduce.dtypes import (
    BOOL,
    COMPLEX64,
    COMPLEX128,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    DType,
    floating,
    is_complex,
    is_extended,
    is_float,
    is_integer,
    promote,
)
from clmapreduce.errors import DTypeError, FormulaError
from clmapreduce.formula.array import elementwise, is_array
from clmapreduce.formula.node import Apply, Extended, Literal, Node, Number, Operand
from clmapreduce.formula.registry import BUILDERS, EXTENDED, FUNCTIONS, Function, Spelling
from clmapreduce.formula.types import (
    Types,
    arithmetic,
    asks,
    asks_real,
    bits,
    chooses,
    compares,
    complex_part,
    equality,
    numeric,
    ordered,
    quotient,
    real_numeric,
    real_transcendental,
    shifts,
    transcendental,
    truth,
    without_bool,
)

_CALLED = re.compile(r"[a-z]\w*(\{[SVM]\})?\(")
"""A spelling that calls a function, built-in or ours."""


def apply(name: str, *operands: Operand) -> Node:
    """The node `name(*operands)`; an array of such nodes where an operand is one.

    Python numbers take the dtype their partners need, and so does what is computed from them alone.
    Raises FormulaError for an argument that is not a number, DTypeError for numbers that the function or the dtype
    cannot take.
    """
    function = FUNCTIONS[name]
    if len(operands) != function.arity:
        raise FormulaError(f"{name} takes {function.arity} argument(s), {len(operands)} given")
    if any(map(is_array, operands)):
        array: Node = elementwise(lambda *parts: apply(name, *parts), *operands)
        return array
    operands = tuple(map(_constant_number, operands))
    if any(isinstance(operand, Extended) for operand in operands):
        number: Node = _of_extended(name)(*operands)
        return number
    for operand in operands:
        if isinstance(operand, np.ndarray) and operand.ndim:
            raise FormulaError(
                f"{name}: an array of shape {operand.shape} cannot stand inside a formula; pass it as an argument"
            )
        if not isinstance(operand, (Node, bool, int, float, complex, np.generic, np.ndarray)):
            text = f"a record of {', '.join(map(repr, operand))}" if isinstance(operand, Mapping) else repr(operand)
            raise FormulaError(f"{name}: {text} is neither a traced value nor a number")
    kinds = [_kind(operand) for operand in operands]
    if name == "power" and isinstance(operands[0], Node) and isinstance(operands[1], (int, np.integer)):
        if operands[1] < 0 and is_integer(promote(*kinds)):
            raise DTypeError(f"an integer to the power {operands[1]} is no integer; cast it to a floating dtype first")
        if _is_small(operands[1]):
            return repeated_product(operands[0], operands[1])
    operand_dtypes, result = function.types(*kinds)
    weak = None
    if not any(isinstance(kind, np.dtype) for kind in kinds):
        nodes = [operand for operand in operands if isinstance(operand, Node)]
        operand_dtypes, (result,) = _as_narrow(operand_dtypes, nodes), _as_narrow((result,), nodes)
        weak = _WEAK.get(result.kind) if nodes else None
    if function.spelling(operand_dtypes[-1]) is None:
        raise DTypeError(f"{name} is not offered for {operand_dtypes[-1]}")
    if operand_dtypes[-1] == FLOAT16 and computes_halves_wide(function):
        args = tuple(cast(as_node(o, FLOAT32), FLOAT32) for o in operands)
        return cast(Apply(function, args, FLOAT32 if result == FLOAT16 else result, weak), result)
    args = tuple(cast(as_node(o, d), d) for o, d in zip(operands, operand_dtypes, strict=True))
    return Apply(function, _without_signs(args) if name == "multiply" else args, result, weak)


def computes_halves_wide(function: Function) -> bool:
    """Whether a function of float16 is computed in float32: no driver need have functions of half (NVIDIA's has none),
    and NumPy computes them so as well.
    """
    spelling = function.spelling(FLOAT16)
    return spelling is not None and _CALLED.search(spelling) is not None


def _of_extended(name: str) -> Callable[..., Any]:
    if name not in EXTENDED:
        raise DTypeError(f"{name} is not offered for extended numbers; convert with x.astype('float64') first")
    return EXTENDED[name]


def _without_signs(factors: tuple[Node, ...]) -> tuple[Node, ...]:
    """The factors of |x|·|x| as those of x·x, which is the same number. Intel's compiler crashes on the first in some
    loops.
    """
    sizes = [n for n in factors if isinstance(n, Apply) and n.function.name == "abs" and n.args[0].dtype == n.dtype]
    inner = [node.args[0] for node in sizes]
    return tuple(inner) if len(inner) == 2 and inner[0] is inner[1] else factors


def is_traced(operand: Any) -> bool:
    """Whether it is a node or an array that holds nodes."""
    return any(isinstance(part, (Node, Extended)) for part in (operand.flat if is_array(operand) else [operand]))


def _kind(operand: Operand) -> Any:
    """What promotion looks at: a dtype, or a Python number, which is weak."""
    if isinstance(operand, Node):
        return operand.dtype if operand.weak is None else operand.weak
    return operand.dtype if isinstance(operand, (np.generic, np.ndarray)) else operand


_WEAK: dict[str, Number] = {"i": 0, "f": 0.0, "c": 0j}


def _as_narrow(dtypes: tuple[DType, ...], nodes: Sequence[Node]) -> tuple[DType, ...]:
    """The dtypes with float32 for float64 where all the weak floating `nodes` came as float32 (their arrays did)."""
    floats = [node.dtype for node in nodes if node.dtype.kind in "fc"]
    if not floats or any(dtype in (FLOAT64, COMPLEX128) for dtype in floats):
        return dtypes
    return tuple({FLOAT64: FLOAT32, COMPLEX128: COMPLEX64}.get(dtype, dtype) for dtype in dtypes)


def _is_small(exponent: object) -> bool:
    return isinstance(exponent, int) and not isinstance(exponent, bool) and 1 <= exponent <= 64


def repeated_product(base: Node, exponent: Any) -> Node:
    """base ** exponent by squaring: exact for integers, no library call for floats, defined for complex numbers."""
    if base.dtype == BOOL:
        base = cast(base, promote(BOOL, exponent))
    result: Node | None = None
    while exponent:
        if exponent & 1:
            result = base if result is None else apply("multiply", result, base)
        exponent >>= 1
        if exponent:
            base = apply("multiply", base, base)
    assert result is not None
    return result


def _constant_number(operand: Any) -> Any:
    """An element of an array of numbers in several floats as constants; other operands as they are."""
    if not isinstance(operand, (np.void, np.ndarray)) or operand.shape or not is_extended(operand.dtype):
        return operand
    return Extended({name: Literal(float(operand[name]), operand.dtype[0]) for name in operand.dtype.names or ()})


def as_node(operand: Operand, dtype: DType | None = None) -> Node:
    """A node for a number (in `dtype`, else its own); nodes pass through."""
    if isinstance(operand, (Node, Extended)):
        return operand
    return Literal(operand, dtype if dtype is not None else promote(np.asarray(operand).dtype))


def alike(operands: Sequence[Operand]) -> list[Node]:
    """The operands as nodes of their common dtype; Python numbers are weak."""
    kinds = [_kind(operand) for operand in operands]
    dtype = promote(*kinds)
    if not any(isinstance(kind, np.dtype) for kind in kinds):
        (dtype,) = _as_narrow((dtype,), [operand for operand in operands if isinstance(operand, Node)])
    return [cast(as_node(operand, dtype), dtype) for operand in operands]


def cast(node: Node, dtype: DType) -> Node:
    """`node` converted to `dtype`; the same node when nothing changes. Complex to real is refused, to bool is not."""
    if node.dtype == dtype:
        return node
    if isinstance(node, Extended) or is_extended(dtype):
        converted: Node = _of_extended("cast")(node, dtype)
        return converted
    if is_complex(node.dtype) and not is_complex(dtype) and dtype != BOOL:
        raise DTypeError(f"a {node.dtype} value cannot become {dtype} without losing its imaginary part; use .real")
    if isinstance(node, Literal) and not isinstance(node.value, np.generic):
        return Literal(node.value, dtype)
    return Apply(CAST, (node,), dtype)


BUILDERS["cast"] = lambda operand, dtype: cast(as_node(operand), dtype)


# --------------------------------------------------------------------------------------------------------- spellings
def _always(text: str) -> Spelling:
    return lambda dtype: text


def _by(
    *,
    real: str,
    integer: str | None = None,
    boolean: str | None = None,
    complex_: str | None = None,
    unsigned: str | None = None,
    signed: str | None = None,
) -> Spelling:
    def spelling(dtype: DType) -> str | None:
        if dtype == BOOL:
            return boolean if boolean is not None else integer if integer is not None else real
        if is_complex(dtype):
            return complex_
        if dtype.kind == "u" and unsigned is not None:
            return unsigned
        if dtype.kind == "i" and signed is not None:
            return signed
        if is_integer(dtype) and integer is not None:
            return integer
        return real

    return spelling


def _define(
    name: str, arity: int, types: Types, spelling: Spelling | str, twin: Callable[..., Any]
) -> None:
    text = _always(spelling) if isinstance(spelling, str) else spelling
    FUNCTIONS[name] = Function(name, arity, types, text, twin)
    BUILDERS[name] = partial(apply, name)


def _propagating(comparison: str) -> Spelling:
    """minimum/maximum that keep a NaN wherever it stands, from comparisons alone."""
    plain = f"(({{0}} {comparison} {{1}}) ? {{0}} : {{1}})"
    floats = f"((({{0}} {comparison} {{1}}) | ({{0}} != {{0}})) ? {{0}} : {{1}})"

    def spelling(dtype: DType) -> str:
        if dtype == BOOL:
            return "({0} | {1})" if comparison.startswith(">") else "({0} & {1})"
        return floats if is_float(dtype) else plain

    return spelling


def _library(
    name: str, arity: int = 1, c: str | None = None, complex_: str | None = None, word: str | None = None
) -> None:
    """A function of OpenCL's own, called `c` there. word: what vendors spell instead."""
    called = f"cmr_{word}_{{V}}" if word else c or name
    text = f"{called}({', '.join(f'{{{i}}}' for i in range(arity))})"
    types = transcendental if complex_ else real_transcendental
    _define(name, arity, types, _by(real=text, complex_=complex_), getattr(np, name))


def _with_sign(dtype: DType) -> str:
    """The bits of one number with the sign of another."""
    sign = f"{1 << 8 * dtype.itemsize - 1:#x}{'L' if dtype.itemsize == 8 else ''}"
    integer = "long" if dtype.itemsize == 8 else "int"
    return f"as_{{V}}((as_{{M}}({{0}}) & ~({integer}){sign}) | (as_{{M}}({{1}}) & ({integer}){sign}))"


def _whole(rounding: Callable[..., Any]) -> Callable[..., Any]:
    """A rounding function's twin: whole numbers stay (NumPy before 2.1 makes them float64)."""
    return lambda x: x if np.asarray(x).dtype.kind in "biu" else rounding(x)


def _power(base: Any, exponent: Any) -> Any:
    """numpy.power, where integers to negative powers are 0 but for the bases 1 and -1; NumPy refuses them."""
    if np.result_type(base, exponent).kind not in "iu" or not np.any(np.less(exponent, 0)):
        return np.power(base, exponent)
    product = np.power(base, np.maximum(exponent, 0))
    inverse = np.where(np.equal(np.abs(base), 1), np.power(base, np.bitwise_and(exponent, 1)), 0)
    return np.where(np.less(exponent, 0), inverse, product).astype(product.dtype)


def _erf(x: Any) -> Any:
    return np.vectorize(math.erf, otypes=[floating(np.asarray(x).dtype)])(x)


_define("add", 2, arithmetic,
        _by(real="({0} + {1})", signed="{I}({U}({0}) + {U}({1}))", boolean="({0} | {1})",
            complex_="({0} + {1})"), np.add)  # fmt: skip
_define("subtract", 2, numeric,
        _by(real="({0} - {1})", signed="{I}({U}({0}) - {U}({1}))", complex_="({0} - {1})"), np.subtract)  # fmt: skip
_define("multiply", 2, arithmetic,
        _by(real="({0} * {1})", signed="{I}({U}({0}) * {U}({1}))", boolean="({0} & {1})",
            complex_="cmr_mul_{V}({0}, {1})"), np.multiply)  # fmt: skip
_define("divide", 2, quotient, _by(real="({0} / {1})", complex_="cmr_div_{V}({0}, {1})"), np.true_divide)
_define("negative", 1, numeric,
        _by(real="(-{0})", signed="{I}(-{U}({0}))", complex_="(-{0})"), np.negative)  # fmt: skip
for _name in ("floor_divide", "mod"):
    _define(_name, 2, real_numeric,
            _by(real=f"cmr_{_name}_{{V}}({{0}}, {{1}})", integer=f"cmr_{_name}_{{S}}({{0}}, {{1}})"),
            getattr(np, _name))  # fmt: skip
_define("power", 2, without_bool,
        _by(real="cmr_pow_{V}({0}, {1})", integer="cmr_power_{S}({0}, {1})"), _power)  # fmt: skip
_define("abs", 1, complex_part,
        _by(real="cmr_abs_{V}({0})", integer="(({0} < {zero}) ? {I}(-{U}({0})) : {0})", unsigned="({0})",
            boolean="({0})", complex_="hypot({0}.x, {0}.y)"), np.abs)  # fmt: skip
_define("sign", 1, real_numeric,
        _by(real="(({0} != {0}) ? {0} : ({0} > {zero}) ? {one} : ({0} < {zero}) ? -{one} : {zero})",
            integer="(({0} > {zero}) ? {one} : ({0} < {zero}) ? -{one} : {zero})",
            unsigned="(({0} > {zero}) ? {one} : {zero})"), np.sign)  # fmt: skip
_define("minimum", 2, ordered, _propagating("<="), np.minimum)
_define("maximum", 2, ordered, _propagating(">="), np.maximum)
for _name, _sign in (("less", "<"), ("less_equal", "<="), ("greater", ">"), ("greater_equal", ">=")):
    _define(_name, 2, compares, f"({{0}} {_sign} {{1}})", getattr(np, _name))
_define("equal", 2, equality,
        _by(real="({0} == {1})", complex_="(({0}.x == {1}.x) & ({0}.y == {1}.y))"), np.equal)  # fmt: skip
_define("not_equal", 2, equality,
        _by(real="({0} != {1})", complex_="(({0}.x != {1}.x) | ({0}.y != {1}.y))"), np.not_equal)  # fmt: skip
_define("bitwise_and", 2, bits, "({0} & {1})", np.bitwise_and)
_define("bitwise_or", 2, bits, "({0} | {1})", np.bitwise_or)
_define("bitwise_xor", 2, bits, "({0} ^ {1})", np.bitwise_xor)
_define("invert", 1, bits, _by(real="(~{0})", boolean="{not0}"), np.invert)
_define("left_shift", 2, shifts, "cmr_shift_left_{S}({0}, {1})", np.left_shift)
_define("right_shift", 2, shifts, "cmr_shift_right_{S}({0}, {1})", np.right_shift)
_define("logical_and", 2, truth, "({0} & {1})", np.logical_and)
_define("logical_or", 2, truth, "({0} | {1})", np.logical_or)
_define("logical_not", 1, truth, "{not0}", np.logical_not)
_define("where", 3, chooses, "({0} ? {1} : {2})", np.where)
_define("isnan", 1, asks,
        _by(real="({0} != {0})", boolean="({0} & {not0})",
            complex_="(({0}.x != {0}.x) | ({0}.y != {0}.y))"), np.isnan)  # fmt: skip
_define("isfinite", 1, asks,
        _by(real="(({0} - {0}) == {zero})", integer="({0} == {0})", boolean="({0} | {not0})",
            complex_="(({0}.x - {0}.x == 0) & ({0}.y - {0}.y == 0))"), np.isfinite)  # fmt: skip
_define("isinf", 1, asks,
        _by(real="(({0} == {0}) & (({0} - {0}) != {zero}))", integer="({0} != {0})", boolean="({0} & {not0})",
            complex_="((({0}.x == {0}.x) & ({0}.x - {0}.x != 0)) | (({0}.y == {0}.y) & ({0}.y - {0}.y != 0)))"),
        np.isinf)  # fmt: skip
_define("signbit", 1, asks_real, "(as_{M}({0}) < 0)", np.signbit)
_define("copysign", 2, real_transcendental, _with_sign, np.copysign)
for _name in ("floor", "ceil", "trunc"):
    _define(_name, 1, ordered, _by(real=f"{_name}({{0}})", integer="({0})"), _whole(getattr(np, _name)))
_define("real", 1, complex_part, _by(real="({0})", complex_="({0}.x)"), np.real)
_define("imag", 1, complex_part, _by(real="({zero})", boolean="({0} & {not0})", complex_="({0}.y)"), np.imag)
_define("conj", 1, without_bool, _by(real="({0})", complex_="(({V})({0}.x, -{0}.y))"), np.conj)
_library("sqrt", complex_="cmr_sqrt_{V}({0})")
_library("exp", complex_="cmr_exp_{V}({0})")
_library("log", complex_="cmr_log_{V}({0})", word="ln")
for _name in ("exp2", "cbrt", "rint"):
    _library(_name)
for _name in ("expm1", "log2", "log10", "log1p", "sinh", "cosh", "tanh"):
    _library(_name, word=_name)
for _name in ("sin", "cos", "tan"):
    _define(_name, 1, real_transcendental, f"cmr_{_name}_{{V}}({{0}})", getattr(np, _name))
for _name in ("arcsin", "arccos"):
    _library(_name, c=_name.replace("arc", "a"))
for _name in ("arctan", "arcsinh", "arccosh", "arctanh"):
    _library(_name, word=_name.replace("arc", "a"))
_library("arctan2", 2, word="atan2")
_library("hypot", 2)
_define("erf", 1, real_transcendental, "erf({0})", _erf)


def _cast_twin(x: Any) -> Any:
    return x


CAST = Function("cast", 1, arithmetic, _always("{0}"), _cast_twin)
"""Conversion to the node's dtype; the emitter spells it, because bools and vectors need care."""

GUARD = Function("guard", 2, chooses, _always("{1}"), lambda condition, value: value)
"""The value; whoever stores it does so under the condition only."""

PLACED = Function("placed", 2, chooses, _always("{1}"), lambda place, value: value)
"""The value; whoever stores it does so at the place, not at the index."""

EXP_SCALED = Function(
    "exp_scaled", 1, real_transcendental, _always("cmr_exp_scaled_{V}({0})"), lambda x: np.exp(np.minimum(x, 0))
)
"""exp(x) for x ≤ 0 at the lanes' full speed, within 3.5 + 0.65 |x| ulp; far below, 0 becomes 2^-126 (float32).

For rescaling in logsumexp.
"""


def exp_scaled(x: Node) -> Node:
    """The internal fast exponential of a non-positive float32 or float64 node."""
    return Apply(EXP_SCALED, (x,), x.dtype)
