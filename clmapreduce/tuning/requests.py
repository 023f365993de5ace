"""What there is to be tuned in any other call: every launch box of its plan's request."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from clmapreduce.calls.arguments import Arguments
from clmapreduce.calls.prepared import Prepared, on_device
from clmapreduce.device import tuned
from clmapreduce.device.tuned import is_legal_box, key_of_request, planned
from clmapreduce.plan import Plan
from clmapreduce.planning.request import MeasuredRequest, PlanRequest
from clmapreduce.tuning.search import Problem

TOLERANCE = {2: 4e-3, 4: 1e-5, 8: 1e-10}
"""A few roundings of the values' own dtype."""


@dataclass(frozen=True, eq=False)
class BoxProblem(Problem):
    """A launch box of a call. call, arguments: it, and its arguments on the device. name: of the box. static: the
    request in its default boxes. request: in those that were measured before, where there are some.
    """

    call: Prepared
    arguments: Arguments
    name: str
    static: PlanRequest
    request: PlanRequest

    @property
    def starts(self) -> Sequence[Any]:
        box = self.static.boxes(self.context.facts)[self.name]
        return [box, *box.starts]

    def is_legal(self, box: Any) -> bool:
        return is_legal_box(box, self.starts[0], self.mode)

    def plan(self, box: Any) -> Plan | None:
        return planned(self.request.in_box(self.name, box), self.context.facts)

    def prepared(self, box: Any, owner: Any) -> Prepared:
        trial = MeasuredRequest(self.static, self.request.in_box(self.name, box))
        return self.call.planned_as(trial, self.arguments, owner)


def static_request(call: Prepared) -> PlanRequest | None:
    """The request of a call in its default boxes; None where there is nothing to tune."""
    request: Hashable = call.executable.key
    if not isinstance(request, PlanRequest) or not call.is_tunable:
        return None
    static = request.static if isinstance(request, MeasuredRequest) else request
    return static if static.boxes(call.call.context.facts) else None


class CallProblems:
    """The problems of a call, one after the other: each begins with the boxes that were found by then."""

    def __init__(self, call: Prepared, static: PlanRequest) -> None:
        self._call, self._static, self._context = call, static, call.call.context
        self._arguments = on_device(call.call.arguments)
        self.names = tuple(static.boxes(self._context.facts))

    def __len__(self) -> int:
        return len(self.names)

    def key(self, name: str) -> tuple[str, ...]:
        """Under which a box is kept."""
        return key_of_request(self._context.device, self._context.facts, self._static, name)

    def problem(self, name: str) -> BoxProblem:
        """The problem of a box."""
        context, static = self._context, self._static
        request = context.measured(static).boxed
        key = self.key(name)
        before = request.boxes(context.facts)[name] if tuned.TABLE.find(key) is not None else None
        return BoxProblem(
            context, key, self._what(), static.mode, before, TOLERANCE, self._call, self._arguments, name, static,
            request,
        )  # fmt: skip

    def _what(self) -> str:
        """The call in words: what it is, of which dtype, its sizes."""
        kind = type(self._static).__name__.removesuffix("Request")
        dtypes = dict.fromkeys(str(one.signature.dtype) for one in self._arguments.inputs)
        sizes = " x ".join(str(size) for size in self._static.sizes)
        return f"{kind} of {', '.join(dtypes)}, {sizes}"
