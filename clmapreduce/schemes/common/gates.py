"""Launches that have something to do only where an earlier one says so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from clmapreduce.plan import Stage
from clmapreduce.schemes.common.kernel_data import KernelText


def gated(stages: Iterable[Stage], gate: tuple[int, bool], array: str) -> list[Stage]:
    """Launches whose groups have something to do on one condition more: a place in an array, and whether its number is
    set.
    """
    return [_gated(stage, gate, array) for stage in stages]


def _gated(stage: Stage, gate: tuple[int, bool], array: str) -> Stage:
    spec = stage.spec
    assert isinstance(spec, KernelText)
    spec = replace(spec, target=spec.target._replace(gates=(*spec.target.gates, gate)))
    return replace(stage, spec=spec, arguments=(*stage.arguments, array), reads=(*stage.reads, array))
