"""The named reduction operators. To add one: a file here and its line below."""

from __future__ import annotations

from clmapreduce.errors import ModeError
from clmapreduce.reductions.argument import Argument
from clmapreduce.reductions.base import Bound, ReductionOp
from clmapreduce.reductions.extremum import Extremum
from clmapreduce.reductions.logsumexp import LogSumExp
from clmapreduce.reductions.product import Product
from clmapreduce.reductions.sum import Sum
from clmapreduce.reductions.truth import Truth
from clmapreduce.reductions.user import Operator

NAMED: dict[str, ReductionOp] = {
    op.name: op
    for op in (
        Sum(), Product(), Extremum("minimum"), Extremum("maximum"), Truth("any"), Truth("all"),
        Argument("argmin"), Argument("argmax"), LogSumExp(),
    )
}  # fmt: skip


def operator(op: str | ReductionOp) -> ReductionOp:
    """The operator for a name, or the operator itself. Raises ModeError for an unknown name."""
    if isinstance(op, ReductionOp):
        return op
    if not isinstance(op, str) or op not in NAMED:
        raise ModeError(f"operator {op!r} is unknown; use one of {', '.join(NAMED)}, or a cm.Operator")
    return NAMED[op]


def spec_of(op: ReductionOp) -> str | ReductionOp:
    """What `operator` makes this operator of, anywhere: its name; a user's operator stands for itself."""
    return op.name if NAMED.get(op.name) is op else op


__all__ = ["NAMED", "Bound", "Operator", "ReductionOp", "operator", "spec_of"]
