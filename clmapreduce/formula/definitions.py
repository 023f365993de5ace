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
from collections.abc import Callable
from typing import Any

import numpy as np

from clmapreduce.dtypes import BOOL, DType, floating, is_complex, is_float, is_integer
from clmapreduce.formula.registry import FUNCTIONS, Function, Spelling
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


def _with_sign(dtype: DType, number: str = "{0}", other: str = "{1}") -> str:
    """The bits of one number with the sign of another."""
    sign = f"{1 << 8 * dtype.itemsize - 1:#x}{'L' if dtype.itemsize == 8 else ''}"
    integer = "long" if dtype.itemsize == 8 else "int"
    return f"as_{{V}}((as_{{M}}({number}) & ~({integer}){sign}) | (as_{{M}}({other}) & ({integer}){sign}))"


def _signum(dtype: DType) -> str:
    """Of floats without a branch: NVIDIA's compiler makes branches of three choices, 20 instructions instead of 4."""
    if is_float(dtype) and dtype.itemsize >= 4:
        return f"((({{0}} < {{zero}}) | ({{0}} > {{zero}})) ? {_with_sign(dtype, '{one}', '{0}')} : ({{0}} + {{zero}}))"
    nan = "({0} != {0}) ? {0} : " if is_float(dtype) else ""
    negative = "" if dtype.kind in "ub" else "({0} < {zero}) ? -{one} : "
    return f"({nan}({{0}} > {{zero}}) ? {{one}} : {negative}{{zero}})"


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
_define("sign", 1, real_numeric, _signum, np.sign)
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
"""exp(x) for x ≤ 0 at the lanes' full speed, within 3.5 + 0.65 |x| ulp; 0 where it would be no normal number.

For rescaling in logsumexp.
"""
