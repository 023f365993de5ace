"""Nodes of elementwise functions: a function applied to operands, which are converted to its types, and conversions."""

from __future__ import annotations

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
    is_complex,
    is_extended,
    is_integer,
    promote,
)
from clmapreduce.errors import DTypeError, FormulaError
from clmapreduce.formula.array import elementwise, is_array
from clmapreduce.formula.definitions import CAST, EXP_SCALED
from clmapreduce.formula.node import Apply, Extended, Literal, Node, Number, Operand
from clmapreduce.formula.registry import BUILDERS, EXTENDED, FUNCTIONS, Function

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


def exp_scaled(x: Node) -> Node:
    """The internal fast exponential of a non-positive float32 or float64 node."""
    return Apply(EXP_SCALED, (x,), x.dtype)


BUILDERS |= {name: partial(apply, name) for name in FUNCTIONS}
