"""Launches that have something to do only where an earlier one says so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from clmapreduce.plan import Stage
from clmapreduce.schemes.common.kernel_data import KernelText

GATES = "cell_gates"
"""Three numbers: whether cells are worth a closer look; after it, whether they are used; and whether they must not be.
"""
WORTH, USED, UNUSED = (0, True), (1, True), (1, False)
"""Conditions: a place among them, and whether its number is set."""


def gated(stages: Iterable[Stage], gate: tuple[int, bool]) -> list[Stage]:
    """Launches whose groups have something to do on a condition."""
    return [_gated(stage, gate) for stage in stages]


def _gated(stage: Stage, gate: tuple[int, bool]) -> Stage:
    spec = stage.spec
    assert isinstance(spec, KernelText)
    spec = replace(spec, target=spec.target._replace(gate=gate))
    return replace(stage, spec=spec, arguments=(*stage.arguments, GATES), reads=(*stage.reads, GATES))
