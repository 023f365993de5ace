"""The names of operators, for type checkers: `cm.Reduce("sun")` is an error before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from clmapreduce.reductions.base import ReductionOp

OperatorName: TypeAlias = Literal[
    "sum", "product", "minimum", "maximum", "any", "all", "argmin", "argmax", "logsumexp", "mean", "var", "std", "norm",
    "add", "prod", "mul", "multiply", "min", "max", "or", "and", "logaddexp",
]  # fmt: skip
"""Those of `reductions.NAMED`, and the texts among its aliases."""

Op: TypeAlias = OperatorName | ReductionOp | Callable[..., Any]
"""What names an operator: a name, an operator, NumPy's ufunc or Python's function that means one."""
