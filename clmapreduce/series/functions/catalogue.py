"""The functions: a row each, with the templates and tables they need and their domains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Mask = Callable[..., Any]


def above(x: Any, bound: float) -> Any:
    """Whether numbers of one or several words, (words, ...), are above a float."""
    first, rest = x[0], x[1:].sum(axis=0)
    return (first > bound) | ((first == bound) & (rest > 0))


def below(x: Any, bound: float) -> Any:
    """Whether they are below it."""
    return above(-x, -bound)


def _whole(x: Any) -> Any:
    return (x == np.rint(x)).all(axis=0)


def _everywhere(*operands: Any) -> Any:
    return np.zeros((), np.bool_)


def _roots_of_negatives(x: Any, y: Any) -> Any:
    return below(x, 0) & np.isfinite(x[0]) & np.isfinite(y[0]) & ~_whole(y)


@dataclass(frozen=True)
class Function:
    """part: the template that defines it. domain: in words. outside: where an argument is outside of it, from words of
    shape (words, ...). operands: how many it takes. work: operations of a point with two words, roughly. cancels:
    whether its values near zeros are differences of larger ones, which lose as many bits as an argument has.
    """

    part: str
    domain: str = "every x"
    outside: Mask = _everywhere
    operands: int = 1
    work: int = 2000
    cancels: bool = False


FUNCTIONS: dict[str, Function] = {
    "exp": Function("exp"),
    "expm1": Function("exp"),
    "log": Function("log", "x >= 0", lambda x: below(x, 0)),
    "log1p": Function("log", "x >= -1", lambda x: below(x, -1)),
    "sin": Function("trigonometric"),
    "cos": Function("trigonometric"),
    "tan": Function("trigonometric"),
    "asin": Function("inverse_trigonometric", "-1 <= x <= 1", lambda x: above(x, 1) | below(x, -1)),
    "acos": Function("inverse_trigonometric", "-1 <= x <= 1", lambda x: above(x, 1) | below(x, -1)),
    "atan": Function("inverse_trigonometric"),
    "sinh": Function("hyperbolic"),
    "cosh": Function("hyperbolic"),
    "tanh": Function("hyperbolic"),
    "asinh": Function("inverse_hyperbolic"),
    "acosh": Function("inverse_hyperbolic", "x >= 1", lambda x: below(x, 1)),
    "atanh": Function("log", "-1 <= x <= 1", lambda x: above(x, 1) | below(x, -1)),
    "sqrt": Function("words", "x >= 0", lambda x: below(x, 0), work=500),
    "cbrt": Function("roots", work=500),
    "power": Function("power", "x >= 0, or y whole", _roots_of_negatives, operands=2, work=4000),
    "erf": Function("error", work=20000),
    "erfc": Function("error", work=20000),
    "gamma": Function("gamma", "every x but -1, -2, -3, …", lambda x: below(x, 0) & _whole(x), work=8000),
    "lgamma": Function("gamma", work=8000, cancels=True),
    "zeta": Function("zeta", work=40000),
    "bessel_j0": Function("bessel", work=20000, cancels=True),
}

COMPLEX = ("exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sqrt", "power")
"""Those that take complex numbers."""

NEEDS: dict[str, tuple[str, ...]] = {
    "words": (), "exp": (), "log": (), "turns": (), "trigonometric": ("turns",), "inverse_trigonometric": (),
    "hyperbolic": ("exp",), "inverse_hyperbolic": ("log",), "roots": (), "power": ("exp", "log"), "error": ("exp",),
    "gamma": ("exp", "log", "trigonometric"), "zeta": ("gamma",), "bessel": ("trigonometric",),
    "complex": ("exp", "log", "trigonometric", "inverse_trigonometric", "hyperbolic"),
}  # fmt: skip
"""Templates of `cl_templates/series`: those that each calls."""

TABLES: dict[str, tuple[str, ...]] = {
    "exp": ("exp_table", "ln2_table"), "log": ("atanh_table", "ln2_table"), "turns": ("turn_bits", "two_pi_table"),
    "trigonometric": ("sin_table", "cos_table"),
    "inverse_trigonometric": ("atan_table", "arcs_table", "half_pi_table"),
    "error": ("erf_table", "gauss_table"),
    "gamma": ("stirling_table", "lgamma_table", "pi_table", "log_root_two_pi_table"),
    "zeta": ("zeta_table", "factor_table", "log_prime_table", "log_two_pi_table"),
    "bessel": ("bessel_table", "hankel_even_table", "hankel_odd_table", "root_pi_table"),
}  # fmt: skip
"""The tables of each."""


def parts_of(part: str) -> tuple[str, ...]:
    """A template and all that it calls, callees first; without the arithmetic, which every kernel has."""
    ordered = dict.fromkeys(name for need in NEEDS[part] for name in parts_of(need))
    return tuple(name for name in (*ordered, part) if name != "words")
