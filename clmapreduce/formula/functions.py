"""The elementwise functions: one entry each, with its types, its OpenCL spelling and its NumPy twin.

To add a function, add an entry. A spelling is text with `{0}`, `{1}` … for the arguments and these words: `{V}` the
computing type with its lanes, `{M}` the mask type of the same width, `{I}` the signed integer type of the same width,
`{zero}` and `{one}` as vectors. A spelling used for a whole vector holds operators wherever they can say it: on PoCL,
built-in functions such as fma, max, select and convert_* are calls, not instructions (measured: up to five times on a
whole kernel). `split=True` marks a spelling that only exists for single values; the emitter writes it once per lane.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from clmapreduce.dtypes import (
    BOOL,
    COMPLEX64,
    FLOAT32,
    FLOAT64,
    DType,
    floating,
    is_complex,
    is_float,
    is_integer,
    promote,
)
from clmapreduce.errors import DTypeError, FormulaError
from clmapreduce.formula.node import Apply, Literal, Node, Operand, WeakSymbol

Types = Callable[..., "tuple[tuple[DType, ...], DType]"]
Spelling = Callable[[DType], "str | None"]


@dataclass(frozen=True, eq=False)
class Function:
    """An elementwise function.

    `types(*dtypes)` gives the dtypes its arguments are converted to and the dtype of the result; it raises DTypeError.
    `spelling(dtype)` gives the C text for arguments of that dtype. `numpy` computes the same on arrays.
    """

    name: str
    arity: int
    types: Types
    spelling: Spelling
    numpy: Callable[..., Any]
    split: bool = False


FUNCTIONS: dict[str, Function] = {}


def apply(name: str, *operands: Operand) -> Node:
    """The node `name(*operands)`.

    Python numbers take the dtype their partners need; raises FormulaError or DTypeError.
    """
    function = FUNCTIONS[name]
    if name == "power" and len(operands) == 2 and isinstance(operands[0], Node) and _small_exponent(operands[1]):
        return _repeated_product(operands[0], int(operands[1]))  # type: ignore[arg-type]
    for operand in operands:
        if isinstance(operand, np.ndarray) and operand.ndim:
            raise FormulaError(
                f"{name}: an array of shape {operand.shape} cannot stand inside a formula; pass it as an argument"
            )
        if not isinstance(operand, (Node, bool, int, float, complex, np.generic, np.ndarray)):
            raise FormulaError(f"{name}: {operand!r} is neither a traced value nor a number")
    if len(operands) != function.arity:
        raise FormulaError(f"{name} takes {function.arity} argument(s), {len(operands)} given")
    kinds = [_kind(operand) for operand in operands]
    wanted, result = function.types(*kinds)
    args = tuple(cast(as_node(o, d), d) for o, d in zip(operands, wanted, strict=True))
    return Apply(function, args, result)


def _kind(operand: Operand) -> Any:
    """What promotion looks at: a dtype, or a Python number, which is weak."""
    if isinstance(operand, WeakSymbol):
        return operand.sample
    return operand.dtype if isinstance(operand, (Node, np.generic, np.ndarray)) else operand


def _small_exponent(operand: object) -> bool:
    return isinstance(operand, int) and not isinstance(operand, bool) and 1 <= operand <= 64


def _repeated_product(base: Node, exponent: int) -> Node:
    """base ** exponent by squaring: exact for integers, no library call for floats, defined for complex numbers."""
    result: Node | None = None
    while exponent:
        if exponent & 1:
            result = base if result is None else apply("multiply", result, base)
        exponent >>= 1
        if exponent:
            base = apply("multiply", base, base)
    assert result is not None
    return result


def as_node(operand: Operand, dtype: DType | None = None) -> Node:
    """A node for a number (in `dtype`, else its own); nodes pass through."""
    if isinstance(operand, Node):
        return operand
    return Literal(operand, dtype if dtype is not None else np.asarray(operand).dtype)


def cast(node: Node, dtype: DType) -> Node:
    """`node` converted to `dtype`; the same node when nothing changes. Complex to real is refused."""
    if node.dtype == dtype:
        return node
    if is_complex(node.dtype) and not is_complex(dtype):
        raise DTypeError(f"a {node.dtype} value cannot become {dtype} without losing its imaginary part; use .real")
    if isinstance(node, Literal) and not isinstance(node.value, np.generic):
        return Literal(node.value, dtype)
    return Apply(CAST, (node,), dtype)


# ------------------------------------------------------------------------------------------------------------- types
def _common(*kinds: Any) -> DType:
    return promote(*kinds)


def arithmetic(*kinds: Any) -> tuple[tuple[DType, ...], DType]:
    """Arguments and result in the common dtype."""
    dtype = _common(*kinds)
    return (dtype,) * len(kinds), dtype


def numeric(*kinds: Any) -> tuple[tuple[DType, ...], DType]:
    """As `arithmetic`, bools refused, as in NumPy."""
    dtype = _common(*kinds)
    if dtype == BOOL:
        raise DTypeError("this operation is not defined for bool; use ^ or ~, or cast to an integer")
    return (dtype,) * len(kinds), dtype


def real_numeric(*kinds: Any) -> tuple[tuple[DType, ...], DType]:
    dtype = _common(*kinds)
    if is_complex(dtype):
        raise DTypeError(f"this operation has no meaning for {dtype}; use abs, .real or .imag")
    if dtype == BOOL:
        dtype = np.dtype(np.int8)
    return (dtype,) * len(kinds), dtype


def ordered(*kinds: Any) -> tuple[tuple[DType, ...], DType]:
    dtype = _common(*kinds)
    if is_complex(dtype):
        raise DTypeError(f"{dtype} numbers have no order; compare abs, .real or .imag")
    return (dtype,) * len(kinds), dtype


def compares(*kinds: Any) -> tuple[tuple[DType, ...], DType]:
    return ordered(*kinds)[0], BOOL


def equality(*kinds: Any) -> tuple[tuple[DType, ...], DType]:
    return arithmetic(*kinds)[0], BOOL


def transcendental(*kinds: Any) -> tuple[tuple[DType, ...], DType]:
    """Integers become float32 (up to 16 bits) or float64."""
    dtype = floating(_common(*kinds))
    return (dtype,) * len(kinds), dtype


def real_transcendental(*kinds: Any) -> tuple[tuple[DType, ...], DType]:
    wanted, dtype = transcendental(*kinds)
    if is_complex(dtype):
        raise DTypeError(f"this function is not offered for {dtype}; use .real, .imag, exp, log, sqrt or abs")
    return wanted, dtype


def bits(*kinds: Any) -> tuple[tuple[DType, ...], DType]:
    dtype = _common(*kinds)
    if dtype.kind not in "biu":
        raise DTypeError(f"bit operations need integers or bools, not {dtype}")
    return (dtype,) * len(kinds), dtype


def shifts(*kinds: Any) -> tuple[tuple[DType, ...], DType]:
    dtype = _common(*kinds)
    if not is_integer(dtype):
        raise DTypeError(f"shifts need integers, not {dtype}")
    return (dtype,) * len(kinds), dtype


def truth(*kinds: Any) -> tuple[tuple[DType, ...], DType]:
    return (BOOL,) * len(kinds), BOOL


def asks(*kinds: Any) -> tuple[tuple[DType, ...], DType]:
    return arithmetic(*kinds)[0], BOOL


def chooses(condition: Any, *kinds: Any) -> tuple[tuple[DType, ...], DType]:
    dtype = _common(*kinds)
    return (BOOL, *(dtype,) * len(kinds)), dtype


def power_types(base: Any, exponent: Any) -> tuple[tuple[DType, ...], DType]:
    dtype = _common(base, exponent)
    if dtype == BOOL:
        dtype = np.dtype(np.int8)
    return (dtype, dtype), dtype


def quotient(*kinds: Any) -> tuple[tuple[DType, ...], DType]:
    dtype = _common(*kinds)
    dtype = dtype if dtype.kind in "fc" else FLOAT64
    return (dtype,) * len(kinds), dtype


def complex_part(kind: Any) -> tuple[tuple[DType, ...], DType]:
    dtype = _common(kind)
    if not is_complex(dtype):
        return (dtype,), dtype
    return (dtype,), FLOAT32 if dtype == COMPLEX64 else FLOAT64


def same(kind: Any) -> tuple[tuple[DType, ...], DType]:
    return arithmetic(kind)


def rounded(kind: Any) -> tuple[tuple[DType, ...], DType]:
    return real_numeric(kind)


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
) -> Spelling:
    def spelling(dtype: DType) -> str | None:
        if dtype == BOOL:
            return boolean if boolean is not None else integer if integer is not None else real
        if is_complex(dtype):
            return complex_
        if dtype.kind == "u" and unsigned is not None:
            return unsigned
        if is_integer(dtype) and integer is not None:
            return integer
        return real

    return spelling


def _define(
    name: str, arity: int, types: Types, spelling: Spelling | str, twin: Callable[..., Any], split: bool = False
) -> None:
    text = _always(spelling) if isinstance(spelling, str) else spelling
    FUNCTIONS[name] = Function(name, arity, types, text, twin, split)


def _propagating(comparison: str) -> Spelling:
    """minimum/maximum that keep a NaN wherever it stands, from comparisons alone."""
    plain = f"(({{0}} {comparison} {{1}}) ? {{0}} : {{1}})"
    floats = f"((({{0}} {comparison} {{1}}) | ({{0}} != {{0}})) ? {{0}} : {{1}})"

    def spelling(dtype: DType) -> str:
        if dtype == BOOL:
            return "({0} | {1})" if comparison.startswith(">") else "({0} & {1})"
        return floats if is_float(dtype) else plain

    return spelling


_SIGNED_DIVISION = (  # division by 0 gives 0 and -2^31 / -1 stays, as in NumPy; either would trap on a CPU
    "cmr_floor_divide_{S}({0}, {1})"
)


def _library(
    name: str, arity: int = 1, twin: Callable[..., Any] | None = None, c: str | None = None, complex_: str | None = None
) -> None:
    text = f"{c or name}({', '.join(f'{{{i}}}' for i in range(arity))})"
    types = transcendental if complex_ else real_transcendental
    _define(name, arity, types, _by(real=text, complex_=complex_), twin or getattr(np, name))


_define("add", 2, arithmetic, _by(real="({0} + {1})", boolean="({0} | {1})", complex_="({0} + {1})"), np.add)
_define("subtract", 2, numeric, _by(real="({0} - {1})", complex_="({0} - {1})"), np.subtract)
_define(
    "multiply",
    2,
    arithmetic,
    _by(real="({0} * {1})", boolean="({0} & {1})", complex_="cmr_mul_{V}({0}, {1})"),
    np.multiply,
)
_define("divide", 2, quotient, _by(real="({0} / {1})", complex_="cmr_div_{V}({0}, {1})"), np.true_divide)
_define("negative", 1, numeric, _by(real="(-{0})", complex_="(-{0})"), np.negative)
_define(
    "floor_divide", 2, real_numeric, _by(real="floor({0} / {1})", integer=_SIGNED_DIVISION), np.floor_divide, split=True
)
_define("mod", 2, real_numeric, _by(real="cmr_mod_{S}({0}, {1})"), np.mod, split=True)
_define(
    "power",
    2,
    power_types,
    _by(real="pow({0}, {1})", integer="cmr_power_{S}({0}, {1})", complex_=None),
    np.power,
    split=True,
)
_define("abs", 1, complex_part, _by(real="fabs({0})", integer="(({0} < {zero}) ? -{0} : {0})", unsigned="({0})", boolean="({0})",
        complex_="length({0})"), np.abs)  # fmt: skip
_define("sign", 1, real_numeric, _by(real="(({0} != {0}) ? {0} : ({0} > {zero}) ? {one} : ({0} < {zero}) ? -{one} : {zero})",
        integer="(({0} > {zero}) ? {one} : ({0} < {zero}) ? -{one} : {zero})", unsigned="(({0} > {zero}) ? {one} : {zero})"), np.sign)  # fmt: skip
_define("minimum", 2, ordered, _propagating("<="), np.minimum)
_define("maximum", 2, ordered, _propagating(">="), np.maximum)
for _name, _sign, _twin in (("less", "<", np.less), ("less_equal", "<=", np.less_equal), ("greater", ">", np.greater),
                            ("greater_equal", ">=", np.greater_equal)):  # fmt: skip
    _define(_name, 2, compares, f"({{0}} {_sign} {{1}})", _twin)
_define("equal", 2, equality, _by(real="({0} == {1})", complex_="(({0}.x == {1}.x) & ({0}.y == {1}.y))"), np.equal)
_define(
    "not_equal", 2, equality, _by(real="({0} != {1})", complex_="(({0}.x != {1}.x) | ({0}.y != {1}.y))"), np.not_equal
)
_define("bitwise_and", 2, bits, "({0} & {1})", np.bitwise_and)
_define("bitwise_or", 2, bits, "({0} | {1})", np.bitwise_or)
_define("bitwise_xor", 2, bits, _by(real="({0} ^ {1})"), np.bitwise_xor)
_define("invert", 1, bits, _by(real="(~{0})", boolean="{not0}"), np.invert)
_define("left_shift", 2, shifts, "cmr_shift_left_{S}({0}, {1})", np.left_shift, split=True)
_define("right_shift", 2, shifts, "cmr_shift_right_{S}({0}, {1})", np.right_shift, split=True)
_define("logical_and", 2, truth, "({0} & {1})", np.logical_and)
_define("logical_or", 2, truth, "({0} | {1})", np.logical_or)
_define("logical_not", 1, truth, "{not0}", np.logical_not)
_define("where", 3, chooses, "({0} ? {1} : {2})", np.where)
_define(
    "isnan",
    1,
    asks,
    _by(real="({0} != {0})", integer="({zero} != {zero})", complex_="(({0}.x != {0}.x) | ({0}.y != {0}.y))"),
    np.isnan,
)
_define("isfinite", 1, asks, _by(real="(({0} - {0}) == {zero})", integer="({zero} == {zero})",
        complex_="(({0}.x - {0}.x == 0) & ({0}.y - {0}.y == 0))"), np.isfinite)  # fmt: skip
_define("isinf", 1, asks, _by(real="(({0} == {0}) & (({0} - {0}) != {zero}))", integer="({zero} != {zero})",
        complex_="((({0}.x == {0}.x) & ({0}.x - {0}.x != 0)) | (({0}.y == {0}.y) & ({0}.y - {0}.y != 0)))"), np.isinf)  # fmt: skip
_define("floor", 1, rounded, _by(real="floor({0})", integer="({0})"), np.floor)
_define("ceil", 1, rounded, _by(real="ceil({0})", integer="({0})"), np.ceil)
_define("trunc", 1, rounded, _by(real="trunc({0})", integer="({0})"), np.trunc)
_define("rint", 1, rounded, _by(real="rint({0})", integer="({0})"), np.rint)
_define("real", 1, complex_part, _by(real="({0})", complex_="({0}.x)"), np.real)
_define("imag", 1, complex_part, _by(real="({zero})", complex_="({0}.y)"), np.imag)
_define("conj", 1, same, _by(real="({0})", complex_="(({V})({0}.x, -{0}.y))"), np.conj)
_library("sqrt", complex_="cmr_sqrt_{V}({0})")
_library("exp", complex_="cmr_exp_{V}({0})")
_library("log", complex_="cmr_log_{V}({0})")
for _name in ("exp2", "expm1", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh", "cbrt"):
    _library(_name)
for _name, _c, _twin in (("arcsin", "asin", np.arcsin), ("arccos", "acos", np.arccos), ("arctan", "atan", np.arctan),
                         ("arcsinh", "asinh", np.arcsinh), ("arccosh", "acosh", np.arccosh), ("arctanh", "atanh", np.arctanh)):  # fmt: skip
    _library(_name, twin=_twin, c=_c)
_library("arctan2", 2, np.arctan2, "atan2")
_library("hypot", 2)


def _erf(x: Any) -> Any:
    return np.vectorize(math.erf, otypes=[np.asarray(x).dtype])(x)


_library("erf", twin=_erf)


def _cast_twin(x: Any) -> Any:
    return x


CAST = Function("cast", 1, arithmetic, _always("{0}"), _cast_twin)
"""Conversion to the node's dtype; the emitter spells it, because bools and vectors need care."""

EXP_SCALED = Function("exp_scaled", 1, real_transcendental, _always("cmr_exp_scaled_{V}({0})"), np.exp)
"""exp(x) for x ≤ 0 at the lanes' full speed, about 2 ulp plus |x| · 2^-24 (float32); 0 becomes 2^-126 far below.

For rescaling in logsumexp.
"""


def exp_scaled(x: Node) -> Node:
    """The internal fast exponential of a non-positive float32 or float64 node."""
    return Apply(EXP_SCALED, (x,), x.dtype)
