"""The named reduction operators. To add one: a file here and its line below."""

from __future__ import annotations

import builtins
import operator as python
from collections.abc import Hashable
from typing import Any

import numpy as np

from clmapreduce.checks import quoted
from clmapreduce.errors import ModeError
from clmapreduce.reductions.argument import Argument
from clmapreduce.reductions.base import Bound, ReductionOp
from clmapreduce.reductions.extremum import Extremum
from clmapreduce.reductions.logsumexp import LogSumExp
from clmapreduce.reductions.mean import Mean, Norm
from clmapreduce.reductions.moments import Moments
from clmapreduce.reductions.product import Product
from clmapreduce.reductions.sum import Sum
from clmapreduce.reductions.truth import Truth
from clmapreduce.reductions.user import Operator

NAMED: dict[str, ReductionOp] = {
    op.name: op
    for op in (
        Sum(), Product(), Extremum("minimum"), Extremum("maximum"), Truth("any"), Truth("all"),
        Argument("argmin"), Argument("argmax"), LogSumExp(), Mean(), Moments("var", root=False),
        Moments("std", root=True), Norm(),
    )
}  # fmt: skip

ALIASES: dict[Any, str] = {
    "add": "sum", np.add: "sum", python.add: "sum", builtins.sum: "sum", np.sum: "sum",
    "prod": "product", "mul": "product", "multiply": "product", np.multiply: "product", python.mul: "product",
    np.prod: "product", "min": "minimum", np.minimum: "minimum", min: "minimum", np.min: "minimum",
    np.amin: "minimum", "max": "maximum", np.maximum: "maximum", max: "maximum", np.max: "maximum",
    np.amax: "maximum", "or": "any", np.logical_or: "any", any: "any", np.any: "any",
    "and": "all", np.logical_and: "all", all: "all", np.all: "all", np.argmin: "argmin", np.argmax: "argmax",
    "logaddexp": "logsumexp", np.logaddexp: "logsumexp",
    np.mean: "mean", np.var: "var", np.std: "std", np.linalg.norm: "norm",
}  # fmt: skip
"""Other names of operators, and functions that mean one: NumPy's and Python's own."""


def operator(op: Any) -> ReductionOp:
    """The operator for a name or an alias, or the operator itself. Raises ModeError for anything else, with a hint
    where it is a function of two values.
    """
    if isinstance(op, ReductionOp):
        return op
    name = alias(op)
    if isinstance(name, str) and name in NAMED:
        return NAMED[name]
    if callable(op):
        raise ModeError(f"{quoted(op)} is a function without an identity; give one: cm.Operator(function, identity)")
    hint = "" if not isinstance(op, str) or op.isidentifier() else "; write a formula as a function, lambda a: ..."
    hint = "; cm.segmented_median sorts values for their medians" if isinstance(op, str) and op == "median" else hint
    raise ModeError(f"operator {quoted(op)} is unknown; use one of {', '.join(NAMED)}, or a cm.Operator{hint}")


def alias(op: Any) -> Any:
    """The name that an alias stands for; anything else as it is."""
    return ALIASES.get(op, op) if isinstance(op, Hashable) else op


def spec_of(op: ReductionOp) -> str | ReductionOp:
    """What `operator` makes this operator of, anywhere: its name; a user's operator stands for itself."""
    return op.name if NAMED.get(op.name) is op else op


__all__ = ["ALIASES", "NAMED", "Bound", "Operator", "ReductionOp", "alias", "operator", "spec_of"]
