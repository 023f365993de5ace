"""The launch boxes of passes over all pairs that were measured on a device, and what a search asks of a reduction."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any, Protocol

from clmapreduce.calls.prepared import Prepared
from clmapreduce.device import tuned
from clmapreduce.device.context import Context
from clmapreduce.device.tuned import Key, fits_device, key_of_device, text_of
from clmapreduce.domain.dense import Pairwise
from clmapreduce.log import LOG
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts, Plan
from clmapreduce.planning.boxes import is_legal, starts_of
from clmapreduce.planning.passes import Look
from clmapreduce.planning.request import MEASURED
from clmapreduce.schemes.pairs.boxes import Box
from clmapreduce.schemes.pairs.problem import PairProblem
from clmapreduce.schemes.pairs.registry import choose


def key_of(context: Context, static: Plan, layout: PairProblem, domain: Pairwise) -> Key:
    """The key of the box for a pass over all pairs. static: its plan with the static box."""
    first = next(stage for stage in static.stages if not {"out0", "scratch0"}.isdisjoint(stage.writes))
    text = text_of(first.spec)
    return (*key_of_device(context.device), text, layout.backend, *(str(size.bit_length()) for size in domain.sizes))


class MeasuredChoice:
    """Plans with the box that was measured for them, where there is one."""

    def __init__(self, context: Context) -> None:
        self.context = context

    def __call__(self, static: Plan, layout: PairProblem, domain: Pairwise, mode: ComputeMode, facts: Facts) -> Plan:
        """The plan to use. static: the one with the static box."""
        if not domain.rows * domain.columns or not tuned.TABLE.has(key_of_device(self.context.device)):
            return static
        box = self.find(static, layout, domain, mode, facts)
        plan = None if box is None else plan_boxed(box, layout, domain, mode, facts)
        return static if plan is None else replace(plan, why=f"{plan.why}; {MEASURED}")

    def find(self, static: Plan, layout: PairProblem, domain: Pairwise, mode: ComputeMode, facts: Facts) -> Box | None:
        """The box that was measured; None where there is none, or none that is legal."""
        box: Box | None = tuned.TABLE.find(key_of(self.context, static, layout, domain))
        if box is None or not is_legal(box, starts_of(layout, domain, mode, facts), layout, domain, mode, facts):
            return None
        return box


def plan_boxed(box: Box, layout: PairProblem, domain: Pairwise, mode: ComputeMode, facts: Facts) -> Plan | None:
    """The plan with a box; None where the scheme does not bear it, or it asks for more than the device has."""
    try:
        scheme, box = choose(layout, domain, mode, facts, box)
        plan = scheme.plan(box)
        return plan if fits_device(plan, facts) else None
    except Exception as error:  # from a scheme that is not made for such a box
        LOG.info("no plan with %r: %s: %s", box, type(error).__name__, error)
        return None


class TunableCall(Protocol):
    """A reduction over pairs with its arguments, all checked, which a search makes again and again."""

    @property
    def name(self) -> str:
        """The reduction in words."""

    @property
    def key(self) -> Hashable:
        """The same for calls that run the same kernels."""

    @property
    def context(self) -> Context:
        """Where it runs."""

    @property
    def arrays(self) -> Mapping[Any, Any]:
        """Its arrays."""

    def on_device(self) -> TunableCall:
        """The same call of arrays on the device."""

    def prepared(self, look: Look) -> Prepared:
        """The call, ready to run, with the plans that `look` gives."""
