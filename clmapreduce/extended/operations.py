"""The operations on numbers in several floats: fills the table EXTENDED."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np

from clmapreduce.dtypes import BOOL, is_pair
from clmapreduce.errors import DTypeError
from clmapreduce.extended import fours, pairs
from clmapreduce.extended.casts import alike, converted
from clmapreduce.extended.words import extended, is_zero
from clmapreduce.formula.functions import apply, repeated_product
from clmapreduce.formula.node import Extended, Node
from clmapreduce.formula.registry import EXTENDED


def _arithmetic(name: str, *operands: Any) -> Any:
    """An operation of the module for so many words."""
    dtype = next(operand.dtype for operand in operands if isinstance(operand, Extended))
    return getattr(pairs if is_pair(dtype) else fours, name)(*operands)


def _first(x: Extended) -> Node:
    node: Node = next(iter(x.values()))
    return node


def negative(a: Extended) -> Extended:
    """Exact. A lower word that is the constant 0 stays so."""
    first, *others = a.values()
    return extended([-first, *(word if is_zero(word) else -word for word in others)])


def subtract(a: Any, b: Any) -> Any:
    """The sum with the opposite."""
    x, y = alike(a, b)
    return _arithmetic("add", x, negative(y))


def power(a: Any, b: Any) -> Any:
    """Whole powers from 1 to 64, by squaring."""
    if not isinstance(a, Extended) or isinstance(b, bool) or not isinstance(b, (int, np.integer)) or not 1 <= b <= 64:
        raise DTypeError("power of numbers in several floats is offered for whole exponents from 1 to 64")
    return repeated_product(a, int(b))  # type: ignore[arg-type]  # it only multiplies


def absolute(a: Extended) -> Extended:
    """Exact."""
    first, *others = a.values()
    size: Node = apply("abs", first)
    return extended([size, *(apply("where", size == first, word, -word) for word in others)])


def _of_first(name: str, a: Extended) -> Node:
    """What is asked of the first word."""
    return apply(name, _first(a))


def _compared(strict: str, lenient: str, a: Any, b: Any) -> Node:
    """The order of the first words that differ; `lenient` of the last ones where none does."""
    x, y = (list(number.values()) for number in alike(a, b))
    result = apply(lenient, x[-1], y[-1])
    for left, right in zip(x[-2::-1], y[-2::-1], strict=True):
        result = apply(strict, left, right) | ((left == right) & result)
    return result


def equal(a: Any, b: Any) -> Node:
    x, y = alike(a, b)
    same = [left == right for left, right in zip(x.values(), y.values(), strict=True)]
    return reduce(lambda left, right: left & right, same)


def not_equal(a: Any, b: Any) -> Node:
    x, y = alike(a, b)
    differ = [left != right for left, right in zip(x.values(), y.values(), strict=True)]
    return reduce(lambda left, right: left | right, differ)


def where(condition: Any, a: Any, b: Any) -> Extended:
    if isinstance(condition, Extended):
        condition = converted(condition, BOOL)
        if not isinstance(a, Extended) and not isinstance(b, Extended):
            return apply("where", condition, a, b)  # type: ignore[return-value]  # a choice of plain numbers
    x, y = alike(a, b)
    return extended([apply("where", condition, x[word], y[word]) for word in x])


def with_sign(a: Any, b: Any) -> Extended:
    """The number a with the sign of b, exact."""
    x, y = alike(a, b)
    return where(_of_first("signbit", x) != _of_first("signbit", y), negative(x), x)


def _extremum(comparison: str, a: Any, b: Any) -> Extended:
    """NaN where one operand is NaN."""
    x, y = alike(a, b)
    return where(EXTENDED[comparison](x, y) | (_first(x) != _first(x)), x, y)


_OPERATIONS: dict[str, Callable[..., Any]] = {
    **{name: partial(_arithmetic, name) for name in ("add", "multiply", "divide", "sqrt")},
    "subtract": subtract, "negative": negative, "abs": absolute, "power": power, "cast": converted, "where": where,
    "copysign": with_sign,
    "equal": equal, "not_equal": not_equal,
    "less": partial(_compared, "less", "less"), "less_equal": partial(_compared, "less", "less_equal"),
    "greater": partial(_compared, "greater", "greater"),
    "greater_equal": partial(_compared, "greater", "greater_equal"),
    "minimum": partial(_extremum, "less_equal"), "maximum": partial(_extremum, "greater_equal"),
    **{name: partial(_of_first, name) for name in ("sign", "signbit", "isnan", "isfinite", "isinf")},
}  # fmt: skip
EXTENDED.update(_OPERATIONS)
