"""Chains of launches on a line: their labels, their plans, and what every plan and its text must keep."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import clmapreduce as cm
from clmapreduce.domain.line import Line
from clmapreduce.formula.formula import Access
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Plan
from clmapreduce.schemes.line.chain import Chain, Link
from support.plans import INTEL, SECOND, SEQUENTIAL, chain_of

SUM, TOP, LOW = cm.Reduce("sum"), cm.Reduce("maximum"), cm.Reduce("minimum")
LAST, SCAN, POWERS = cm.Reduce(SECOND), cm.Scan("sum"), cm.Unfold("product")
ONE = ("f4", Access.ARGUMENT)
LENGTH = 10**6


def label_of(link: Link) -> str:
    steps = ", ".join(step.label.split("(")[0] + ":" + step.bound.__class__.__name__[5:].lower() for step in link.steps)
    label = f"{steps} of powers" if link.powers is not None else steps
    return label or ("ones" if link.ones else "map")


def links(function: Callable[..., Any], *inputs: Any) -> list[str]:
    return [label_of(link) for link in chain_of(function, *inputs).links]


def names_between(function: Callable[..., Any], *inputs: Any) -> list[str]:
    """The names of the arrays between launches."""
    return [array.variable.name for array in chain_of(function, *inputs).stored.values()]


def plan_of(function: Callable[..., Any], *inputs: Any, length: int = LENGTH, mode: ComputeMode = SEQUENTIAL) -> Plan:
    return chain_of(function, *inputs).plan(Line(length), mode, INTEL, True)


def assert_sound(plan: Plan, inputs: set[str], outputs: set[str]) -> None:
    """Arrays are written before they are read, by stages that do not read them, and each output once."""
    names_so_far = {*inputs, *plan.tables}
    writers: Counter[str] = Counter()
    for stage in plan.stages:
        array_arguments = [a for a in stage.arguments if isinstance(a, str)]
        assert len(set(array_arguments)) == len(array_arguments), f"{stage.spec.kernel} has an array twice"
        assert set(array_arguments) == {*stage.reads, *stage.writes}, stage.spec.kernel
        if stage.spec.kernel not in ("cmr_upsweep", "cmr_single_scan"):  # which build levels, and posts, in place
            assert set(stage.reads) & set(stage.writes) <= {*plan.tables}, stage.spec.kernel
        assert set(stage.reads) <= names_so_far | set(plan.scratch if stage.spec.kernel == "cmr_scan" else ()), (
            stage.spec.kernel
        )
        if stage.spec.kernel != "cmr_clear":
            writers.update(stage.writes)
        names_so_far |= set(stage.writes)
    assert names_so_far <= {*inputs, *outputs, *plan.scratch, *plan.tables}
    assert outputs <= set(writers)
    if not any(stage.spec.kernel == "cmr_upsweep" for stage in plan.stages):
        assert all(count == 1 for count in writers.values()), writers


def assert_room(plan: Plan, chain: Chain, length: int) -> None:
    """Every array between launches is as large as the data written to it; no scratch is unused."""
    sizes = {s.variable.name: s.variable.dtype.itemsize * (length if s.per_index else 1) for s in chain.stored.values()}
    for name, nbytes in plan.scratch.items():
        if name in sizes:
            assert nbytes == sizes.pop(name), name
    if len(chain.links) > 1:
        assert not sizes, "all of them are there"
    for stage, after in zip(plan.stages, plan.stages[1:], strict=False):
        for name in set(stage.writes) & set(after.reads) & {n for n in plan.scratch if n.startswith("scratch")}:
            if stage.spec.kernel == "cmr_clear":
                assert plan.scratch[name] == 8 * stage.arguments[-1][1]
                continue
            bound_operator = stage.spec.context()["into" if stage.spec.kernel == "cmr_unfold" else "op"].bound
            assert plan.scratch[name] == bound_operator.layout.itemsize * stage.groups, name
    array_names = {name for stage in plan.stages for name in (*stage.reads, *stage.writes)}
    assert set(plan.scratch) <= array_names


def assert_arrays_are_parameters(source: str) -> None:
    """The kernel names no array but its own, and every one of its own."""
    head, body = source[source.index("__kernel ") :].split("{", 1)
    array = re.compile(r"\b(?:in|out|scalar|vector)\d+\b|\bparts\b")
    assert set(array.findall(head)) == set(array.findall(body))
